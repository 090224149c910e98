use super::*;

fn check(dialect: Dialect, markdown: &str, shown: &str) {
    let text = crate::text::plain_of(markdown, dialect);
    assert_eq!(text, shown, "\n--- input ---\n{markdown}");
}

fn check_heading(title: &str, shown: &str, anchor: Option<&str>) {
    let found = heading(title, &[], Dialect::Markdown);
    assert_eq!((found.0.as_str(), found.1.as_deref()), (shown, anchor), "{title}");
}

#[test]
fn attribute_lists_are_no_text() {
    check(Dialect::Markdown, "{: .class }\nA [link](x){: target=_blank } here.\n", "A link here.");
    check(
        Dialect::Markdown,
        "![pic](p.png){ width=300 .left }\nText\n{#id .cls key=\"a b\"}",
        "pic\nText",
    );
    check(
        Dialect::Markdown,
        "`{#each}` and `{.x}` stay, x_{i=1} too.",
        "{#each} and {.x} stay, x_{i=1} too.",
    );
    check(Dialect::Markdown, "A {name} and { a: 1 } stay.", "A {name} and { a: 1 } stay.");
}

#[test]
fn titles_lose_attribute_lists_and_keep_generics() {
    check_heading("Services { #svc }", "Services", Some("svc"));
    check_heading("Services {: #svc .wide }", "Services", Some("svc"));
    check_heading("Services {#svc .wide key=\"a b\"}", "Services", Some("svc"));
    check_heading("Services { .wide }", "Services", None);
    check_heading("Services {/* #svc */}", "Services", Some("svc"));
    check_heading("Services [#svc]", "Services", Some("svc"));
    check_heading("<a name=\"svc\"></a>Services", "Services", Some("svc"));
    check_heading("Services <Badge text=\"New\" />", "Services", None);
    check_heading("<script>x</script> & co", "<script>x</script> & co", None);
    check_heading("A Vec<T> of {x}", "A Vec<T> of {x}", None);
    let span = 4..9;
    let code = heading("The {#if} block", std::slice::from_ref(&span), Dialect::Markdown);
    assert_eq!(code, ("The {#if} block".to_owned(), None));
}

#[test]
fn admonitions_and_tabs_show_their_title_and_text() {
    check(
        Dialect::Markdown,
        "!!! note \"Mind\"\n    Some *text*.\n\n    ```sh\n    ls {x}\n    ```\n\nAfter",
        "Mind\n\nSome text.\n\nls {x}\n\nAfter",
    );
    check(
        Dialect::Markdown,
        "??? tip\n    Inner\n\n    !!! note \"Deep\"\n        Deeper\n",
        "Inner\n\nDeep\n\nDeeper",
    );
    check(
        Dialect::Markdown,
        "/// note | Mind\n    open: true\n\nSome *text*.\n///\nAfter",
        "Mind\n\nSome text.\n\nAfter",
    );
    check(
        Dialect::Markdown,
        ":::tip Mind\nSome *text*.\n:::\n:::note[Two]\nx\n:::",
        "Mind\n\nSome text.\n\nTwo\n\nx",
    );
    check(
        Dialect::Markdown,
        "> [!NOTE]\n> Some *text*.\n\n> [!tip]- Mind\n> Text",
        "Some text.\n\nMind\n\nText",
    );
    check(
        Dialect::Markdown,
        "=== \"Python\"\n\n    Use *pip*.\n\n=== \"Node\"\n\n    Use npm.\n",
        "Python\n\nUse pip.\n\nNode\n\nUse npm.",
    );
}

#[test]
fn shortcodes_are_no_text() {
    check(
        Dialect::Markdown,
        "{{< callout type=\"info\" >}}\nMind *this*.\n{{< /callout >}}",
        "Mind this.",
    );
    check(Dialect::Markdown, "{% if x %}A [link]({{ site.url }}/x){% endif %}", "A link");
    check(Dialect::Markdown, "{% tab title=\"Linux\" %}\nText\n{% endtab %}", "Linux\n\nText");
    check(Dialect::Markdown, "{% highlight sh %}\n# {% x %}\n{% endhighlight %}", "# {% x %}");
}

#[test]
fn mdx_shows_the_text_between_its_tags() {
    let mdx = "import Tabs from '@theme/Tabs';\nimport {\n  A,\n} from './a';\n\nexport const x = {\n  y: 1,\n};\n\n\
               <Tabs items={['a', 'b']}>\n  <Tab label=\"Python\" on={() => 1 > 0}>\n    Use *pip*{' '}\n    now {props.x}.\n\n    ```js\n    import a from 'b';\n    <A b={c} />\n    ```\n  </Tab>\n</Tabs>\n{/* note */}\n";
    check(Dialect::Mdx, mdx, "Python\n\nUse pip\nnow .\n\nimport a from 'b';\n<A b={c} />");
    assert_eq!(Dialect::guess(mdx), Dialect::Mdx);
    assert_eq!(
        Dialect::guess("Say `</Tabs>`.\n\n```jsx\n</Tabs>\n```\n<div>\n</div>\n"),
        Dialect::Markdown
    );
}

#[test]
fn wikilinks_show_their_label() {
    check(
        Dialect::Markdown,
        "See [[Page#Section|label]], [[Page#Part]] and ![[Embed]].",
        "See label, Page Part and !Embed.",
    );
    check(Dialect::Markdown, "[[1]](https://x) and if [[ -f x ]]", "[1] and if [[ -f x ]]");
}

#[test]
fn comments_in_html_are_no_text() {
    check(
        Dialect::Markdown,
        "<!-- one\n\ntwo > three -->\nText <!-- x --> here\n\n<img\n  alt=\"a\"\n/>",
        "Text  here",
    );
    check(Dialect::Markdown, "<td>a</td><td>b</td>", "a b");
}

#[test]
fn unclosed_constructs_cost_no_more_than_their_length() {
    for piece in
        ["{", "{%", "{{<", "{/*", "<a ", "<a \"", "<a {", "[[", "`", "{ #a ", "!!! x\n    "]
    {
        let text = piece.repeat(50_000 / piece.len());
        for dialect in [Dialect::Markdown, Dialect::Mdx] {
            assert!(commonmark(&text, dialect).len() <= 2 * text.len() + 200_000, "{piece}");
        }
    }
}
