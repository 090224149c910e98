//! Every kind of secret is found, wherever it stands. No secret is written out here: `secrets.txt` has
//! templates, and their random parts are drawn at run time.

use kenning_gaps::Redactor;
use kenning_gaps::redact::FIELD_CAP;
use proptest::prelude::*;
use serde_json::{Value, json};

static TEMPLATES: &str = include_str!("secrets.txt");

/// A text, and the part of it that must not survive.
#[derive(Debug, Clone)]
struct Planted {
    kind: &'static str,
    text: String,
    secret: String,
}

fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = TEMPLATES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap())
}

/// Fills in a template.
fn plant((kind, template): (&'static str, &str), seed: u64) -> Planted {
    let mut draw = Draw(seed | 1);
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        // Braces of JSON are no parts to draw.
        let part = after.split_once('}').and_then(|(part, rest)| Some((draw.part(part)?, rest)));
        let (drawn, after) = part.unwrap_or_else(|| ("{".to_owned(), after));
        (text, rest) = (text + &drawn, after);
    }
    text += rest;
    let text = text.replace('¦', "").replace("\\n", "\n").replace("\\\n", "\\n");
    let start = text.find('«').unwrap();
    let end = text.rfind('»').unwrap();
    let secret = text[start..end].trim_start_matches('«').to_owned();
    Planted { kind, text: text.replace(['«', '»'], ""), secret }
}

/// A generator of random letters that gives the same for the same seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    /// `a36` is 36 letters and digits. A long draw without a single digit is so rare that issuers
    /// need not care, and too rare to be tested.
    fn part(&mut self, part: &str) -> Option<String> {
        let (digits, lower, upper) =
            ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        let letters = match part.get(..1)? {
            "a" => [digits, lower, upper].concat(),
            "l" => [digits, lower].concat(),
            "u" => [digits, upper].concat(),
            "x" => [digits, "abcdef"].concat(),
            "d" => digits.to_owned(),
            "b" => [digits, lower, upper, "+/"].concat(),
            "w" => [digits, lower, upper, "-_"].concat(),
            _ => return None,
        };
        let length: usize = part.get(1..)?.parse().ok()?;
        let letter = |draw: &mut Self, at: usize| match (at % 8, letters.len()) {
            (3, _) => digits.as_bytes()[draw.next(10)],
            (5, 16) => b'a',
            (5, 36) if part.starts_with('u') => b'K',
            (5, n) if n > 10 => b'k',
            _ => letters.as_bytes()[draw.next(letters.len())],
        };
        Some((0..length).map(|at| char::from(letter(self, at))).collect())
    }
}

/// Whether a text holds a secret, or half of a long one, written as it is or escaped.
fn holds(text: &str, secret: &str) -> bool {
    let escape = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let middle = secret.floor_char_boundary(secret.len() / 2);
    let halves = [&secret[..middle], &secret[middle..]];
    let parts = if secret.len() >= 32 { halves.to_vec() } else { vec![secret] };
    let once = parts.iter().map(|part| escape(part));
    let twice = parts.iter().map(|part| escape(&escape(part)));
    let plain = parts.iter().map(|&part| part.to_owned());
    plain.chain(once).chain(twice).any(|part| text.contains(&part))
}

/// All texts in a value, keys as well.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            let named =
                fields.iter().map(|(name, value)| [vec![name.clone()], texts(value)].concat());
            named.flatten().collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn secrets_of_every_kind_are_found() {
    let redactor = Redactor::default();
    let planted: Vec<Planted> = templates()
        .zip(1..)
        .map(|(template, seed)| plant(template, seed * 0x9e37_79b9_7f4a))
        .collect();
    assert!(planted.len() >= 150, "{}", planted.len());
    let missed: Vec<String> = planted
        .iter()
        .filter(|planted| holds(&redactor.text(&planted.text), &planted.secret))
        .map(|planted| {
            format!("{}: {}\n  -> {}", planted.kind, planted.text, redactor.text(&planted.text))
        })
        .collect();
    println!(
        "{} secrets: {} found, {} missed",
        planted.len(),
        planted.len() - missed.len(),
        missed.len()
    );
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn fields_are_redacted_by_the_words_of_their_names() {
    let redactor = Redactor::default();
    let names = "access_token client_secret db_password private_key x-api-key authToken passphrase cookie \
        apiKey api-key API_KEY_2 refreshToken AWS_SECRET_ACCESS_KEY spring.datasource.password Set-Cookie \
        proxy-authorization webhook_secret signingKey encryption_key master-key smtp_pass newPassword \
        password_confirmation passwordHash session_token id_token bearer jwt credentials ssn cvv recovery_codes \
        seed_phrase secretKey SharedAccessKey PGPASSWORD dbpassword x-mcpeye-secret github.token";
    for name in names.split_whitespace() {
        let marker = "[REDACTED_FIELD]";
        let value =
            json!({"a": [{ name: "plain" }, { name: ["plain"] }, { name: {"b": "plain"} }]});
        let expected = json!({"a": [{ name: marker }, { name: marker }, { name: marker }]});
        assert_eq!(redactor.value(&value), expected, "{name}");
        assert!(redactor.denies(name), "{name}");
    }
    let flags = json!({"access_token": true, "client_secret": null, "cookies": 3});
    assert_eq!(redactor.value(&flags), flags);
    // Also where the name is the value of another field, or a flag before its value.
    let described =
        json!([{"name": "DB_PASSWORD", "value": "plain"}, ["login", "--password", "plain"]]);
    assert!(!redactor.value(&described).to_string().contains("plain"));
    // Own names, however their words are joined.
    let own = Redactor::denying(&["customer_number".to_owned()]);
    let value = json!({"customerNumber": 1, "customer-number": 2, "number": 3, "customer": 4});
    assert_eq!(
        own.value(&value),
        json!({"customerNumber": "[REDACTED_FIELD]", "customer-number": "[REDACTED_FIELD]", "number": 3, "customer": 4})
    );
}

/// Lines that would take quadratic time, or an endless loop, if a rule looked too far.
#[test]
fn a_megabyte_of_one_line_is_redacted() {
    const SIZE: usize = 1 << 20;
    let redactor = Redactor::default();
    for unit in [
        "a",
        "1",
        "=",
        "\"",
        "\\",
        "\\\"",
        "@",
        "a@",
        "eyJ",
        "eyJaaaaaaaa.",
        "token=",
        "token:",
        "password",
        "secret ",
        "\"token\":\"",
        "\"token\":[",
        "\"token\": {\\\"",
        "key=a,",
        "sk-",
        "gh",
        "ghp_",
        "re_a",
        "DE89",
        "DE89 ",
        "1-",
        "1 ",
        "A/",
        "aB3/",
        "://",
        "://a:",
        "://a:b@",
        "-----BEGIN PRIVATE KEY-----",
        "Bearer ",
        "Basic a",
        "Basic YTpi ",
        "Cookie: ",
        "Cookie: a=",
        "Authorization: Basic ",
        "--token ",
        "pa-",
        "%22token%22%3A%22",
        "é",
        "«",
        "[REDACTED_KEY]",
        "[",
        "pass=[REDACTED_",
    ] {
        let line = unit.repeat(SIZE / unit.len());
        let redacted = redactor.text(&line);
        assert!(redacted.len() <= 32 * line.len(), "{unit:?}");
        assert!(redactor.capped_text(&line).len() <= FIELD_CAP, "{unit:?}");
        let some = redactor.text(&line[..line.floor_char_boundary(10_000)]);
        assert_eq!(redactor.text(&some), some, "redacting {unit:?} twice must change nothing");
    }
}

fn planted() -> impl Strategy<Value = Planted> {
    let all: Vec<_> = templates().collect();
    (prop::sample::select(all), any::<u64>()).prop_map(|(template, seed)| plant(template, seed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_secret_survives_wherever_it_stands(
        planted in planted(),
        path in prop::collection::vec((any::<bool>(), "[a-z]{1,5}"), 0..6),
        before in "[a-z ]{0,12}",
    ) {
        let redactor = Redactor::default();
        let Planted { text, secret, .. } = planted;
        let text = format!("{before}\n{text}");
        let nest = |inner: Value| path.iter().fold(inner, |inner, (list, name)| {
            if *list { json!(["x", inner, 7]) } else { json!({ "a": 1, name.as_str(): inner }) }
        });
        let escaped = json!({ "note": text.as_str() }).to_string();
        let twice = json!([escaped.as_str()]).to_string();
        let named = json!({ text.as_str(): 1 });
        for value in [nest(json!(text)), nest(named), nest(json!(escaped)), nest(json!(twice))] {
            for redacted in texts(&redactor.value(&value)) {
                prop_assert!(!holds(&redacted, &secret), "{}", redacted);
            }
        }
    }

    #[test]
    fn redacting_a_secret_twice_changes_nothing(one in planted(), other in planted(), text in "\\PC{0,40}") {
        let redactor = Redactor::default();
        let once = redactor.text(&format!("{text}{}{}\n{text} {}", one.text, other.text, one.text));
        prop_assert_eq!(redactor.text(&once), once);
    }
}
