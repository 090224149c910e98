//! No secret survives redaction, at any depth and wherever the text is cut.

use kenning_gaps::Redactor;
use kenning_gaps::redact::{DEPTH_CAP, FIELD_CAP, MARGIN};
use proptest::prelude::*;
use serde_json::{Value, json};

fn check(text: &str, expected: &str) {
    assert_eq!(Redactor::default().text(text), expected);
}

#[test]
fn secrets_become_markers() {
    check("mail jane.doe+x@example.co.uk now", "mail [REDACTED_EMAIL] now");
    check("sk-ant-api03-AAAAAAAAAAAAAAAA_b-c", "[REDACTED_KEY]");
    check("key=sk-abcdefghijklmnop.", "key=[REDACTED_KEY].");
    check("x_sk-abcdefghijklmnop", "x_[REDACTED_KEY]");
    check("ghp_abcdefghijklmnopqrst", "[REDACTED_KEY]");
    check("gho_abcdefghijklmnopqrst ghr_abcdefghijklmnopqrst", "[REDACTED_KEY] [REDACTED_KEY]");
    check("AKIAIOSFODNN7EXAMPLE", "[REDACTED_KEY]");
    check("authorization: bearer abcdefghijkl", "authorization: Bearer [REDACTED_KEY]");
    check("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "[REDACTED_JWT]");
    check("4111 1111-1111 1111", "[REDACTED_CARD]");
    check("card4111111111111111x", "card[REDACTED_CARD]x");
    check("call +49 170 123 4567 today", "call [REDACTED_PHONE] today");
    check("(555) 010-9999 or 555-010-9999", "([REDACTED_PHONE] or [REDACTED_PHONE]");
    check("postgres://me:hunter2@localhost/db", "postgres://[REDACTED_KEY]@localhost/db");
    check("-----BEGIN RSA PRIVATE KEY-----\nabc\n", "[REDACTED_KEY]");
}

#[test]
fn keeps_what_is_no_secret() {
    for text in [
        "task-management-system-overview",
        "sk-short",
        "the year 2026 and 12345678",
        "2026-11-16 09:33:26",
        "12345678901234567890",
        "v1.2.3, 100%, a@b",
        "ghp_short AKIA1234",
        "Bearer short",
    ] {
        check(text, text);
    }
}

#[test]
fn removes_the_values_of_denied_fields() {
    let redactor = Redactor::denying(&["Iban".to_owned()]);
    let value = json!({"PassWord": {"deep": 1}, "apiKey": 1, "list": [{"TOKEN": "x"}], "iban": [], "ok": "ok"});
    assert_eq!(
        redactor.value(&value),
        json!({"PassWord": "[REDACTED_FIELD]", "apiKey": "[REDACTED_FIELD]",
               "list": [{"TOKEN": "[REDACTED_FIELD]"}], "iban": "[REDACTED_FIELD]", "ok": "ok"})
    );
    assert_eq!(Redactor::off().value(&value), value);
}

#[test]
fn finds_cards_among_numbers() {
    let cards = json!({"a": 4_111_111_111_111_111_u64, "b": [378_282_246_310_005_u64],
        "c": 4_222_222_222_222_i64, "d": -5_555_555_555_554_444_i64, "e": 4_111_111_111_111_111.0});
    let card = "[REDACTED_CARD]";
    let expected = json!({"a": card, "b": [card], "c": card, "d": card, "e": card});
    assert_eq!(Redactor::default().value(&cards), expected);
    assert_eq!(Redactor::off().value(&cards), cards);
    let others = json!([
        4_111_111_111_111_112_u64, // the check digit is wrong
        1_794_836_195_508_u64,     // a time in milliseconds
        1_794_836_195_500_u64,     // one that Luhn would take for a card
        u64::MAX,
        i64::MIN,
        4_111_111_111_111.5,
        1e300,
        0
    ]);
    assert_eq!(Redactor::default().value(&others), others);
}

#[test]
fn replaces_what_is_nested_too_deep() {
    let nested = |depth: usize| (0..depth).fold(json!("end"), |inner, _| json!([inner]));
    let text = |depth| Redactor::default().value(&nested(depth)).to_string();
    assert!(text(DEPTH_CAP).contains("end"));
    assert!(text(DEPTH_CAP + 1).contains("[REDACTED_TOO_DEEP]"));
    assert!(!text(DEPTH_CAP + 1).contains("end"));
}

#[test]
fn replaces_values_that_do_not_fit() {
    let redactor = Redactor::default();
    let fits = Value::from("x".repeat(FIELD_CAP - 2));
    assert_eq!(redactor.field(&fits), fits);
    let big = Value::from("é".repeat(FIELD_CAP));
    assert_eq!(redactor.field(&big), json!({"[truncated]": true, "bytes": 2 * FIELD_CAP + 2}));
    // Markers can be longer than what they stand for.
    let grows = Value::from("a@b.co ".repeat(FIELD_CAP / 8));
    assert_eq!(redactor.field(&grows)["[truncated]"], true);
    assert_eq!(redactor.json_field("{\"a\": NaN}"), json!({"[unserializable]": true}));
    assert_eq!(redactor.json_field("[1, 2]"), json!([1, 2]));
    let huge = format!("\"{}\"", "x".repeat(5 * FIELD_CAP));
    assert_eq!(
        redactor.json_field(&huge),
        json!({"[truncated]": true, "bytes": 5 * FIELD_CAP + 2})
    );
}

#[test]
fn cuts_and_marks_long_texts() {
    let redactor = Redactor::default();
    let long = "word ".repeat(FIELD_CAP);
    let cut = redactor.capped_text(&long);
    assert!(cut.ends_with("…[truncated]") && cut.len() <= FIELD_CAP);
    assert!(cut.len() > FIELD_CAP - 100);
    assert_eq!(redactor.capped_text("short"), "short");
    assert!(Redactor::off().capped_text(&long).len() <= FIELD_CAP);
}

/// A text with a secret, and the part of it that must not survive.
fn secret() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        "sk-ant-[A-Za-z0-9_-]{16,40}".prop_map(|s| (s.clone(), s)),
        "sk-[A-Za-z0-9_-]{16,40}".prop_map(|s| (s.clone(), s)),
        "gh[pousr]_[A-Za-z0-9]{20,40}".prop_map(|s| (s.clone(), s)),
        "AKIA[0-9A-Z]{16}".prop_map(|s| (s.clone(), s)),
        "eyJ[A-Za-z0-9_-]{8,20}\\.[A-Za-z0-9_-]{8,20}\\.[A-Za-z0-9_-]{8,20}"
            .prop_map(|s| (s.clone(), s)),
        ("[Bb]earer +", "[A-Za-z0-9._-]{12,40}").prop_map(|(word, token)| (word + &token, token)),
        "[a-z0-9._%+-]{1,12}@[a-z0-9-]{1,10}\\.[a-z]{2,6}".prop_map(|s| (s.clone(), s)),
        "[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]{4}".prop_map(|s| (s.clone(), s)),
        "[0-9]{13,16}".prop_map(|s| (s.clone(), s)),
        "\\+[1-9][0-9]{0,2}[ .-][0-9]{3}[ .-][0-9]{3,4}[ .-][0-9]{3,4}"
            .prop_map(|s| (s.clone(), s)),
    ]
}

/// Text beside a secret: no letters and digits, which would make it another word.
fn delimiters() -> impl Strategy<Value = String> {
    "[ -,./:;<=>?@\\[\\]{}|~€\n\"'`]{0,3}"
        .prop_map(|text| text.replace(['+', '-', '@', '.', '%', '\''], " "))
}

fn nest(value: Value, path: &[(bool, String)]) -> Value {
    path.iter().fold(value, |inner, (list, name)| {
        if *list { json!(["x", inner, 7]) } else { json!({ "a": 1, name.as_str(): inner }) }
    })
}

/// A number whose check digit is right.
fn card() -> impl Strategy<Value = u64> {
    let length = prop_oneof![Just(12_u32), Just(13), Just(14)];
    let begun = length.prop_flat_map(|length| 2 * 10_u64.pow(length)..10_u64.pow(length + 1));
    begun.prop_map(|begun| {
        let digits: Vec<u64> = begun.to_string().bytes().map(|d| u64::from(d - b'0')).collect();
        let doubled = digits.iter().rev().step_by(2).map(|digit| digit * 2 / 10 + digit * 2 % 10);
        let sum: u64 = doubled.sum::<u64>() + digits.iter().rev().skip(1).step_by(2).sum::<u64>();
        begun * 10 + (10 - sum % 10) % 10
    })
}

proptest! {
    #[test]
    fn no_secret_survives_in_a_text(
        (before, after) in (delimiters(), delimiters()), (text, hidden) in secret(), filler in "[a-z ]{0,30}"
    ) {
        let redacted = Redactor::default().text(&format!("{filler} {before}{text}{after} {filler}"));
        prop_assert!(!redacted.contains(&hidden), "{redacted}");
    }

    #[test]
    fn no_secret_survives_at_any_depth(
        (text, hidden) in secret(),
        path in prop::collection::vec((any::<bool>(), "[a-z]{1,5}"), 0..80),
    ) {
        let redactor = Redactor::default();
        for value in [nest(json!(text), &path), nest(json!({ text.as_str(): 1 }), &path)] {
            prop_assert!(!redactor.value(&value).to_string().contains(&hidden));
            prop_assert!(!redactor.field(&value).to_string().contains(&hidden));
            prop_assert!(!redactor.json_field(&value.to_string()).to_string().contains(&hidden));
        }
    }

    #[test]
    fn no_secret_survives_a_cut(
        (text, hidden) in secret(),
        shift in 0..120_usize,
        place in prop_oneof![Just(FIELD_CAP), Just(FIELD_CAP + MARGIN), Just(FIELD_CAP - 14)],
        unit in prop_oneof![Just("word "), Just("a@b.co "), Just("é "), Just("x")],
    ) {
        let lead = place.saturating_sub(shift);
        let mut long = unit.repeat(lead / unit.len());
        long.push(' ');
        long += &text;
        long += &" and on".repeat(2_000);
        let redacted = Redactor::default().capped_text(&long);
        prop_assert!(redacted.len() <= FIELD_CAP);
        // Not even a part that would give it away.
        let part: String = hidden.chars().take(12).collect();
        prop_assert!(!redacted.contains(&part), "{part}");
    }

    #[test]
    fn no_card_survives_as_a_number(
        card in card(), path in prop::collection::vec((any::<bool>(), "[a-z]{1,5}"), 0..60),
    ) {
        let value = nest(json!(card), &path);
        let redactor = Redactor::default();
        prop_assert!(!redactor.value(&value).to_string().contains(&card.to_string()));
        prop_assert!(!redactor.json_field(&value.to_string()).to_string().contains(&card.to_string()));
    }

    #[test]
    fn redacting_twice_changes_nothing(text in "\\PC{0,80}", (secret, _) in secret(), (other, _) in secret()) {
        let redactor = Redactor::default();
        let once = redactor.text(&format!("{text}{secret}{other}{text}"));
        prop_assert_eq!(redactor.text(&once), once);
    }

    #[test]
    fn any_text_fits_in_a_field(text in "\\PC{0,200}", times in 0..1_000_usize) {
        let redactor = Redactor::default();
        prop_assert!(redactor.capped_text(&text.repeat(times)).len() <= FIELD_CAP);
    }
}
