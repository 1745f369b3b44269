//! What comes in with a dependency has a licence, a name and a source that `deny.toml` allows.
//!
//! `cargo deny check` reads the same file, knows published advisories besides, and takes minutes to be installed.

use crate::root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn every_dependency_has_a_licence_a_name_and_a_source_that_are_allowed() {
    let rules = Rules::read(&fs::read_to_string(root().join("deny.toml")).unwrap());
    assert!(!rules.licences.is_empty() && !rules.banned.is_empty(), "{rules:?}");
    let packages = resolved();
    assert!(packages.len() > 50, "{} packages", packages.len());
    let found: Vec<String> = packages.iter().filter_map(|package| rules.refusal(package)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_planted_dependency_that_is_not_allowed_is_found() {
    let rules = Rules::read("allow = [\"MIT\", \"ISC\"]\n# { crate = \"good\" }\ndeny = [\n  { crate = \"bad\" },\n]");
    let refusal = |name: &str, source: Value, license: Value, on: &str| {
        let dependency = serde_json::json!({ "name": "another", "req": on, "source": REGISTRY });
        let package =
            serde_json::json!({ "name": name, "source": source, "license": license, "dependencies": [dependency] });
        rules.refusal(&package).is_some()
    };
    let registry = || Value::from(REGISTRY);
    assert!(!refusal("good", registry(), "GPL-3.0 OR MIT".into(), "^1"));
    assert!(!refusal("listwatch-core", Value::Null, "Apache-2.0".into(), "^1"), "our own");
    assert!(refusal("good", registry(), "GPL-3.0".into(), "^1"));
    assert!(refusal("good", registry(), Value::Null, "^1"));
    assert!(refusal("bad", registry(), "MIT".into(), "^1"));
    assert!(refusal("good", "git+https://example.org/good".into(), "MIT".into(), "^1"));
    assert!(refusal("listwatch-core", Value::Null, "Apache-2.0".into(), "*"), "any version of another");
}

#[test]
fn a_licence_is_read_as_spdx_says() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    for (expression, is_allowed) in [
        ("MIT", true),
        ("X", false),
        ("X OR MIT", true),
        ("X/MIT", true),
        ("MIT AND X", false),
        ("MIT AND ISC", true),
        ("(X OR MIT) AND ISC", true),
        ("(X OR Y) AND ISC", false),
        ("X AND Y OR MIT", true),
        ("MIT WITH exception", false),
        ("MIT WITH exception OR ISC", true),
        ("MIT MIT", false),
        ("", false),
    ] {
        assert_eq!(Expression::allows(expression, &allowed), is_allowed, "{expression}");
    }
}

#[derive(Debug)]
struct Rules {
    licences: Vec<String>,
    banned: Vec<String>,
}

impl Rules {
    /// Reads `deny.toml`, of which this is no more than is needed: one list of licences in one line, and one crate a line.
    fn read(text: &str) -> Self {
        let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let quoted = |line: &str| line.split('"').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
        Self {
            licences: lines().filter(|line| line.starts_with("allow = [")).flat_map(quoted).collect(),
            banned: lines()
                .filter(|line| line.starts_with("{ crate = ") && !line.contains("wrappers"))
                .flat_map(quoted)
                .collect(),
        }
    }

    /// Why a package, as `cargo metadata` describes it, may not come in.
    fn refusal(&self, package: &Value) -> Option<String> {
        let name = package["name"].as_str().unwrap();
        if package["source"].is_null() {
            let mut wanted = package["dependencies"].as_array().unwrap().iter();
            let any = wanted.find(|dependency| dependency["req"] == "*" && dependency["source"].is_string())?;
            return Some(format!("{name} takes any version of {}", any["name"]));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        if package["source"] != REGISTRY {
            Some(format!("{name} comes from {}", package["source"]))
        } else if self.banned.iter().any(|banned| banned == name) {
            Some(format!("{name} is banned"))
        } else if !Expression::allows(licence, &self.licences) {
            Some(format!("{name} has the licence {licence:?}"))
        } else {
            None
        }
    }
}

/// What is left of a licence's SPDX expression, and what is allowed.
struct Expression<'a> {
    rest: std::iter::Peekable<std::vec::IntoIter<String>>,
    allowed: &'a [String],
}

impl<'a> Expression<'a> {
    fn allows(expression: &str, allowed: &'a [String]) -> bool {
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<String> = spaced.split_whitespace().map(String::from).collect();
        let mut expression = Self { rest: words.into_iter().peekable(), allowed };
        expression.one_of() && expression.rest.next().is_none()
    }

    fn one_of(&mut self) -> bool {
        let mut is_allowed = self.all_of();
        while self.rest.next_if(|word| word == "OR").is_some() {
            is_allowed |= self.all_of();
        }
        is_allowed
    }

    fn all_of(&mut self) -> bool {
        let mut is_allowed = self.single();
        while self.rest.next_if(|word| word == "AND").is_some() {
            is_allowed &= self.single();
        }
        is_allowed
    }

    fn single(&mut self) -> bool {
        if self.rest.next_if(|word| word == "(").is_some() {
            return self.one_of() & (self.rest.next().as_deref() == Some(")"));
        }
        let licence = self.rest.next().unwrap_or_default();
        let has_exception = self.rest.next_if(|word| word == "WITH").and_then(|_| self.rest.next()).is_some();
        !has_exception && self.allowed.contains(&licence)
    }
}

/// The packages that are built with ours: for this machine, and in CI for every one.
fn resolved() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--all-features"]).current_dir(root());
    if std::env::var_os("CI").is_none() {
        let rustc = Command::new("rustc").arg("-vV").output().unwrap();
        let version = String::from_utf8(rustc.stdout).unwrap();
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        cargo.args(["--filter-platform", host]);
    }
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let by_id = BTreeMap::from_iter(packages.iter().map(|package| (package["id"].to_string(), package)));
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| by_id[&node["id"].to_string()].clone()).collect()
}
