use super::*;
use alloc::string::ToString;

const WEB: &[(&str, &str)] = &[("app", "web"), ("tier", "2"), ("empty", ""), ("in", "x"), ("example.com/zone", "a.b")];

fn matches(selector: &str, labels: &[(&'static str, &'static str)]) -> bool {
    let selector = LabelSelector::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error}"));
    selector.matches(|name| labels.iter().find(|(label, _)| *label == name).map(|(_, value)| *value))
}

#[test]
fn each_requirement_holds_for_what_it_says() {
    let held = [
        "",
        "  \t\r\n",
        "app",
        "app=web",
        "app==web",
        " app = web ",
        "app!=api",
        "app in (web)",
        "app in (api,web)",
        "app notin (api, db)",
        "!zone",
        "! zone",
        "zone!=a",
        "zone notin (a)",
        "app,!zone,tier=2",
        "example.com/zone=a.b",
    ];
    for selector in held {
        assert!(matches(selector, WEB), "{selector:?}");
    }
    let not_held = [
        "zone",
        "app=api",
        "app!=web",
        "app in (api)",
        "app notin (api,web)",
        "!app",
        "zone=a",
        "zone in (a)",
        "app,zone",
        "app=Web",
    ];
    for selector in not_held {
        assert!(!matches(selector, WEB), "{selector:?}");
    }
}

#[test]
fn an_empty_value_is_written_as_nothing() {
    for selector in
        ["empty=", "empty==,app", "empty in ()", "empty in (,)", "empty in (a,)", "empty in (,a)", "empty in (a,,b)"]
    {
        assert!(matches(selector, WEB), "{selector:?}");
        assert!(!matches(selector, &[("app", "")]), "a label that is not there has no value: {selector:?}");
    }
    assert!(!matches("empty!=", WEB) && matches("app!=", WEB));
}

#[test]
fn numbers_are_compared_as_numbers() {
    assert!(matches("tier>1,tier<10", WEB) && !matches("tier>2", WEB) && !matches("tier<2", WEB));
    assert!(!matches("app>1", WEB) && !matches("app<1", WEB), "web is no number");
    assert!(!matches("zone>1", WEB) && !matches("zone<1", WEB), "not there");
    assert!(matches("size > 9223372036854775806", &[("size", "9223372036854775807")]));
}

#[test]
fn operators_are_names_where_no_operator_can_be() {
    assert!(matches("in", WEB) && matches("in in (x)", WEB) && matches("in=x", WEB) && matches("!notin", WEB));
    assert!(matches("app in (in,notin,web)", WEB));
}

#[test]
fn what_the_server_refuses_is_refused_where_it_begins() {
    let name = "expected the name of a label";
    let refused = [
        (",", 0, name),
        ("app,", 4, name),
        ("app,,tier", 4, name),
        ("=web", 0, name),
        ("!", 1, name),
        ("!!app", 1, name),
        ("(app)", 0, name),
        ("app web", 4, "expected '=', '!=', 'in', 'notin', '<' or '>'"),
        ("app (web)", 4, "expected '=', '!=', 'in', 'notin', '<' or '>'"),
        ("app !web", 4, "expected '=', '!=', 'in', 'notin', '<' or '>'"),
        ("!app=web", 4, "expected ',' or the end"),
        ("app=web tier", 8, "expected ',' or the end"),
        ("app in (web))", 12, "expected ',' or the end"),
        ("app in web", 7, "expected '('"),
        ("app in", 6, "expected '('"),
        ("app in (", 8, "expected a value"),
        ("app in (=)", 8, "expected a value"),
        ("app in (a b)", 10, "expected ',' or ')'"),
        ("app in (a", 9, "expected ',' or ')'"),
        ("app in (a,", 10, "expected a value"),
        ("app==(web)", 5, "expected a value"),
        ("app===web", 5, "expected a value"),
        ("tier>", 5, "expected a number"),
        ("tier> two", 6, "expected a number"),
        ("tier>9223372036854775808", 5, "expected a number"),
        ("app=-web", 4, "not a value of a label"),
        ("app=größe", 4, "not a value of a label"),
        ("app in (web,we*b)", 12, "not a value of a label"),
        ("app_=web", 0, "not the name of a label"),
        (" a/b/c", 1, "not the name of a label"),
        ("/app", 0, "not the name of a label"),
        ("Example.com/app", 0, "not the name of a label"),
        ("a..b/app", 0, "not the name of a label"),
        ("example.com/", 0, "not the name of a label"),
    ];
    for (text, offset, message) in refused {
        assert_eq!(LabelSelector::parse(text), Err(ParseSelectorError { offset, message }), "{text:?}");
    }
}

#[test]
fn names_and_values_have_at_most_63_bytes() {
    let long = "a".repeat(64);
    for (text, fits) in [(&long[..63], true), (&long[..], false)] {
        assert_eq!(LabelSelector::parse(text).is_ok(), fits);
        assert_eq!(LabelSelector::parse(&alloc::format!("app={text}")).is_ok(), fits);
    }
    let prefix = "a.".repeat(126);
    assert!(LabelSelector::parse(&alloc::format!("{prefix}a/app")).is_ok());
    assert!(LabelSelector::parse(&alloc::format!("{prefix}aa/app")).is_err(), "254 bytes");
}

/// S13
#[test]
fn a_selector_that_selects_all_looks_at_no_label() {
    assert!(LabelSelector::parse(" ").unwrap().matches(|_| unreachable!()));
    assert!(LabelSelector::default().selects_all() && !LabelSelector::parse("app").unwrap().selects_all());
}

#[test]
fn a_written_selector_reads_back() {
    let parse = |text: &str| LabelSelector::parse(text).unwrap();
    for text in ["", "app", "!app", "app=", "app!=web", "a in (x,y)", "a notin (x,y)", "a in (,x)", "n>2,n<7,!b,c=d"] {
        let selector = parse(text);
        assert_eq!(selector.to_string(), text);
        assert_eq!(parse(&selector.to_string()), selector);
    }
    assert_eq!(parse(" app == web , tier in (a) ").to_string(), "app=web,tier=a");
}

#[test]
fn labels_are_a_selector_unless_one_is_none() {
    let labels = [("app", "web"), ("example.com/zone", "")];
    let selector = LabelSelector::from_labels(labels).unwrap();
    assert_eq!(selector, LabelSelector::parse("app=web,example.com/zone=").unwrap());
    assert!(LabelSelector::from_labels([("", ""); 0]).unwrap().selects_all());
    for (labels, offset) in [([("app", "web"), ("a b", "c")], 8), ([("app", "web"), ("b", "c,d=e")], 10)] {
        let error = LabelSelector::from_labels(labels).unwrap_err();
        assert_eq!(error.offset, offset, "{error}");
        assert_eq!(LabelSelector::parse("app=web,").unwrap_err().offset, 8, "the offsets are those of the text");
    }
}

#[cfg(feature = "json")]
#[test]
fn a_field_selects_as_its_text_does() {
    use serde_json::{Value, json};
    for (text, field) in [
        ("", json!({})),
        ("app=web,tier=", json!({ "matchLabels": { "app": "web", "tier": "" } })),
        ("app in (a,b)", json!({ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["a", "b"] }] })),
        (
            "app=web,tier notin (db),zone,!old",
            json!({ "matchLabels": { "app": "web" }, "matchExpressions": [
                { "key": "tier", "operator": "NotIn", "values": ["db"] },
                { "key": "zone", "operator": "Exists" },
                { "key": "old", "operator": "DoesNotExist" },
            ] }),
        ),
    ] {
        let selector = LabelSelector::parse(text).unwrap();
        assert_eq!(serde_json::from_value::<LabelSelector>(field.clone()).unwrap(), selector);
        assert_eq!(serde_json::to_value(&selector).unwrap(), field);
    }
    let twice = serde_json::to_value(LabelSelector::parse("app=a,app=b").unwrap()).unwrap();
    assert_eq!(twice["matchExpressions"][0]["values"], json!(["b"]));
    assert!(serde_json::to_value(LabelSelector::parse("tier>2").unwrap()).is_err());
    assert!(serde_json::from_value::<LabelSelector>(Value::Null).is_err(), "no selector is not the empty one");
    let nulls = json!({ "matchLabels": null, "matchExpressions": null });
    assert!(serde_json::from_value::<LabelSelector>(nulls).unwrap().selects_all());
}

#[cfg(feature = "json")]
#[test]
fn a_field_that_a_server_refuses_is_an_error() {
    use serde_json::json;
    let expression = |key: &str, operator: &str, values: &[&str]| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
    for field in [
        json!({ "matchLabels": { "a b": "c" } }),
        json!({ "matchLabels": { "a": "c d" } }),
        expression("a b", "In", &["c"]),
        expression("a", "In", &["c d"]),
        expression("a", "In", &[]),
        expression("a", "Exists", &["b"]),
        expression("a", "Gt", &["1"]),
    ] {
        assert!(serde_json::from_value::<LabelSelector>(field.clone()).is_err(), "{field}");
    }
}
