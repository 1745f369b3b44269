//! Each dependency has a licence, a name and a source that `deny.toml` allows.
//!
//! `cargo deny check` reads the same file and knows published advisories besides, but takes minutes to install.

use crate::root;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

#[test]
fn every_dependency_has_a_licence_a_name_and_a_source_that_are_allowed() {
    let rules: Rules = toml::from_str(&fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap();
    assert!(!rules.licenses.allow.is_empty() && !rules.bans.deny.is_empty(), "{rules:?}");
    let packages = resolved();
    assert!(packages.len() > 50, "{} packages", packages.len());
    let serde = packages.iter().find(|package| package.described["name"] == "serde").unwrap();
    let registry = serde.described["source"].as_str().unwrap();
    assert!(registry.starts_with("registry+"), "{registry}");
    let found: Vec<String> = packages.iter().filter_map(|package| rules.refusal(package, registry)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_planted_dependency_that_is_not_allowed_is_found() {
    let rules: Rules = toml::from_str(
        "licenses.allow = ['MIT', 'ISC']\n\
         bans.deny = [{ crate = 'bad' }, { crate = 'wrapped', wrappers = ['listwatch-core'] }]",
    )
    .unwrap();
    const REGISTRY: &str = "registry+the one of serde";
    let refusal = |name: &str, source: Value, license: Value, requirement: &str, uses: &str| {
        let dependency = serde_json::json!({ "name": "another", "req": requirement, "source": REGISTRY });
        let package =
            serde_json::json!({ "name": name, "source": source, "license": license, "dependencies": [dependency] });
        rules.refusal(&Package { described: package, uses: [uses.to_owned()].into() }, REGISTRY).is_some()
    };
    let registry = || Value::from(REGISTRY);
    assert!(!refusal("good", registry(), "GPL-3.0-only OR MIT".into(), "^1", "another"));
    assert!(!refusal("good", registry(), "Unlicense/MIT".into(), "^1", "another"), "the slash of old packages");
    assert!(!refusal("listwatch-core", Value::Null, "Apache-2.0".into(), "^1", "wrapped"), "our own");
    assert!(refusal("good", registry(), "GPL-3.0-only".into(), "^1", "another"));
    assert!(refusal("good", registry(), "MIT AND GPL-3.0-only".into(), "^1", "another"));
    assert!(refusal("good", registry(), "MIT WITH LLVM-exception".into(), "^1", "another"));
    assert!(refusal("good", registry(), "my own".into(), "^1", "another"));
    assert!(refusal("good", registry(), Value::Null, "^1", "another"));
    assert!(refusal("good", registry(), "MIT".into(), "^1", "bad"));
    assert!(refusal("good", registry(), "MIT".into(), "^1", "wrapped"), "by another crate than its wrapper");
    assert!(refusal("good", "registry+another one".into(), "MIT".into(), "^1", "another"));
    assert!(refusal("good", "git+https://example.org/good".into(), "MIT".into(), "^1", "another"));
    assert!(refusal("listwatch-core", Value::Null, "Apache-2.0".into(), "*", "another"), "any version of another");
}

/// The part of `deny.toml` that is read here.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    /// The crates that may use it all the same.
    #[serde(default)]
    wrappers: Vec<String>,
}

/// A package that is built with ours.
struct Package {
    /// The description of `cargo metadata`.
    described: Value,
    /// The names of the packages that it uses.
    uses: BTreeSet<String>,
}

impl Rules {
    /// Why a package is refused, if it is. Packages of others come from `registry` alone.
    fn refusal(&self, package: &Package, registry: &str) -> Option<String> {
        let described = &package.described;
        let name = described["name"].as_str().unwrap();
        let is_banned =
            |ban: &&Ban| package.uses.contains(&ban.name) && !ban.wrappers.iter().any(|wrapper| wrapper == name);
        if let Some(ban) = self.bans.deny.iter().find(is_banned) {
            return Some(format!("{name} uses {}, which is banned", ban.name));
        }
        if described["source"].is_null() {
            let mut wanted = described["dependencies"].as_array().unwrap().iter();
            let any = wanted.find(|dependency| dependency["req"] == "*" && dependency["source"].is_string())?;
            return Some(format!("{name} takes any version of {}", any["name"]));
        }
        if described["source"] != registry {
            return Some(format!("{name} comes from {}", described["source"]));
        }
        let licence = described["license"].as_str().unwrap_or_default();
        (!self.allows(licence)).then(|| format!("{name} has the licence {licence:?}"))
    }

    /// Whether an SPDX expression is allowed.
    fn allows(&self, licence: &str) -> bool {
        let is_allowed = |required: &spdx::LicenseReq| {
            required.addition.is_none() && required.license.id().is_some_and(|id| self.licenses.allow.contains(id.name))
        };
        spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX)
            .is_ok_and(|expression| expression.evaluate(is_allowed))
    }
}

/// The packages that are built with ours: for this machine, and in CI for every platform.
fn resolved() -> Vec<Package> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--all-features"]).current_dir(root());
    if std::env::var_os("CI").is_none() {
        cargo.args(["--filter-platform", &host()]);
    }
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let by_id = BTreeMap::from_iter(packages.iter().map(|package| (package["id"].to_string(), package)));
    let name = |id: &Value| by_id[&id.to_string()]["name"].as_str().unwrap().to_owned();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let package = |node: &Value| Package {
        described: by_id[&node["id"].to_string()].clone(),
        uses: node["dependencies"].as_array().unwrap().iter().map(name).collect(),
    };
    nodes.iter().map(package).collect()
}

fn host() -> String {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(rustc.stdout).unwrap();
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}
