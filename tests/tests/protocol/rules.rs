//! The checklists of rules and defects in ARCHITECTURE.md name tests that exist.

use crate::root;
use std::path::Path;

/// The sources below a folder, in one text.
fn sources(folder: &Path, text: &mut String) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// The lines of a checklist: what is in the first column, and in the second.
fn checklist<'a>(text: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(&format!("<!-- {name} -->")).unwrap();
    let (list, _) = rest.split_once(&format!("<!-- /{name} -->")).unwrap();
    let rows = list.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.skip(1).collect()
}

#[test]
fn every_rule_and_defect_has_a_test_or_a_reason_why_it_has_none() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut code = String::new();
    ["core/src", "tests/tests", "tests/beside/tests"]
        .iter()
        .for_each(|folder| sources(&root().join(folder), &mut code));
    let rows = ["checklist", "handlers", "election"].map(|name| checklist(&text, name)).concat();
    for (rule, answer) in &rows {
        let names: Vec<&str> = answer.split('`').skip(1).step_by(2).filter(|name| name.contains('_')).collect();
        assert!(!names.is_empty() || answer.starts_with("–"), "{rule}: {answer}");
        for name in names {
            assert!(code.contains(&format!("fn {name}()")), "{rule}: there is no test {name}");
        }
    }
    let rules = (1..=14).map(|n| format!("F{n}")).chain((1..=20).map(|n| format!("C{n}")));
    let rules = rules.chain((1..=9).map(|n| format!("K{n}"))).chain((1..=18).map(|n| format!("P{n}")));
    let rules = rules.chain((1..=13).map(|n| format!("L{n}")));
    for rule in rules {
        let named = |(rules, _): &&(&str, &str)| rules.split([' ', ',']).any(|named| named == rule);
        assert_eq!(rows.iter().filter(named).count(), 1, "{rule}");
    }
}
