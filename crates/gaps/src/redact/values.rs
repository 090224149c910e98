//! Whether a value behind the name of a secret is one, or only stands for one: documentation is full
//! of `password=<password>` and `token: String`.

use super::names::words;

/// Words that configuration and documentation write where a secret could be.
const KEYWORDS: [&str; 46] = [
    "any",
    "auto",
    "bool",
    "boolean",
    "bytes",
    "default",
    "disabled",
    "enabled",
    "env",
    "false",
    "file",
    "from",
    "in",
    "include",
    "inherit",
    "int",
    "integer",
    "keychain",
    "keyring",
    "nil",
    "no",
    "none",
    "null",
    "number",
    "object",
    "off",
    "omit",
    "on",
    "optional",
    "prompt",
    "required",
    "same-origin",
    "see",
    "self",
    "stdin",
    "str",
    "string",
    "text",
    "the",
    "true",
    "undefined",
    "unset",
    "vault",
    "void",
    "write",
    "yes",
];

/// Where a program reads a secret from.
const ROOTS: [&str; 24] = [
    "args", "cfg", "config", "ctx", "data", "env", "event", "input", "inputs", "local", "module",
    "opts", "options", "os", "params", "process", "props", "req", "request", "secrets", "self",
    "settings", "this", "vars",
];

const MARKER: &str = "[REDACTED_";

/// Whether nothing of a value is left to redact. A marker may have been cut off at the end.
pub(super) fn is_redacted(value: &str) -> bool {
    let Some(start) = value.find('[') else { return false };
    let (before, marker) = value.split_at(start);
    let harmless = before.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    let begun = marker.len() < MARKER.len() && MARKER.starts_with(marker);
    harmless
        && before.len() <= 24
        && (begun || marker.starts_with(MARKER) && ends_as_marker(marker))
}

/// Nothing but markers and what joins them.
fn ends_as_marker(text: &str) -> bool {
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(MARKER) {
        let name = after.bytes().take_while(|b| b.is_ascii_uppercase() || *b == b'_').count();
        rest = after[name..].trim_start_matches(']');
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[');
    }
    rest.is_empty()
}

pub(super) fn is_keyword(value: &str) -> bool {
    KEYWORDS.contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a value stands for another one: `<token>`, `${TOKEN}`, `{{ token }}`, `xxxx`, `YOUR_KEY`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let bytes = value.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    let same = bytes.iter().all(|&byte| byte == first);
    let variable = |name: &str| {
        let shell = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let named = name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        shell || named && super::names::classify(name).is_some()
    };
    match first {
        _ if same && (bytes.len() > 2 || !first.is_ascii_alphanumeric()) => true,
        b'<' => value.contains('>'),
        b'{' => value.contains('}'),
        b'$' => bytes.get(1).is_some_and(|b| b"{(_".contains(b)) || variable(&value[1..]),
        b'%' => last == b'%' || bytes.len() <= 3 || value.starts_with("%("),
        b'&' => value.starts_with("&str") || value.starts_with("&'") || value.starts_with("&["),
        b'.' => value.starts_with("..."),
        b'!' => bytes.len() > 1 && bytes[1..].iter().all(u8::is_ascii_lowercase),
        _ => value.contains('…') || value.ends_with("...") || is_yours(value),
    }
}

fn is_yours(value: &str) -> bool {
    let start = value.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("your"));
    start && value.bytes().all(|b| b.is_ascii_alphabetic() || b"-_ ".contains(&b))
}

/// Whether code continues here: a call, a path or a variable of the same name.
pub(super) fn is_reference(value: &str, name: &str) -> bool {
    let path = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:?!$".contains(&byte);
    let head = value.bytes().take_while(|&byte| path(byte)).count();
    let (head, rest) = value.split_at(head);
    let begins = head.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !begins {
        return false;
    }
    let is_call = rest.starts_with('(') && (rest.contains(')') || rest.len() == 1);
    let root = head.split(['.', ':']).next().unwrap_or(head);
    let is_path = root.len() < head.len() && (head.contains("::") || ROOTS.contains(&root));
    let has_digits = head.bytes().any(|b| b.is_ascii_digit());
    is_call
        || is_path
        || rest.starts_with('[') && (rest.contains(']') || ROOTS.contains(&root))
        || rest.is_empty() && !has_digits && names_the_same(head, name)
}

/// Whether a value is a name, too, and of the same thing: `password=db_password`.
fn names_the_same(value: &str, name: &str) -> bool {
    let (value, name) = (words(value), words(name));
    match (value.last(), name.last()) {
        (Some(value), Some(name)) => value == name,
        _ => false,
    }
}

/// Whether it is a type: `String`, `Option<String>`, `u64`, `&str`, `[u8; 32]`.
pub(super) fn is_type(value: &str) -> bool {
    let generic = value.contains('<') || value.contains("[]");
    let name = value.trim_end_matches([')', ',', '?', '>', ']', '[']);
    let bits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let sized = ["u", "i", "f", "int", "uint", "float", "bytes", "Int", "UInt", "Float", "utf"];
    let array = ["Uint8Array", "Buffer", "SecretString", "String", "Str", "SecretStr"];
    generic || (bits.len() < name.len() && sized.contains(&bits)) || array.contains(&name)
}

/// Whether it is made of words and numbers, as names and prose are: `my-secret-2`.
pub(super) fn is_wordy(value: &str) -> bool {
    value.split(['-', '_', '.', '/', ',', ':', '\'', '(', ')', '*', '`', '|']).all(|part| {
        part.chars().all(char::is_alphabetic) || part.chars().all(|c| c.is_ascii_digit())
    })
}

/// Whether it looks as if a machine had drawn it: no words, but letters and digits in turn.
pub(super) fn is_random(value: &str) -> bool {
    let value = &value[..value.floor_char_boundary(256)];
    let parts = || value.split(|c: char| !c.is_ascii_alphanumeric());
    value.len() >= 12
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && parts().any(is_mixed)
        && entropy(value) >= 2.8
}

/// Letters and digits change at least twice, or all three classes of characters are there.
fn is_mixed(part: &str) -> bool {
    let digits = |byte: u8| byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let changes = bytes.windows(2).filter(|pair| digits(pair[0]) != digits(pair[1])).count();
    let cases =
        bytes.iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase);
    bytes.len() >= 8 && (changes >= 2 || changes >= 1 && cases)
}

/// Shannon's, in bits for each byte.
#[expect(clippy::cast_precision_loss, reason = "counts of bytes of one value")]
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = value.len() as f64;
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| f64::from(count) / length);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(holds: impl Fn(&str) -> bool, yes: &[&str], no: &[&str]) {
        for value in yes {
            assert!(holds(value), "{value}");
        }
        for value in no {
            assert!(!holds(value), "{value}");
        }
    }

    #[test]
    fn placeholders_are_told_from_values() {
        let yes =
            ["", "<token>", "${TOKEN}", "{{ token }}", "$TOKEN", "$(pass show x)", "xxxx", "…"];
        check(is_placeholder, &yes, &["hunter2", "$ecret1!", "<3hearts", "youth2000", "aa"]);
        check(
            is_placeholder,
            &["YOUR_API_KEY", "your-token", "%s", "%TOKEN%", "***"],
            &["yours4ever"],
        );
    }

    #[test]
    fn markers_are_not_redacted_again_even_when_cut() {
        let yes = ["[REDACTED_KEY]", "Bearer [REDACTED_KEY]", "[REDA", "[", "[REDACTED_KEY]."];
        check(is_redacted, &yes, &["hunter2", "[REDACTED_KEY]hunter2", "h2[REDACTED_KEY]", "[1]"]);
    }

    #[test]
    fn code_is_told_from_values() {
        let reference = |value: &str| is_reference(value, "db_password");
        let yes = ["get_password()", "self.x", "password", "os.environ[\"X\"]", "Token::Ident"];
        check(reference, &yes, &["hunter2", "secret", "p(ss1", "a.b", "1(2)"]);
        check(is_type, &["String", "Option<String>", "u64", "bytes32"], &["hunter2", "Hunter2"]);
    }

    #[test]
    fn randomness_is_told_from_words() {
        let random = ["3f9a77c1e02b4d5f", "aB3dE5fG7hI9", "550e8400-e29b-41d4-a716-446655440000"];
        let words = ["claude-3-opus-20240229", "my-secret-token", "2026-11-18T10:00:00Z", "short1"];
        check(is_random, &random, &words);
    }
}
