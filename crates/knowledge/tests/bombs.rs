//! Files that are made to be expensive: what they cost grows with their size and not faster.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use kenning_knowledge::Document;
use kenning_knowledge::path::RelPath;

/// How much larger the larger of two files is, and how much more it may cost. What grows with the
/// square of the size costs 64 times as much.
const LARGER: usize = 8;
const AT_MOST: f64 = 40.0;
/// Below this the clock says nothing, in nanoseconds.
const NOISE: u64 = 4_000_000;
/// As large as a file of a base can be.
const FILE: usize = 1_000_000;

/// A name, and how a file of about so many bytes is made.
type Bomb = (&'static str, fn(usize) -> String);

const BOMBS: [Bomb; 24] = [
    ("quotes in quotes", |n| "> ".repeat(n / 2)),
    ("quotes in quotes, ever deeper", |n| stairs(n, |depth| ">".repeat(depth) + "x\n")),
    ("lists in lists", |n| "- ".repeat(n / 2)),
    ("lists in lists, ever deeper", |n| stairs(n, |depth| "  ".repeat(depth) + "- x\n")),
    ("numbered lists", |n| "1. ".repeat(n / 3)),
    ("headings", |n| "# h\n".repeat(n / 4)),
    ("headings of all levels", |n| "# a\n## b\n### c\n#### d\n##### e\n###### f\n".repeat(n / 39)),
    ("underlined headings", |n| "h\n=\n\n".repeat(n / 5)),
    ("one long line", |n| "word ".repeat(n / 5)),
    ("one long word", |n| "x".repeat(n)),
    ("one long heading", |n| format!("# {}", "x ".repeat(n / 2))),
    ("a table with many columns", |n| {
        format!("{}\n{}\n{}\n", "|a".repeat(n / 8), "|-".repeat(n / 8), "|b".repeat(n / 8))
    }),
    ("a table with many rows", |n| format!("|a|b|\n|-|-|\n{}", "|1|2|\n".repeat(n / 6))),
    ("open brackets", |n| "[".repeat(n)),
    ("links in links", |n| "[a](".repeat(n / 4)),
    ("emphasis", |n| "*a _b ".repeat(n / 6)),
    ("backticks, ever more", |n| stairs(n, |depth| "`".repeat(depth) + " ")),
    ("open tags", |n| "<a ".repeat(n / 3)),
    ("open comments", |n| "<!-- ".repeat(n / 5)),
    ("open fences", |n| "```\n~~~\n".repeat(n / 8)),
    ("link definitions", |n| "[a]: b\n".repeat(n / 7)),
    ("metadata", |n| format!("# h\n{}<!-- content -->\n", "- key: value\n".repeat(n / 13))),
    ("a large front matter", |n| {
        let lines: Vec<String> = (0..n / 16).map(|i| format!("key{i:06}: val\n")).collect();
        format!("---\n{}---\n# h\n", lines.concat())
    }),
    ("a deep front matter", |n| format!("---\na: {}\n---\n# h\n", "[".repeat(n))),
];

fn stairs(n: usize, step: fn(usize) -> String) -> String {
    let mut text = String::new();
    for depth in 1.. {
        text += &step(depth);
        if text.len() >= n {
            break;
        }
    }
    text
}

/// What a file costs: the least of a few tries, of the time that this thread really had.
fn cost(text: &str) -> u64 {
    let path = RelPath::parse("BOMB.md").unwrap();
    let tries = (0..3).map(|_| {
        let before = time();
        let document = Document::parse(path.clone(), text.as_bytes());
        assert_eq!(document.text().len(), text.len());
        time() - before
    });
    tries.min().unwrap()
}

/// Nanoseconds that this thread has run, so that a busy machine makes no difference.
fn time() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    said.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn no_file_costs_more_than_its_size() {
    for (name, make) in BOMBS {
        let (small, large) = (make(FILE / LARGER), make(FILE));
        let by = large.len() as f64 / small.len() as f64;
        let (small, large) = (cost(&small).max(NOISE), cost(&large));
        let factor = large as f64 / small as f64;
        println!("{name}: {by:.1} times the size, {factor:.1} times the cost ({large} ns)");
        assert!(factor < AT_MOST, "{name}: {by:.1} times the size costs {factor:.1} times as much");
    }
}

/// A few lines that would be gigabytes, if every name in them was spelled out.
#[test]
fn names_for_names_do_not_explode() {
    for (levels, width) in [(9, 9), (30, 2), (20, 20), (60, 10)] {
        let mut yaml = String::from("a0: &a0 [lol, lol]\n");
        for level in 1..levels {
            let below = vec![format!("*a{}", level - 1); width].join(", ");
            yaml += &format!("a{level}: &a{level} [{below}]\n");
        }
        let text = format!("---\n{yaml}---\n# Heading\n\ntext\n");
        let document = Document::parse(RelPath::parse("BOMB.md").unwrap(), text.as_bytes());
        let kept = serde_json::to_string(document.sections[0].metadata.as_map()).unwrap();
        assert!(kept.len() < 1_000_000, "{} bytes of {}", kept.len(), text.len());
        assert!(document.body(0).contains("text"), "the rest of the file is read");
    }
}
