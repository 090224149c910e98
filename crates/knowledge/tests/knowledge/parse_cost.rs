//! Pathological files: the cost of parsing grows with the size of a file and not faster.

use kenning_knowledge::Document;
use kenning_knowledge::path::RelPath;

/// The ratio of the two file sizes, and the largest accepted ratio of their costs. Quadratic cost
/// would be 64 times as much.
const SIZE_RATIO: usize = 8;
const MAX_COST_RATIO: f64 = 40.0;
/// Shorter times are dominated by noise, in nanoseconds.
const NOISE: u64 = 4_000_000;
const FILE: usize = 1_000_000;

/// A name, and a generator of a file of about so many bytes.
type Case = (&'static str, fn(usize) -> String);

const CASES: [Case; 24] = [
    ("nested quotes", |n| "> ".repeat(n / 2)),
    ("nested quotes of growing depth", |n| growing(n, |depth| ">".repeat(depth) + "x\n")),
    ("nested lists", |n| "- ".repeat(n / 2)),
    ("nested lists of growing depth", |n| growing(n, |depth| "  ".repeat(depth) + "- x\n")),
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
    ("nested links", |n| "[a](".repeat(n / 4)),
    ("emphasis", |n| "*a _b ".repeat(n / 6)),
    ("growing runs of backticks", |n| growing(n, |depth| "`".repeat(depth) + " ")),
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

fn growing(n: usize, step: fn(usize) -> String) -> String {
    let mut text = String::new();
    for depth in 1.. {
        text += &step(depth);
        if text.len() >= n {
            break;
        }
    }
    text
}

/// The least thread time of three parses.
fn cost(text: &str) -> u64 {
    let path = RelPath::parse("PATHOLOGICAL.md").unwrap();
    let times = (0..3).map(|_| {
        let before = thread_time();
        let document = Document::parse(path.clone(), text.as_bytes());
        assert_eq!(document.text().len(), text.len());
        thread_time() - before
    });
    times.min().unwrap()
}

/// Nanoseconds that this thread has run, so that a busy machine makes no difference.
fn thread_time() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn parse_cost_does_not_grow_quadratically() {
    for (name, make) in CASES {
        let (small, large) = (make(FILE / SIZE_RATIO), make(FILE));
        let growth = large.len() as f64 / small.len() as f64;
        let (small, large) = (cost(&small).max(NOISE), cost(&large));
        let factor = large as f64 / small as f64;
        println!("{name}: {growth:.1} times the size, {factor:.1} times the cost ({large} ns)");
        assert!(
            factor < MAX_COST_RATIO,
            "{name}: {growth:.1} times the size costs {factor:.1} times as much"
        );
    }
}

/// A few lines that would be gigabytes if every alias in them was expanded.
#[test]
fn yaml_aliases_do_not_expand_exponentially() {
    for (levels, width) in [(9, 9), (30, 2), (20, 20), (60, 10)] {
        let mut yaml = String::from("a0: &a0 [lol, lol]\n");
        for level in 1..levels {
            let below = vec![format!("*a{}", level - 1); width].join(", ");
            yaml += &format!("a{level}: &a{level} [{below}]\n");
        }
        let text = format!("---\n{yaml}---\n# Heading\n\ntext\n");
        let document = Document::parse(RelPath::parse("PATHOLOGICAL.md").unwrap(), text.as_bytes());
        let kept = serde_json::to_string(document.sections[0].metadata.as_map()).unwrap();
        assert!(kept.len() < 1_000_000, "{} bytes of {}", kept.len(), text.len());
        assert!(document.body(0).contains("text"), "the rest of the file is read");
    }
}
