//! Secrets that begin as their issuer documents. One automaton looks for all beginnings at once.

/// The bytes that a secret consists of after its beginning.
#[derive(Clone, Copy)]
pub(super) enum Alphabet {
    Hex,
    Upper,
    Alnum,
    /// And `_`.
    Word,
    /// And `_-`.
    Dashed,
    /// And `_-.`.
    Dotted,
    /// Both alphabets of base64, padded.
    Base64,
    /// And what stands in the path of a URL.
    Path,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => Self::Alnum.has(byte) || byte == b'_',
            Self::Dashed => Self::Word.has(byte) || byte == b'-',
            Self::Dotted => Self::Dashed.has(byte) || byte == b'.',
            Self::Base64 => Self::Dashed.has(byte) || b"+/=".contains(&byte),
            Self::Path => Self::Base64.has(byte) || b".@%:".contains(&byte),
        }
    }
}

/// Beginnings of one form.
pub(super) struct Family {
    pub(super) prefixes: &'static [&'static str],
    pub(super) alphabet: Alphabet,
    /// The fewest bytes after the beginning.
    pub(super) min: usize,
    pub(super) place: Place,
}

/// Where a beginning counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Anywhere: no other text has it.
    Anywhere,
    /// Not inside a word such as `task-…`.
    Word,
    /// Only before something that looks random, because other words begin so, too.
    Random,
    /// After an address, which is kept.
    Address,
}

const fn family(
    place: Place,
    alphabet: Alphabet,
    min: usize,
    prefixes: &'static [&'static str],
) -> Family {
    Family { prefixes, alphabet, min, place }
}

pub(super) static FAMILIES: &[Family] = {
    use Alphabet::{Alnum, Base64, Dashed, Dotted, Hex, Path, Upper, Word};
    use Place::{Address, Anywhere, Random};
    &[
        // Our own tokens.
        family(Anywhere, Word, 16, &["kng_"]),
        // OpenAI, Anthropic, OpenRouter, DeepSeek and others.
        family(Place::Word, Dashed, 16, &["sk-"]),
        // GitHub.
        family(Anywhere, Alnum, 20, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]),
        family(Anywhere, Word, 20, &["github_pat_"]),
        // GitLab: personal, deploy, runner, job, trigger, feed, mail, agent, OAuth, SCIM, flags.
        family(
            Anywhere,
            Dotted,
            16,
            &[
                "glpat-",
                "gldt-",
                "glrt-",
                "glrtr-",
                "glcbt-",
                "glptt-",
                "glft-",
                "glimt-",
                "glagent-",
                "gloas-",
                "glsoat-",
                "glffct-",
                "glwt-",
                "GR1348941",
            ],
        ),
        // AWS: key ids, and keys of Bedrock.
        family(Anywhere, Upper, 16, &["AKIA", "ASIA"]),
        family(Place::Word, Upper, 16, &["ABIA", "ACCA"]),
        family(Place::Word, Base64, 60, &["ABSK"]),
        family(Anywhere, Base64, 20, &["bedrock-api-key-"]),
        // Google: API keys, OAuth tokens and client secrets, Firebase.
        family(Anywhere, Dashed, 30, &["AIza"]),
        family(Place::Word, Dotted, 20, &["ya29."]),
        family(Place::Word, Dashed, 30, &["AQ.Ab"]),
        family(Anywhere, Dashed, 20, &["GOCSPX-"]),
        family(Random, Dashed, 30, &["1//0"]),
        family(Anywhere, Dashed, 60, &[":APA91"]),
        // Stripe, Clerk, Paystack and others of that form.
        family(
            Anywhere,
            Word,
            10,
            &[
                "sk_live_",
                "sk_test_",
                "rk_live_",
                "rk_test_",
                "sk_org_",
                "sk_prod_",
                "sk_dev_",
                "rzp_live_",
                "rzp_test_",
                "bb_live_",
                "duffel_live_",
                "duffel_test_",
                "shippo_live_",
                "shippo_test_",
            ],
        ),
        family(Anywhere, Base64, 16, &["whsec_", "whpk_", "signkey-prod-", "signkey-test-"]),
        // Slack.
        family(
            Anywhere,
            Dashed,
            10,
            &[
                "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-",
                "xoxt-", "xapp-", "xwfp-",
            ],
        ),
        // Webhooks: who knows the path may post.
        family(
            Address,
            Path,
            20,
            &[
                "hooks.slack.com/services/",
                "hooks.slack.com/workflows/",
                "hooks.slack.com/triggers/",
                "discord.com/api/webhooks/",
                "discordapp.com/api/webhooks/",
                "webhook.office.com/webhookb2/",
                "hooks.zapier.com/hooks/catch/",
                "api.telegram.org/bot",
            ],
        ),
        // Registries of packages and images.
        family(Random, Alnum, 30, &["npm_"]),
        family(Anywhere, Dashed, 20, &["pypi-AgE"]),
        family(Place::Word, Hex, 40, &["rubygems_"]),
        family(Random, Alnum, 32, &["cio"]),
        family(Random, Alnum, 43, &["oy2"]),
        family(Anywhere, Dashed, 20, &["dckr_pat_", "dckr_oat_"]),
        family(Anywhere, Alnum, 40, &["CLOJARS_", "AKCp", "cmVmdGtuOj"]),
        // Models and what belongs to them.
        family(Random, Alnum, 30, &["hf_", "api_org_"]),
        family(Random, Alnum, 20, &["r8_", "gsk_", "pplx-", "xai-", "fw_", "sess-", "csk-", "re_"]),
        family(
            Random,
            Dashed,
            20,
            &[
                "nvapi-",
                "pa-",
                "jina_",
                "llx-",
                "tvly-",
                "fc-",
                "pcsk_",
                "tgp_v1_",
                "lsv2_pt_",
                "lsv2_sk_",
                "sk_",
                "e2b_",
                "apify_api_",
                "phx_",
                "wandb_v1_",
                "as-",
                "ak-",
            ],
        ),
        family(Random, Hex, 32, &["dapi"]),
        // Mail and messages.
        family(Place::Word, Dotted, 40, &["SG."]),
        family(Random, Hex, 32, &["SK", "key-"]),
        family(Anywhere, Dashed, 40, &["xkeysib-", "xsmtpsib-"]),
        // Clouds and platforms.
        family(Anywhere, Hex, 32, &["dop_v1_", "doo_v1_", "dor_v1_"]),
        family(Place::Word, Dashed, 20, &["hvs.", "hvb.", "hvr."]),
        family(Anywhere, Dashed, 40, &[".atlasv1."]),
        family(Anywhere, Alnum, 20, &["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"]),
        family(Place::Word, Dotted, 30, &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim."]),
        family(Anywhere, Base64, 30, &["ops_eyJ", "glc_", "sntrys_", "fm1r_", "fm1a_", "fm2_"]),
        family(Anywhere, Dashed, 30, &["glsa_", "sntryu_", "fo1_", "HRKU-", "sbp_", "sb_secret_"]),
        family(Random, Dashed, 20, &["vcp_", "vck_", "vci_", "vca_", "vcr_", "nfp_", "napi_"]),
        family(Anywhere, Dotted, 20, &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"]),
        family(
            Anywhere,
            Dashed,
            16,
            &["tskey-auth-", "tskey-api-", "tskey-client-", "tskey-scim-"],
        ),
        family(Place::Word, Dotted, 60, &["dt0c01.", "dt0s16."]),
        family(Random, Dashed, 20, &["NRAK-", "NRII-", "NRJS-", "PMAK-", "PMAT-", "API-"]),
        family(Random, Hex, 32, &["pul-"]),
        family(Random, Alnum, 12, &["LTAI", "AKID"]),
        // Tools for teams.
        family(
            Anywhere,
            Base64,
            30,
            &["ATATT3", "ATCTT3", "ATBB", "lin_api_", "lin_oauth_", "figd_", "figo_", "CFPAT-"],
        ),
        family(Random, Alnum, 30, &["ntn_", "secret_", "pnu_", "pnb_", "aio_", "bkua_", "rdme_"]),
        family(Anywhere, Word, 20, &["CCIPAT_", "CCIPRJ_", "sgp_", "squ_", "sqp_", "sqa_"]),
        family(Random, Dashed, 30, &["pat-na1-", "pat-eu1-", "sdk-", "mob-", "tfp_", "fio-u-"]),
        family(
            Random,
            Dashed,
            30,
            &["access-sandbox-", "access-development-", "access-production-"],
        ),
        // Shops and payments.
        family(Anywhere, Hex, 32, &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"]),
        family(Anywhere, Dashed, 20, &["sq0atp-", "sq0csp-", "FLWSECK-", "FLWSECK_TEST-"]),
        family(Random, Alnum, 50, &["EZAK", "EZTK", "EAA"]),
        family(Anywhere, Word, 16, &["access_token$production$", "access_token$sandbox$"]),
    ]
};
