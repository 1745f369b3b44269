//! Every rule of client-go has a test that is known to fail when the rule is broken, or a line that says why we differ.
//!
//! `tests/mutations/run` makes the changes of `rules.txt`, one by one; here is looked only whether each can be made.

use crate::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The families of rules, and how many each has.
const FAMILIES: [(char, u32); 7] = [('A', 6), ('D', 12), ('P', 18), ('R', 7), ('T', 9), ('S', 13), ('W', 17)];

struct Mutation<'a> {
    rule: &'a str,
    file: &'a str,
    test: &'a str,
    old: &'a str,
    new: &'a str,
}

#[test]
fn every_change_that_breaks_a_rule_can_be_made() {
    let rules = read("tests/mutations/rules.txt");
    let tests = tests();
    for Mutation { rule, file, test, old, new } in mutations(&rules) {
        let code = read(file);
        assert_eq!(code.matches(old).count(), 1, "{rule}: {file} must have this once:\n{old}");
        assert_ne!(old, new, "{rule}: nothing is changed");
        assert!(tests.contains(&format!("fn {test}")), "{rule}: there is no test {test}");
    }
}

#[test]
fn every_rule_can_be_broken_or_is_not_ours() {
    let (rules, architecture) = (read("tests/mutations/rules.txt"), read("ARCHITECTURE.md"));
    let broken: BTreeSet<String> = mutations(&rules).map(|mutation| mutation.rule.to_owned()).collect();
    let different = differences(&architecture);
    let all: BTreeSet<String> =
        FAMILIES.iter().flat_map(|(family, rules)| (1..=*rules).map(move |rule| format!("{family}{rule}"))).collect();
    assert!(broken.is_subset(&all), "no rules: {:?}", broken.difference(&all));
    let missing: Vec<_> = all.iter().filter(|rule| !broken.contains(*rule) && !different.contains(*rule)).collect();
    assert!(missing.is_empty(), "neither in rules.txt nor in ARCHITECTURE.md's table: {missing:?}");
}

#[test]
fn a_difference_is_read_from_the_table_alone() {
    let table = "R9 in a sentence\n| rule | client-go |\n| A1 | a T1 in a cell |\n| S7, S8 | |\n| – | none |\n";
    assert_eq!(differences(table), ["A1", "S7", "S8"].map(str::to_owned).into());
}

fn mutations(rules: &str) -> impl Iterator<Item = Mutation<'_>> {
    rules.trim_end().split("\n==== ").skip(1).map(|block| {
        let (head, change) = block.split_once('\n').unwrap();
        let (old, new) = change.split_once("\n---- becomes\n").unwrap();
        let [rule, file, test] = head.split(' ').collect::<Vec<_>>().try_into().unwrap();
        Mutation { rule, file, test, old, new }
    })
}

/// The rules in the first column of the table.
fn differences(architecture: &str) -> BTreeSet<String> {
    let first_cells = architecture.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    let words = first_cells.flat_map(|cell| cell.split(',').map(str::trim));
    let is_rule = |word: &&str| {
        let number = word.strip_prefix(|family: char| FAMILIES.iter().any(|(known, _)| *known == family));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    words.filter(is_rule).map(str::to_owned).collect()
}

/// The source of core, which has all of the tests.
fn tests() -> String {
    fn walk(folder: &Path) -> String {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { walk(&path) } else { fs::read_to_string(path).unwrap() }).collect()
    }
    walk(&root().join("core/src"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
