//! The rules and defects of `rules.txt` name tests that exist.

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

/// The rules of `rules.txt`, each with the lines below it.
fn rules(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut rules: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match (line.starts_with(' '), rules.last_mut()) {
            (true, Some((_, answers))) => answers.push(line.trim()),
            _ => rules.push((line, Vec::new())),
        }
    }
    rules
}

#[test]
fn every_rule_and_defect_has_a_test_or_a_reason_why_it_has_none() {
    let mut code = String::new();
    ["core/src", "tests/tests", "tests/beside/tests"]
        .iter()
        .for_each(|folder| sources(&root().join(folder), &mut code));
    let rows = rules(include_str!("rules.txt"));
    for (rule, answers) in &rows {
        assert!(answers.iter().any(|answer| *answer != "different"), "{rule}: neither a test nor a reason");
        for name in answers.iter().filter(|answer| **answer != "different" && !answer.starts_with('–')) {
            assert!(code.contains(&format!("fn {name}()")), "{rule}: there is no test {name}");
        }
    }
    let numbers = (1..=14).map(|n| format!("F{n}")).chain((1..=20).map(|n| format!("C{n}")));
    let numbers = numbers.chain((1..=9).map(|n| format!("K{n}"))).chain((1..=18).map(|n| format!("P{n}")));
    for number in numbers.chain((1..=13).map(|n| format!("L{n}"))) {
        let named = |(rule, _): &&(&str, Vec<&str>)| rule.split([' ', ',']).any(|named| named == number);
        assert_eq!(rows.iter().filter(named).count(), 1, "{number}");
    }
}
