//! Names of fields and variables whose values are secrets: `db_password`, `authToken`, `x-api-key`.
//!
//! A name is split into words, because a part of a word says nothing: a secretary is no secret, and
//! a tokenizer no token.

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// People choose it, so it may look like any word.
    Password,
    /// Machines make it.
    Token,
    Cookie,
    /// A scheme and credentials.
    Authorization,
    /// Often something harmless: only a value that looks random is a secret.
    Suspect,
}

/// Names longer than this are looked at from their end.
const LONGEST: usize = 128;

const PASSWORDS: [&str; 9] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "pwd",
    "mnemonic",
];

const TOKENS: [&str; 30] = [
    "secret",
    "secrets",
    "token",
    "apikey",
    "apikeys",
    "apitoken",
    "apisecret",
    "authtoken",
    "authkey",
    "accesstoken",
    "refreshtoken",
    "sessiontoken",
    "bearertoken",
    "clientsecret",
    "appsecret",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "accountkey",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "bearer",
    "cvv",
    "cvc",
    "ssn",
];

const SUSPECTS: [&str; 7] = ["tokens", "auth", "pass", "pw", "csrf", "xsrf", "otp"];

/// Words that make a secret of the word after them.
const PAIRS: [(&[&str], &[&str], Kind); 5] = [
    (&KEY_LEADS, &["key", "keys"], Kind::Token),
    (&["seed", "recovery", "secret"], &["phrase"], Kind::Password),
    (
        &["auth", "authorization", "backup", "mfa", "otp", "recovery", "verification"],
        &["code", "codes"],
        Kind::Token,
    ),
    (&["amz", "goog"], &["signature"], Kind::Token),
    (
        &[
            "account", "admin", "auth", "database", "db", "ftp", "http", "login", "mail", "mysql",
            "pg", "postgres", "proxy", "redis", "root", "smtp", "ssh", "user",
        ],
        &["pass", "pw"],
        Kind::Password,
    ),
];

/// A key without one of these is a key on a keyboard, of a table or of a map.
const KEY_LEADS: [&str; 31] = [
    "access",
    "account",
    "admin",
    "aes",
    "api",
    "app",
    "application",
    "auth",
    "cipher",
    "crypto",
    "decryption",
    "deploy",
    "encryption",
    "function",
    "hmac",
    "integration",
    "license",
    "master",
    "preshared",
    "private",
    "recovery",
    "secret",
    "service",
    "session",
    "shared",
    "signing",
    "ssh",
    "storage",
    "subscription",
    "wallet",
    "webhook",
];

/// After a secret's word, these name something about the secret: `token_count`, `password_policy`.
const ABOUT: [&str; 106] = [
    "age",
    "algorithm",
    "alias",
    "allowed",
    "arn",
    "at",
    "attempts",
    "audience",
    "banner",
    "bucket",
    "budget",
    "callback",
    "class",
    "column",
    "config",
    "configured",
    "consent",
    "cost",
    "count",
    "created",
    "date",
    "description",
    "domain",
    "enabled",
    "encoding",
    "endpoint",
    "env",
    "error",
    "exists",
    "expiration",
    "expired",
    "expires",
    "expiry",
    "field",
    "file",
    "filename",
    "flow",
    "for",
    "format",
    "generator",
    "header",
    "hint",
    "icon",
    "id",
    "identifier",
    "ids",
    "in",
    "index",
    "input",
    "interval",
    "is",
    "issuer",
    "kind",
    "label",
    "length",
    "lifetime",
    "limit",
    "list",
    "location",
    "manager",
    "max",
    "message",
    "methods",
    "min",
    "mode",
    "name",
    "names",
    "note",
    "offset",
    "option",
    "options",
    "page",
    "param",
    "parameter",
    "path",
    "pattern",
    "per",
    "placeholder",
    "policy",
    "position",
    "prefix",
    "provider",
    "ref",
    "regex",
    "required",
    "requirements",
    "reset",
    "rotation",
    "rule",
    "rules",
    "scope",
    "scopes",
    "selector",
    "size",
    "source",
    "state",
    "status",
    "store",
    "strategy",
    "strength",
    "supported",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
];

/// Before a token, these make a part of a text of it, a cursor or a number.
const NO_CREDENTIAL: [&str; 36] = [
    "bos",
    "cancel",
    "cancellation",
    "class",
    "cls",
    "continuation",
    "cursor",
    "design",
    "end",
    "eos",
    "eot",
    "first",
    "image",
    "last",
    "lexer",
    "mask",
    "max",
    "min",
    "next",
    "num",
    "pad",
    "page",
    "pagination",
    "parser",
    "per",
    "prev",
    "previous",
    "punct",
    "sep",
    "special",
    "start",
    "stop",
    "sync",
    "syntax",
    "total",
    "unk",
];

/// At the beginning of a name, these make a question or a task of it: `has_password`.
const QUESTIONS: [&str; 22] = [
    "allow",
    "disable",
    "enable",
    "forgot",
    "forgotten",
    "has",
    "hide",
    "invalid",
    "is",
    "missing",
    "needs",
    "no",
    "public",
    "require",
    "required",
    "requires",
    "reset",
    "show",
    "supports",
    "toggle",
    "wrong",
    "without",
];

/// What a name says about its value, if it is that of a secret.
pub(super) fn classify(name: &str) -> Option<Kind> {
    let name = &name[name.ceil_char_boundary(name.len().saturating_sub(LONGEST))..];
    let words = words(name);
    // `passWord` has humps where there are no words.
    if words.len() == 2 && words.concat() == "password" {
        return Some(Kind::Password);
    }
    let (kind, at) = last_secret(&words)?;
    let before = at.checked_sub(1).map(|before| words[before].as_str());
    let is_token = ["token", "tokens"].contains(&words[at].as_str());
    let harmless = words[at + 1..].iter().any(|word| ABOUT.contains(&word.as_str()))
        || words.iter().any(|word| word == "public")
        || is_token && before.is_some_and(|word| NO_CREDENTIAL.contains(&word))
        || words.len() > 1 && at > 0 && is_question(&words[0], kind);
    (!harmless).then_some(kind)
}

/// A token to reset a password is a secret, a page to do it is none.
fn is_question(first: &str, kind: Kind) -> bool {
    QUESTIONS.contains(&first) && (kind == Kind::Password || first != "reset")
}

/// The last word that names a secret: what is said after it is said about it.
fn last_secret(words: &[String]) -> Option<(Kind, usize)> {
    let found = (0..words.len()).rev().find_map(|at| {
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        let kind = of_pair(before, &words[at]).or_else(|| of_word(&words[at]))?;
        Some((kind, at))
    });
    match found {
        // `token_secret` is a secret, but `cookie_secret_name` is a name: a suspect word after a
        // certain one takes nothing away from it.
        Some((Kind::Suspect, at)) => {
            last_secret(&words[..at]).filter(|(kind, _)| *kind != Kind::Suspect).or(found)
        }
        found => found,
    }
}

fn of_pair(before: Option<&str>, word: &str) -> Option<Kind> {
    let before = before?;
    let pair =
        PAIRS.iter().find(|(leads, words, _)| words.contains(&word) && leads.contains(&before));
    pair.map(|(_, _, kind)| *kind)
}

fn of_word(word: &str) -> Option<Kind> {
    let glued = ["password", "passwd", "passphrase"].iter().any(|end| word.ends_with(end));
    match word {
        _ if glued || PASSWORDS.contains(&word) => Some(Kind::Password),
        "cookie" | "cookies" => Some(Kind::Cookie),
        "authorization" => Some(Kind::Authorization),
        _ if TOKENS.contains(&word) => Some(Kind::Token),
        _ if SUSPECTS.contains(&word) => Some(Kind::Suspect),
        _ => None,
    }
}

/// The words of a name in lower case, split at anything but letters and where the case says so.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut within = false;
    let mut letters = name.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        let humps = letter.is_uppercase()
            && (last.is_lowercase() || letters.peek().is_some_and(|next| next.is_lowercase()));
        if letter.is_alphabetic() {
            if !within || humps {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        within = letter.is_alphabetic();
        last = letter;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("db_password", "db password"),
            ("x-api-key", "x api key"),
            ("authToken", "auth token"),
            ("APIKey", "api key"),
            ("AWS_SECRET_ACCESS_KEY", "aws secret access key"),
            ("spring.datasource.password2", "spring datasource password"),
            ("user[passWord]", "user pass word"),
            ("2fa", "fa"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn a_name_counts_by_its_words() {
        for (names, kind) in [
            ("access_token clientSecret private_key x-api-key authToken", Some(Kind::Token)),
            (
                "secret_key_base AccountKey SharedAccessKey jwt API_KEY_2 tokenSecret",
                Some(Kind::Token),
            ),
            (
                "db_password passphrase PGPASSWORD password2 smtp_pass newPassword",
                Some(Kind::Password),
            ),
            ("cookie Set-Cookie cookies", Some(Kind::Cookie)),
            ("Authorization proxy-authorization", Some(Kind::Authorization)),
            ("tokens auth pass", Some(Kind::Suspect)),
            ("token_count max_tokens tokenizer page_token nextPageToken eos_token", None),
            ("password_policy forgotPassword has_password secretName token_type", None),
            ("primary_key sortKey keyboard public_key cacheKey key", None),
            ("author authorize secretary monkey passport compass cookie_banner", None),
            ("access_key_id authorization_url api_key_id", None),
        ] {
            for name in names.split(' ') {
                let found = classify(name);
                let counted = found.filter(|kind| *kind != Kind::Suspect);
                match kind {
                    None => assert_eq!(counted, None, "{name}"),
                    kind => assert_eq!(found, kind, "{name}"),
                }
            }
        }
    }
}
