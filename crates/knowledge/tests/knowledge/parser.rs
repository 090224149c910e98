//! Markdown text to sections and diagnostics: small cases, and properties over any bytes.

use kenning_knowledge::document::{Document, MAX_NODES_PER_FILE};
use kenning_knowledge::path::RelPath;
use proptest::prelude::*;

fn parse(markdown: &str) -> Document {
    Document::parse(RelPath::parse("docs/file.md").unwrap(), markdown.as_bytes())
}

/// The tree as indented lines of `title | body`, then the diagnostics.
fn outline(document: &Document) -> String {
    let mut out = String::new();
    for (i, section) in document.sections.iter().enumerate() {
        let depth = std::iter::successors(section.parent, |&p| document.sections[p].parent).count();
        let body = document.body(i).replace('\n', "⏎");
        out += &format!("{}{} | {body}\n", "  ".repeat(depth), section.title);
    }
    for diagnostic in &document.diagnostics {
        out += &format!("! {}: {}\n", diagnostic.line, diagnostic.message);
    }
    out
}

fn check(markdown: &str, expected: &[&str]) {
    let outline = outline(&parse(markdown));
    assert_eq!(outline.lines().collect::<Vec<_>>(), expected, "\n--- input ---\n{markdown}");
}

fn metadata(markdown: &str) -> String {
    serde_json::to_string(parse(markdown).sections[0].metadata.as_map()).unwrap()
}

#[test]
fn headings_make_a_tree() {
    check(
        "# A\none\n## B\ntwo\n### C\nthree\n## D\nfour\n",
        &["A | one", "  B | two", "    C | three", "  D | four"],
    );
}

#[test]
fn skipped_levels_and_setext_headings_are_accepted() {
    check(
        "Title\n=====\n\n#### Deep\nx\n\nSub\n---\ny\n",
        &["Title | ", "  Deep | x", "  Sub | y"],
    );
}

#[test]
fn fences_of_any_kind_hide_headings() {
    for (open, close) in [("```", "```"), ("~~~", "~~~"), ("````md", "````"), ("~~~~~", "~~~~~~")] {
        let markdown = format!("# A\n{open}\n# not a heading\n```x\n{close}\n## B\n");
        let document = parse(&markdown);
        let titles: Vec<&str> = document.sections.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["A", "B"], "{markdown}");
    }
}

#[test]
fn an_open_fence_keeps_its_text_and_is_reported() {
    check(
        "# A\n\n```sh\nls\n# B\n",
        &[
            "A | ```sh⏎ls⏎# B",
            "! 3: this code fence is never closed; it runs to the end of the file",
        ],
    );
}

#[test]
fn headings_in_quotes_and_lists_are_not_sections() {
    check("# A\n> # quoted\n\n- # listed\n", &["A | > # quoted⏎⏎- # listed"]);
}

#[test]
fn text_before_the_first_heading_is_kept() {
    check("intro\n\n# A\nbody\n", &["A | intro⏎⏎body"]);
    check("intro\n\n## A\nx\n## B\n", &["file | intro", "  A | x", "  B | "]);
    check("just text\n", &["file | just text"]);
    check("", &["file | "]);
}

#[test]
fn metadata_lines_are_read_up_to_the_marker() {
    let markdown = "# A\n- id: a.b\n- last-checked: 2026-01-02\n- blocked_by: [x, y]\n\
                    - owner: o\n<!-- content -->\n- id: not metadata\n";
    check(markdown, &["A | - id: not metadata"]);
    assert_eq!(
        metadata(markdown),
        r#"{"id":"a.b","last_checked":"2026-01-02","blocked_by":["x","y"],"owner":"o"}"#
    );
}

#[test]
fn bullets_without_the_marker_are_content() {
    check(
        "# A\n- key: value\n- other: thing\n\ntext\n",
        &["A | - key: value⏎- other: thing⏎⏎text"],
    );
    check(
        "# A\n- id: x\n- status: active\n\ntext\n",
        &[
            "A | - id: x⏎- status: active⏎⏎text",
            "! 2: looks like metadata, but no `<!-- content -->` line follows; it is kept as content",
        ],
    );
}

#[test]
fn a_marker_alone_is_dropped() {
    check("# A\n<!-- content -->\ntext\n", &["A | text"]);
    check("# A\n\n<!--CONTENT-->\n\n<div>x</div>\n", &["A | <div>x</div>"]);
}

#[test]
fn malformed_metadata_is_reported_with_its_line() {
    check(
        "# A\n- id: a\n- no pair here\n- two words: x\n<!-- content -->\ntext\n",
        &[
            "A | text",
            "! 3: `- no pair here` is not `- key: value`",
            "! 4: `- two words: x` is not `- key: value`",
        ],
    );
}

#[test]
fn unknown_types_and_statuses_are_kept_and_reported() {
    let document = parse("# A\n- type: saga\n- status: simmering\n<!-- content -->\n");
    assert_eq!(document.sections[0].kind, "saga");
    assert_eq!(document.sections[0].status, "simmering");
    let messages: Vec<&str> = document.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        ["unknown type `saga`, kept as it is", "unknown status `simmering`, kept as it is"]
    );
    assert!(parse("# A\n- status: in_progress\n<!-- content -->\n").diagnostics.is_empty());
}

#[test]
fn sections_inherit_type_status_and_date() {
    let document = parse(
        "---\ntype: guideline\nstatus: draft\nlast_checked: 2026-05-01\n---\n# A\n## B\n\
         - status: active\n<!-- content -->\n### C\n",
    );
    let inherited: Vec<_> =
        document.sections.iter().map(|s| (s.kind.as_str(), s.status.as_str())).collect();
    assert_eq!(
        inherited,
        [("guideline", "draft"), ("guideline", "active"), ("guideline", "active")]
    );
    assert_eq!(document.sections[2].last_checked.as_deref(), Some("2026-05-01"));
    let plain = parse("# A\n");
    assert_eq!(plain.sections[0].kind, "context");
    assert_eq!(plain.sections[0].status, "active");
}

#[test]
fn front_matter_is_metadata_that_the_heading_overrides() {
    assert_eq!(
        metadata("---\nid: y\nowner: o\n---\n# A\n- id: m\n<!-- content -->\n"),
        r#"{"id":"m","owner":"o"}"#
    );
    check("---\ntitle: From YAML\n---\ntext\n", &["From YAML | text"]);
    let broken = parse("---\na: [1\n---\n");
    let yaml_note = format!("! {}: {}", broken.diagnostics[0].line, broken.diagnostics[0].message);
    assert!(yaml_note.contains("front matter is ignored: "), "{yaml_note}");
    check("---\na: [1\n---\n# A\ntext\n", &["A | text", &yaml_note]);
    check("---\nnot closed\n\n# A\n", &["A | ---⏎not closed"]);
}

#[test]
fn windows_line_ends_and_byte_order_marks_change_nothing() {
    let markdown = "\u{feff}---\r\nowner: o\r\n---\r\n# A\r\n- id: a\r\n<!-- content -->\r\nx\r\n## B\r\ny\r\n";
    check(markdown, &["A | x", "  B | y"]);
    assert_eq!(metadata(markdown), r#"{"owner":"o","id":"a"}"#);
}

#[test]
fn anchors_in_headings_name_the_section() {
    let document = parse("# A\n## Long *title* here {#short}\n");
    assert_eq!(document.sections[1].title, "Long title here");
    assert_eq!(document.sections[1].slug, "short");
}

#[test]
fn attribute_lists_and_tags_are_no_part_of_titles_and_ids() {
    for (heading, title, slug) in [
        ("## Use it { #use-it }", "Use it", "use-it"),
        ("## Use it {: #a .wide }", "Use it", "a"),
        ("## Use it\n{: #a }", "Use it", "a"),
        ("## Use it { .wide data-x=\"1 2\" }", "Use it", "use-it"),
        ("## <a id=\"a\"></a>Use it", "Use it", "a"),
        ("## The `{#if}` block", "The {#if} block", "the-if-block"),
        ("## `Vec<T>` and Vec<T>", "Vec<T> and Vec<T>", "vec-t-and-vec-t"),
        ("## Use {% data product %} it", "Use it", "use-it"),
    ] {
        let document = parse(&format!("# A\n{heading}\ntext\n"));
        let section = &document.sections[1];
        assert_eq!((section.title.as_str(), section.slug.as_str()), (title, slug), "{heading}");
    }
}

#[test]
fn code_in_shortcodes_and_comments_have_no_sections() {
    check(
        "# A\n{% highlight sh %}\n# no heading\n{% endhighlight %}\n\n{/*\n\n# neither\n\n*/}\n## B\n",
        &["A | {% highlight sh %}⏎# no heading⏎{% endhighlight %}⏎⏎{/*⏎⏎# neither⏎⏎*/}", "  B | "],
    );
}

#[test]
fn lists_of_bold_terms_and_of_fields_are_text_without_a_diagnostic() {
    for list in [
        "- **Bold**: text\n- **Other**: text\n",
        "- id: the identifier of a node\n- title: what a reader sees\n",
        "- **Bold**: text\n<!-- content -->\n",
    ] {
        let document = parse(&format!("# A\n\n{list}"));
        assert_eq!(document.body(0), list.trim_end(), "{list}");
        assert!(document.sections[0].metadata.is_empty(), "{list}");
        assert!(document.diagnostics.is_empty(), "{:?}", document.diagnostics);
    }
}

#[test]
fn front_matter_may_be_toml_or_json() {
    assert_eq!(
        metadata("+++\ntitle = \"T\"\ndate = 2024-01-05\ntags = [\"a\"]\n+++\n# A\n"),
        r#"{"date":"2024-01-05","tags":["a"],"title":"T"}"#
    );
    assert_eq!(metadata("{\n  \"title\": \"T\"\n}\n# A\n"), r#"{"title":"T"}"#);
    check("{\nnot json\n}\ntext\n", &["file | {⏎not json⏎}⏎text"]);
    let broken = parse("+++\ntitle = \n+++\ntext\n");
    assert_eq!(broken.body(0), "text");
    assert!(broken.diagnostics[0].message.starts_with("front matter is ignored: "));
}

#[test]
fn a_title_in_the_front_matter_names_a_page_that_starts_with_a_section() {
    check("---\ntitle: Page\n---\nintro\n\n## One\nx\n", &["Page | intro", "  One | x"]);
}

#[test]
fn invalid_utf8_is_reported() {
    let document = Document::parse(RelPath::parse("x.md").unwrap(), b"# A\n\nb\xffd\n");
    assert_eq!(document.body(0), "b\u{fffd}d");
    assert_eq!(document.diagnostics[0].line, 3);
}

#[test]
fn sections_past_the_limit_stay_searchable_text() {
    let markdown: String =
        (0..600).map(|n| format!("# H{n}\nbody {n}\n")).collect::<Vec<_>>().concat();
    let document = parse(&markdown);
    assert_eq!(document.sections.len(), MAX_NODES_PER_FILE);
    let last = document.body(MAX_NODES_PER_FILE - 1);
    assert!(last.contains("# H599") && last.contains("body 599"));
    assert_eq!(document.diagnostics.len(), 1);
    assert!(document.diagnostics[0].message.starts_with("more than 500 sections; the 101 from"));
}

/// Fragments that are hard to parse, to be combined at random.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("# H\n".to_owned()),
        Just("## - id: x\n".to_owned()),
        Just("- id: a\n- status: draft\n".to_owned()),
        Just("<!-- content -->\n".to_owned()),
        Just("```\n".to_owned()),
        Just("~~~~\n".to_owned()),
        Just("---\n".to_owned()),
        Just("===\n".to_owned()),
        Just("> # q\n".to_owned()),
        Just("!!! note \"T\"\n    text { #a }\n".to_owned()),
        Just("<Tab label={`x`}>\n</Tab>\n".to_owned()),
        Just("import a from 'b'\n{% x %}{{< y >}}[[p#s|l]]\n".to_owned()),
        Just("/// n | T\n:::\n{/* ".to_owned()),
        Just("   - x:\n     - y\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("| a | b |\n|---|---|\n".to_owned()),
        Just("\u{0}\u{feff}\t".to_owned()),
        "\\PC{0,12}\n?",
    ]
}

fn all_sources(document: &Document) -> String {
    (0..document.sections.len()).map(|i| document.own_source(i)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_parse_without_loss(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let document = Document::parse(RelPath::parse("x.md").unwrap(), &bytes);
        let text = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(all_sources(&document), text.strip_prefix('\u{feff}').unwrap_or(&text));
    }

    #[test]
    fn any_markdown_parses_without_losing_a_line(
        pieces in proptest::collection::vec(piece(), 0..30)
    ) {
        let text = pieces.concat();
        let document = parse(&text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        prop_assert_eq!(all_sources(&document), text);
        // The sections' sources cover the file; within each, what is not in the body is heading,
        // metadata or front matter.
        for (i, section) in document.sections.iter().enumerate() {
            document.plain(i);
            prop_assert_eq!(section.parent.is_none(), i == 0);
            let source = document.own_source(i);
            let body = document.body(i);
            for line in body.lines() {
                prop_assert!(source.contains(line), "{line:?} is not in {source:?}");
            }
            // Braces may be markup, which a title loses.
            let has_markup = source.contains('{') || source.starts_with(['-', '+']);
            if !source.contains("<!-- content -->") && !has_markup {
                let kept: usize = body.split_whitespace().count();
                let all: usize = source.split_whitespace().count();
                let heading = section.title.split_whitespace().count() + 2;
                prop_assert!(kept + heading >= all, "{body:?} of {source:?}");
            }
        }
    }
}
