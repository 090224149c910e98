//! Hostile templates: none exceeds its limits, and none crashes the process.

use kenning_compose::{Error, Limits};
use serde_json::{Value, json};

use crate::fixture::{Fixture, fixture, limited};

/// The limit a template ran into.
fn exhausted(fixture: &Fixture, template: &str) -> &'static str {
    match fixture.render(template, json!({"text": "x".repeat(1_000)})) {
        Err(Error::Exhausted { name }) => name,
        other => panic!("{}: {other:?}", &template[..template.len().min(200)]),
    }
}

fn refused(fixture: &Fixture, template: &str) -> String {
    match fixture.render(template, json!({"text": "x".repeat(1_000), "n": 3})) {
        Err(Error::Template { problem, .. }) => problem,
        other => panic!("{}: {other:?}", &template[..template.len().min(200)]),
    }
}

const PARTS: [(&str, &str); 3] = [
    ("part.j2", "part of {{ who }}\n"),
    ("base.j2", "<{% block inner %}base{% endblock %}>"),
    ("macros.j2", "{% macro twice(x, by=2) %}{{ x }}{{ x * by }}{% endmacro %}"),
];

/// The engine without the sandbox.
fn plain(template: &str, context: &Value) -> Result<String, minijinja::Error> {
    let mut env = minijinja::Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    let syntax = minijinja::syntax::SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    env.set_syntax(syntax);
    for (name, source) in PARTS {
        env.add_template(name, source)?;
    }
    env.render_str(template, minijinja::value::Value::from(minijinja::value::Serde(context)))
}

#[test]
fn templates_render_as_outside_the_sandbox() {
    let fixture = fixture();
    for (name, source) in PARTS {
        fixture.file(name, source);
    }
    let context =
        json!({"n": 3, "s": "text", "list": [1, 2, 3], "map": {"a": {"b": [1]}, "k": "v"}});
    for template in [
        "{{ 1 + 2 * 3 - 4 / 2 }}",
        "{{ 7 // 2 }} {{ 7 % 4 }} {{ 2 ** 10 }} {{ -3 }} {{ -n|abs }}",
        "{{ 2 ** 3 ** 2 }} {{ (2 ** 3) ** 2 }} {{ 10 - 3 - 2 }} {{ 10 - (3 - 2) }}",
        "{{ 'a' ~ 1 ~ 'b' ~ true }}",
        "{{ 'ab' * 3 }} {{ [1] * 2 + [3] }} {{ (1, 2) + (3,) }}",
        "{{ 1.5 + 1 }} {{ 2 * 0.5 }} {{ 'a' + 'b' }}",
        "{{ 1 < 2 <= 2 < 3 }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }} {{ 'k' in {'k': 1} }}",
        "{{ n == 3 and not (n != 3 or n > 5) }}",
        "{{ 'yes' if n > 2 else 'no' }}{{ 'never' if n > 5 }}",
        "{% for a, b in [(1, 2), (3, 4)] if a > 1 %}{{ loop.index }}:{{ a }}-{{ b }}{% else %}none{% endfor %}",
        "{% for x in [] %}x{% else %}none{% endfor %}",
        "{% for x in [{'n': 1, 'in': [{'n': 2, 'in': []}]}] recursive %}{{ x.n }}{{ loop(x['in']) }}{% endfor %}",
        "{% if n == 1 %}one{% elif n == 2 %}two{% elif n == 3 %}three{% else %}more{% endif %}",
        "{% set x = [1, 2, 3] %}{{ x[0] }}{{ x[-1] }}{{ x[1:] }}{{ 'abcdef'[1:4] }}{{ x[::-1]|list }}",
        "{% set x, y = 1, 2 %}{{ x }}{{ y }}{% set z %}block {{ x }}{% endset %}{{ z }}",
        "{% set z | upper %}loud{% endset %}{{ z }}{% filter upper|trim %} more {% endfilter %}",
        "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}",
        "{% set ns = namespace(sum=0) %}{% for i in range(5) %}{% set ns.sum = ns.sum + i %}{% endfor %}{{ ns.sum }}",
        "{% macro hi(name, greeting='Hello') %}{{ greeting }} {{ name }}{% endmacro %}{{ hi('A') }} {{ hi('B', greeting='Hi') }}",
        "{% macro box() %}[{{ caller(1) }}]{% endmacro %}{% call(x) box() %}in {{ x }}{% endcall %}",
        "{% set who = 'us' %}{% include 'part.j2' %}",
        "{% include 'absent.j2' ignore missing %}.",
        "{% extends 'base.j2' %}{% block inner %}{{ super() }}+own{% endblock %}",
        "{% import 'macros.j2' as m %}{{ m.twice('a') }}{% from 'macros.j2' import twice as t %}{{ t('b', by=1) }}",
        "{{ [3, 1, 2]|sort|join(', ') }} {{ [1, 2, 3]|map('string')|join }} {{ range(6)|select('even')|list }}",
        "{{ [{'a': 1}, {'a': 2}]|selectattr('a', 'gt', 1)|map(attribute='a')|list }}",
        "{{ 'a-b'|replace('-', '+')|upper }} {{ {'b': 1}|tojson }} {{ 'x'|default('y') }} {{ nope|default('y') }}",
        "{{ '%.2f and %s'|format(1.5, 'x') }} {{ 'a\nb'|indent(2) }}",
        "{{ nope is defined }} {{ n is number }} {{ 'a' is in 'abc' }} {{ n is eq 3 }}",
        "{% raw %}{{ not a tag }}{% endraw %}",
        "quotes \" and \\ and ' and }} and {\n",
        "{{ \"a\\\"b\\\\c\\nd\" }}",
        "a\n{% if true %}\nb\n{% endif %}\nc\n",
        "{{ {'a': {'b': [1, (2,)]}} }} {{ none }} {{ 1e3 }}",
        "{{ map.a.b[0] + list[1] * n }} {{ map['k'] }} {{ map }} {{ list }}",
        "{{ map|items|list }} {{ map|dictsort|list }} {{ list|sum }} {{ list|first }}{{ list|last }}",
        "{{ list|batch(2)|list }} {{ list|slice(2)|list }} {{ [list, list]|tojson(indent=2) }}",
        "{{ s|title }} {{ s|length }} {{ s|indent(width=2) }} {{ 'a,b'|split(',')|list }} {{ 3.7|round }}",
        "{% for k, v in map|items %}{{ k }}={{ v }};{{ loop.last }}{% endfor %}",
        "{{ list|map('string')|join('-') }} {{ list|reject('odd')|list }} {{ list|min }}{{ list|max }}",
        "{{ [1, [2, [3]]] == [1, [2, [3]]] }} {{ {'a': 1} != {'a': 2} }} {{ 'a' < 'b' }} {{ 1 == 1.0 }}",
        "{{ (list + list)|unique|list }} {{ list * 2 }} {{ 2 * 'ab' }} {{ 'x' ~ none ~ 1.0 ~ [1] }}",
        "{{ true and 0 or 'x' }} {{ not true }} {{ 5 % 3 }} {{ -7 // 2 }} {{ 1 - -1 }}",
        "{{ 1 in list and 9 not in list }} {{ 'v' in map }} {{ 'k' in map }} {{ 'ex' in s }}",
    ] {
        let expected =
            plain(template, &context).unwrap_or_else(|error| panic!("{template}: {error:?}"));
        let got = fixture.render(template, context.clone());
        assert_eq!(got.ok(), Some(expected), "{template}");
    }
    // Errors outside are errors inside, too.
    let failing = "nope;nope + 1;nope ~ 'x';nope == 1;[] < nope;'a' + 1;'a' * 'b';1 / 0;\
                   [1].append(2);nope.x;nope|map('string');1 in 5;none + 1;'s' * 1.5";
    for expression in failing.split(';') {
        for template in [
            format!("{{{{ {expression} }}}}"),
            format!("{{% for x in {expression} %}}{{% endfor %}}"),
        ] {
            assert!(plain(&template, &context).is_err(), "{template}");
            assert!(fixture.render(&template, context.clone()).is_err(), "{template}");
        }
    }
}

#[test]
fn endless_loops_run_out_of_fuel() {
    let fixture = fixture();
    let nested = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    assert_eq!(exhausted(&fixture, nested), "template_fuel");
    let macros = "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(20) }}";
    assert!(["template_fuel", "template_work_bytes"].contains(&exhausted(&fixture, macros)));
}

#[test]
fn does_not_build_huge_ranges_and_repetitions() {
    let fixture = fixture();
    assert!(refused(&fixture, "{{ range(10**9)|list|length }}").contains("too many elements"));
    for template in [
        "{{ 'x' * 10**9 }}",
        "{{ ('x' * 10**8)|length }}",
        "{% set a = 'x' * 50000000 %}{% set b = 'x' * 50000000 %}{% set c = 'y' * 50000000 %}{{ a|length }}",
        "{{ [1] * 10**9 }}",
        "{{ ([1] * 10**8)|length }}",
        "{{ ((1, 2) * 10**8)|length }}",
        "{{ (range(90000)|list * 9000)|length }}",
        "{{ text|replace('x', text * 1000)|length }}",
        "{{ text|replace('', text * 1000)|length }}",
        "{{ range(90000)|join(text * 10)|length }}",
        "{{ ('a\n' * 100000)|indent(100000)|length }}",
        "{{ ('a\n' * 100000)|indent(width=100000)|length }}",
        "{{ range(90000)|list|tojson(indent=100000)|length }}",
        "{{ [1]|batch(10**9, 'x')|list|length }}",
        "{{ [1]|slice(10**9)|list|length }}",
        "{{ range(90000)|map('replace', '0', text * 100)|join|length }}",
    ] {
        assert_eq!(exhausted(&fixture, template), "template_work_bytes", "{template}");
    }
    assert!(refused(&fixture, "{{ '%999999999d'|format(1) }}").contains("999 wide"));
    assert!(refused(&fixture, "{{ '%*d'|format(999999999, 1) }}").contains("999 wide"));
}

#[test]
fn stops_values_that_double() {
    let fixture = fixture();
    let doubled = |step: &str| format!("{{% set x = 'ab' %}}{}{{{{ x|length }}}}", step.repeat(60));
    for step in [
        "{% set x = x ~ x %}",
        "{% set x = x + x %}",
        "{% set x = [x, x] %}",
        "{% set x = (x, x) %}",
        "{% set x = {'a': x, 'b': x} %}",
        "{% set x %}{{ x }}{{ x }}{% endset %}",
        "{% set x = x|replace('a', 'aa')|replace('b', 'bb') %}",
        "{% set x = [x, x]|join %}",
        "{% set x = [x, x]|string %}",
        "{% set x = [x, x]|tojson %}",
        "{% set x = [x]|chain([x])|list %}",
        "{% set x = [x]|zip([x])|list %}",
    ] {
        let template = doubled(step);
        let outcome = fixture.render(&template, json!({}));
        let stopped = match &outcome {
            Err(Error::Exhausted { name }) => *name == "template_work_bytes",
            Err(Error::Template { problem, .. }) => problem.contains("too deep"),
            _ => false,
        };
        assert!(stopped, "{step}: {outcome:?}");
    }
    let in_loop = "{% set ns = namespace(x='ab') %}{% for i in range(90) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
    assert_eq!(exhausted(&fixture, in_loop), "template_work_bytes");
    let macros = format!(
        "{{% macro d(s) %}}{{{{ s }}}}{{{{ s }}}}{{% endmacro %}}{{{{ {}'ab'{} }}}}",
        "d(".repeat(40),
        ")".repeat(40)
    );
    assert_eq!(exhausted(&fixture, &macros), "template_work_bytes");
}

#[test]
fn charges_raw_text_in_captured_blocks() {
    let fixture = fixture();
    let raw = "r".repeat(100_000);
    let template =
        format!("{{% set x %}}{{% for i in range(99999) %}}{raw}{{% endfor %}}{{% endset %}}");
    assert_eq!(exhausted(&fixture, &template), "template_work_bytes");
}

#[test]
fn does_not_follow_cyclic_values() {
    let fixture = fixture();
    let cycle = "{% set ns = namespace() %}{% set ns.self = ns %}";
    for usage in ["ns", "ns == ns", "ns|tojson", "[ns]", "ns ~ ''", "ns|string"] {
        match fixture.render(&format!("{cycle}{{{{ {usage} }}}}"), json!({})) {
            Err(Error::Template { .. } | Error::Exhausted { .. }) => {}
            // The engine may print a namespace without its contents.
            Ok(text) => assert!(text.len() < 1_000, "{usage}"),
            other => panic!("{usage}: {other:?}"),
        }
    }
    let deep = "{% set ns = namespace(x=1) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}";
    assert!(refused(&fixture, deep).contains("too deep"));
}

#[test]
fn charges_for_reading_large_values_repeatedly() {
    let fixture = fixture();
    let steps = "big == other;'y' in big;big[7:];big[99];big is eq other;big < other;\
                 loop.changed(big);{big: 1}[other]";
    for step in steps.split(';') {
        let template = format!(
            "{{% set big = 'x' * 1000000 %}}{{% set other = 'x' * 1000000 %}}{{% for i in range(90000) %}}{{% if {step} %}}{{% endif %}}{{% endfor %}}"
        );
        assert_eq!(exhausted(&fixture, &template), "template_work_bytes", "{step}");
    }
}

#[test]
fn stops_recursive_includes() {
    let fixture = fixture();
    fixture.file("self.j2", "{% include 'self.j2' %}");
    fixture.file("twice.j2", "{% include 'self.j2' %}{% include 'self.j2' %}");
    for template in ["{% include 'self.j2' %}", "{% include 'twice.j2' %}"] {
        let outcome = fixture.render(template, json!({}));
        assert!(matches!(outcome, Err(Error::Template { .. })), "{outcome:?}");
    }
    fixture.file("a.j2", "{% extends 'b.j2' %}");
    fixture.file("b.j2", "{% extends 'a.j2' %}");
    let outcome = fixture.render("{% extends 'a.j2' %}", json!({}));
    let stopped = matches!(outcome, Err(Error::Template { .. } | Error::Exhausted { .. }));
    assert!(stopped, "{outcome:?}");
    let names = "{% set names = range(90000)|map('string')|list %}{% for i in range(90000) %}{% include names ignore missing %}{% endfor %}";
    assert_eq!(exhausted(&fixture, names), "template_work_bytes");
    let recursion = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    assert!(refused(&fixture, recursion).contains("recursion"));
    fixture.file("bomb.j2", "{% for i in range(90000) %}{% include 'line.j2' %}{% endfor %}");
    fixture.file("line.j2", &"y".repeat(10_000));
    let limit = exhausted(&fixture, "{% include 'bomb.j2' %}");
    assert!(["template_output_bytes", "template_work_bytes"].contains(&limit));
}

#[test]
fn deep_and_long_sources_do_not_overflow_the_stack() {
    let fixture = fixture();
    for template in [
        format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("{{{{ {}1{} }}}}", "[".repeat(5_000), "]".repeat(5_000)),
        format!("{{{{ 1{} }}}}", " - 1".repeat(50_000)),
        format!("{{{{ 1{} }}}}", " ~ 1".repeat(50_000)),
        format!("{{{{ 1{} }}}}", "|string".repeat(50_000)),
        format!("{{{{ x{} }}}}", ".a".repeat(50_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(50_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(50_000)),
        format!("{}x{}", "{% if true %}".repeat(5_000), "{% endif %}".repeat(5_000)),
        format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(5_000)),
    ] {
        let outcome = fixture.render(&template, json!({"x": false}));
        let survived = matches!(outcome, Err(Error::Template { .. }) | Ok(_));
        assert!(survived, "{}: {outcome:?}", &template[..60]);
    }
    let chain = format!("{{{{ 1{} }}}}", " + 1".repeat(300));
    assert_eq!(fixture.render(&chain, json!({})).unwrap(), "301");
    let chain = format!("{{{{ 1000{} }}}}", " - 1".repeat(300));
    assert_eq!(fixture.render(&chain, json!({})).unwrap(), "700");
}

#[test]
fn rejects_reserved_and_removed_names() {
    let fixture = fixture();
    for template in [
        "{{ __add(1, 2) }}",
        "{% set __mul = 1 %}",
        "{% macro __concat() %}{% endmacro %}",
        "{% for __built in [1] %}{% endfor %}",
        "{% import 'x' as __add %}",
    ] {
        assert!(refused(&fixture, template).contains("are reserved"), "{template}");
    }
    assert!(refused(&fixture, "{{ debug() }}").contains("unknown"));
    assert!(refused(&fixture, "{{ 'x'|pprint }}").contains("unknown filter"));
    assert!(refused(&fixture, "{% autoescape true %}x{% endautoescape %}").contains("escape"));
}

#[test]
fn errors_name_the_line_and_the_undefined_value() {
    let fixture = fixture();
    let error = fixture.render("one\ntwo\n{{ titel }}\n", json!({"title": "x"})).unwrap_err();
    assert!(error.to_string().contains("line 3"), "{error}");
    assert!(error.to_string().contains("titel"), "{error}");
    let error = fixture.render("a\n\n{% for x in missing %}{% endfor %}", json!({})).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    assert!(error.to_string().contains("line 3"), "{error}");
    let error = fixture.render("{% if %}", json!({})).unwrap_err();
    assert_eq!(error.code().as_str(), "TEMPLATE_ERROR");
    fixture.file("broken.j2", "fine\n{{ 1 + }}");
    let error = fixture.render("{% include 'broken.j2' %}", json!({})).unwrap_err();
    assert!(error.to_string().contains("broken.j2"), "{error}");
}

#[test]
fn applies_the_configured_limits() {
    let small = limited(Limits {
        template_fuel: 100,
        template_recursion: 5,
        template_output_bytes: 50,
        template_work_bytes: 2_000,
        ..Limits::default()
    });
    let many_steps = "{% for i in range(90) %}{% set x = i %}{% endfor %}";
    assert_eq!(exhausted(&small, many_steps), "template_fuel");
    assert_eq!(exhausted(&small, "{{ 'x' * 60 }}"), "template_output_bytes");
    assert_eq!(exhausted(&small, "{{ 'x' * 2001 }}"), "template_work_bytes");
    let deep = "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(9) }}";
    assert!(refused(&small, deep).contains("recursion"));
    assert_eq!(small.render("{{ 'x' * 40 }}", Value::Null).unwrap().len(), 40);
}
