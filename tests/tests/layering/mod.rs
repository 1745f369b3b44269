//! Imports go in one direction: between the modules of core, between the files of each crate, and between the packages.

mod circles;
mod crates;
mod dependencies;
mod paths;
mod sizes;
mod tokens;

use crate::root;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules of core from the bottom up, and what each may import: whole modules, or single items of one.
const MODULES: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("random", &["time"]),
    ("text", &[]),
    ("storage", &["time", "random"]),
    ("object", &["time", "random", "storage"]),
    ("framing", &[]),
    ("projection", &["text", "storage::Keyed", "storage::Versioned", "object::Version", "framing"]),
    ("request", &["time", "text", "object"]),
    ("transport", &["time", "text", "request"]),
    (
        "decode",
        &[
            "time",
            "text",
            "storage::Keyed",
            "storage::Reused",
            "storage::Versioned",
            "object",
            "framing",
            "projection",
            "request::Query",
            "transport::ResponseHead",
        ],
    ),
    ("queue", &["time", "random", "storage", "object"]),
    ("saved", &["time", "text", "object", "request", "decode", "transport::ResponseHead"]),
    ("api", &["time", "text", "random", "object", "request", "decode", "transport", "queue::Outcome"]),
    (
        "audit",
        &[
            "time",
            "text",
            "random",
            "object",
            "request",
            "api",
            "transport::TransportError",
            "transport::TransportErrorKind",
        ],
    ),
    ("change", &["text", "object::Meta", "object::MetaBuilder", "request::WITHHELD"]),
    ("definition", &["time", "text", "object", "change::without_nulls"]),
    (
        "election",
        &[
            "time",
            "random",
            "object::Version",
            "object::compare_versions",
            "request",
            "api",
            "transport::TransportError",
            "transport::TransportErrorKind",
        ],
    ),
    ("shards", &["time", "random", "object::Uid", "request", "api", "transport::TransportError", "election"]),
    (
        "recorder",
        &[
            "time",
            "text",
            "random",
            "object",
            "request",
            "api",
            "transport::TransportError",
            "transport::TransportErrorKind",
        ],
    ),
    ("fifo", &["time", "random", "storage", "object"]),
    ("fanout", &["time", "random", "storage", "object"]),
    ("sync", &["time", "random", "storage", "object", "queue"]),
    ("controller", &["time", "text", "random", "storage", "object", "change::apply_merge_patch", "queue", "sync"]),
    (
        "reflector",
        &[
            "time",
            "text",
            "random",
            "object",
            "request",
            "decode",
            "transport::ResponseHead",
            "transport::TransportError",
            "transport::TransportErrorKind",
        ],
    ),
    (
        "cache",
        &[
            "time",
            "random",
            "storage",
            "object",
            "decode::DecodeErrorOf",
            "fifo::Delta",
            "fanout",
            "sync",
            "reflector::FailureReport",
        ],
    ),
    (
        "informer",
        &[
            "time",
            "text",
            "storage",
            "object",
            "framing",
            "projection",
            "request",
            "decode",
            "transport",
            "fifo",
            "fanout",
            "cache",
            "sync",
            "reflector",
        ],
    ),
];

/// The macros of core, which Rust exports at its root, wherever they are defined.
const MACROS: &[&str] = &["kind", "projection"];

/// The packages, the folder of each, and which of the others each may depend on.
const PACKAGES: &[(&str, &str, &[&str])] = &[
    ("listwatch-core", "core", &[]),
    ("listwatch-transport-http", "transport-http", &["listwatch-core"]),
    ("listwatch-transport-file", "transport-file", &["listwatch-core"]),
    ("listwatch-simulated-cluster", "transport-file/cluster", &["listwatch-core", "listwatch-transport-file"]),
    (
        "listwatch",
        "runtime-smol",
        &[
            "listwatch-core",
            "listwatch-transport-http",
            "listwatch-transport-file",
            "listwatch-simulated-cluster",
            "listwatch-tests",
        ],
    ),
    ("listwatch-cli", "runtime-smol/cli", &["listwatch-core", "listwatch", "listwatch-tests"]),
    ("listwatch-stand-ins", "runtime-smol/stand-ins", &["listwatch"]),
    ("listwatch-explore", "runtime-smol/explore", &["listwatch", "listwatch-stand-ins"]),
    ("listwatch-webhooks", "runtime-smol/webhooks", &["listwatch-core", "listwatch", "listwatch-tests"]),
    (
        "listwatch-tests",
        "tests",
        &[
            "listwatch-core",
            "listwatch-transport-http",
            "listwatch-transport-file",
            "listwatch-simulated-cluster",
            "listwatch",
        ],
    ),
    (
        "listwatch-beside",
        "tests/beside",
        &[
            "listwatch-core",
            "listwatch-transport-http",
            "listwatch-transport-file",
            "listwatch-simulated-cluster",
            "listwatch-stand-ins",
            "listwatch-webhooks",
            "listwatch",
            "listwatch-tests",
        ],
    ),
    (
        "listwatch-benches",
        "tests/benches",
        &["listwatch-core", "listwatch-transport-http", "listwatch-transport-file", "listwatch", "listwatch-tests"],
    ),
    ("listwatch-kinds", "tests/kinds", &["listwatch"]),
    ("widget-operator", "tests/operator", &["listwatch", "listwatch-stand-ins", "listwatch-explore"]),
    ("listwatch-fuzz", "fuzz", &["listwatch-tests"]),
    ("listwatch-bare-metal", "tests/bare-metal", &["listwatch-core", "listwatch-transport-http"]),
];

/// Folders at the top that hold no package.
const OTHER_FOLDERS: &[&str] = &[".cargo", ".ci", ".git", ".github", "target"];

#[test]
fn a_module_of_core_imports_only_what_lies_below_it() {
    let root = root().join("core/src");
    let files = sources(&root);
    assert!(files.len() > MODULES.len(), "{} files in {}", files.len(), root.display());
    let found: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let module = module_of(&root, file);
            forbidden(&module, &fs::read_to_string(file).unwrap())
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_table_of_modules_itself_goes_in_one_direction() {
    for (place, (module, imports)) in MODULES.iter().enumerate() {
        for import in *imports {
            let imported = import.split("::").next();
            assert!(
                MODULES[..place].iter().any(|(below, _)| Some(*below) == imported),
                "{import} is not below {module}"
            );
        }
    }
}

#[test]
fn a_planted_import_is_found() {
    let findings = |module: &str, source: &str| forbidden(&[module.to_owned(), "part".to_owned()], source).len();
    assert_eq!(findings("decode", "use crate::{object::Key, reflector::Reflector};"), 1);
    assert_eq!(findings("decode", "fn f() { crate::queue::f() }"), 1);
    assert_eq!(findings("decode", "use super::super::sync::Shared;"), 1);
    assert_eq!(findings("reflector", "use crate::transport::ListerWatcher;"), 1);
    assert_eq!(findings("decode", "use crate::Instant;"), 1, "lib.rs re-exports from every layer");
    assert_eq!(findings("decode", "use crate::*;"), 1);
    assert_eq!(findings("unheard_of", "use crate::time::Instant;"), 1);

    assert_eq!(findings("decode", "use crate::time::Instant; use crate::framing::Framer; use super::*;"), 0);
    assert_eq!(findings("reflector", "use crate::transport::TransportError;"), 0);
}

#[test]
fn a_package_depends_only_on_what_lies_below_it() {
    let packages = packages();
    assert!(packages.len() > 1, "{packages:?}");
    let found: Vec<String> = packages.iter().flat_map(misplaced).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_planted_dependency_is_found() {
    let findings = |package: &str, kind: Value, optional: bool, dependency: &str| {
        let dependency = serde_json::json!({ "name": dependency, "kind": kind, "optional": optional });
        misplaced(&serde_json::json!({ "name": package, "dependencies": [dependency] })).len()
    };
    let normal = || Value::Null;
    assert_eq!(findings("listwatch-transport-http", normal(), false, "listwatch-transport-file"), 1);
    assert_eq!(findings("listwatch-transport-file", "dev".into(), false, "listwatch"), 1);
    assert_eq!(findings("listwatch-core", normal(), true, "listwatch-transport-http"), 1);
    assert_eq!(findings("listwatch-tests", normal(), false, "listwatch"), 1, "by default core alone");
    assert_eq!(findings("listwatch", normal(), true, "listwatch-tests"), 1, "in tests alone");
    assert_eq!(findings("listwatch-unheard-of", normal(), false, "serde"), 1);

    assert_eq!(findings("listwatch-tests", normal(), true, "listwatch"), 0);
    assert_eq!(findings("listwatch-tests", "dev".into(), false, "listwatch"), 0);
    assert_eq!(findings("listwatch", "dev".into(), false, "listwatch-tests"), 0);
    assert_eq!(findings("listwatch-transport-http", normal(), false, "listwatch-core"), 0);
    assert_eq!(findings("listwatch-core", "dev".into(), false, "listwatch-core"), 0, "itself, with its features");
    assert_eq!(findings("listwatch-core", normal(), false, "serde"), 0);
}

/// A crate or a module of that name would hide `::core`.
#[test]
fn nothing_is_named_core() {
    for package in packages() {
        let targets = package["targets"].as_array().unwrap();
        let names = targets.iter().chain([&package]).map(|named| named["name"].as_str().unwrap());
        assert!(!names.into_iter().any(|name| name == "core"), "{package}");
    }
    for (_, folder, _) in PACKAGES {
        for file in sources(&root().join(folder)) {
            let declared = paths::modules(&fs::read_to_string(&file).unwrap());
            assert!(!declared.iter().any(|module| module == "core"), "{}", file.display());
        }
    }
}

#[test]
fn the_top_level_has_no_other_folders() {
    let entries = root().read_dir().unwrap().map(Result::unwrap);
    for entry in entries.filter(|entry| entry.file_type().unwrap().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        let is_package = PACKAGES.iter().any(|(_, folder, _)| *folder == name);
        assert!(is_package || OTHER_FOLDERS.contains(&&*name), "{name}");
    }
}

/// What `source`, a file of `module`, names that its module may not.
fn forbidden(module: &[String], source: &str) -> Vec<String> {
    let Some(own) = module.first() else { return Vec::new() };
    let Some((_, allowed)) = MODULES.iter().find(|(name, _)| name == own) else {
        return vec![format!("{own} has no place in the order of modules")];
    };
    let may_name = |path: &[String]| {
        path.first() == Some(own)
            || matches!(path, [name] if MACROS.contains(&name.as_str()))
            || allowed.iter().any(|entry| entry.split("::").eq(path.iter().take(entry.split("::").count())))
    };
    let found = paths::named(module, source).into_iter().filter(|named| !may_name(&named.path));
    found.map(|named| format!("{}, line {}: crate::{}", module.join("::"), named.line, named.path.join("::"))).collect()
}

/// Which dependencies of a package, as `cargo metadata` describes it, it may not have.
fn misplaced(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap();
    let Some((_, _, allowed)) = PACKAGES.iter().find(|(known, ..)| *known == name) else {
        return vec![format!("{name} has no place in the order of packages")];
    };
    let may_have = |dependency: &Value| {
        let on = dependency["name"].as_str().unwrap();
        let by_default = dependency["kind"].is_null() && dependency["optional"] == false;
        let is_ours = on.starts_with("listwatch");
        // For its tests, a package may name itself, with the features that they need.
        let itself = on == name && dependency["kind"] == "dev";
        // Nobody who depends on one of us gets the tests with it.
        let private = on != "listwatch-tests" || name == "listwatch-fuzz" || dependency["kind"] == "dev";
        // The library of the tests is built into every fuzz target.
        let small = name != "listwatch-tests" || on == "listwatch-core" || !by_default;
        !is_ours || itself || (allowed.contains(&on) && small && private)
    };
    let dependencies = package["dependencies"].as_array().unwrap();
    let found = dependencies.iter().filter(|dependency| !may_have(dependency));
    found.map(|dependency| format!("{name} depends on {}", dependency["name"])).collect()
}

/// The packages of the workspace, of `fuzz` and of the firmware, as `cargo metadata` describes them.
fn packages() -> Vec<Value> {
    let manifests =
        ["Cargo.toml", "fuzz/Cargo.toml", "tests/bare-metal/Cargo.toml"].map(|manifest| root().join(manifest));
    manifests.iter().filter(|manifest| manifest.exists()).flat_map(|manifest| metadata(manifest)).collect()
}

fn metadata(manifest: &Path) -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let Value::Array(packages) = metadata["packages"].take() else { panic!("{metadata}") };
    packages
}

/// The Rust files below `folder`, in the order of their names; none where there is no such folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let found = entries.into_iter().flat_map(|entry| {
        let is_source = entry.extension().is_some_and(|extension| extension == "rs");
        if entry.is_dir() { sources(&entry) } else { Vec::from_iter(is_source.then_some(entry)) }
    });
    found.collect()
}

/// The path of the module that a file is; empty for the root.
fn module_of(root: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(root).unwrap().with_extension("");
    let parts = inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}
