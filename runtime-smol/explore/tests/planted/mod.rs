//! The examples and the port are clean, and the faults that are planted in them are found.

pub(crate) mod explorations;

use crate::{finalizer, leader_election, restart_on_configmap_change, sample_controller, workqueue};
use core::time::Duration;
use explorations::{of_counter, of_folders, of_pods, of_port, of_restart, of_sample};
use listwatch::World;
use listwatch::election::Election;
use listwatch_explore::Plan;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The runs of a clean program: `LISTWATCH_RUNS=10000` for all.
fn runs() -> usize {
    env::var("LISTWATCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(100)
}

#[test]
fn the_sample_controller_with_two_foos_is_clean() {
    of_sample(sample_controller::sample).run(runs()).unwrap();
}

#[test]
fn the_finalizer_is_clean() {
    of_folders(finalizer::folders).run(runs()).unwrap();
}

#[test]
fn the_restarts_are_clean() {
    of_restart(restart_on_configmap_change::restart).run(runs()).unwrap();
}

#[test]
fn the_work_queue_is_clean() {
    of_pods(|world, tell, end| workqueue::follow(world, |key, pod| tell(key, pod.is_some()), end)).run(runs()).unwrap();
}

#[test]
#[ignore = "it takes minutes"]
fn the_counter_is_clean() {
    let count = |world: World| leader_election::count(world, "web", Election::new("counter"), Duration::from_secs(1));
    of_counter(count).run(runs()).unwrap();
}

#[test]
fn the_port_is_clean() {
    of_port!(crate::ports).run(runs()).unwrap();
}

#[test]
fn the_port_keeps_no_role_whose_name_changes_while_it_is_down() {
    let plan = Plan::parse(NAMELESS).unwrap();
    of_port!(crate::ports).replay(&plan).unwrap();
}

/// The role `shop-group` is made, and the Postgres has another name for it when the program is back.
const NAMELESS: &str = "CALL postgres CREATE DATABASE \"shop\" 1: killed before, back later";

/// `cargo test -p listwatch-explore -- --ignored --nocapture planted` builds the 40 programs with a fault each, and
/// explores them. A plan that fails the program without the fault too is no proof.
#[test]
#[ignore = "it builds 40 programs"]
fn most_of_the_planted_faults_are_found() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("planted");
    plant(&folder);
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let ran = Command::new(cargo).args(["run", "--offline", "-q"]).current_dir(&folder).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    println!("{text}");
    assert!(ran.status.success(), "{errors}");
    let count = |verdict: &str| text.lines().filter(|line| line.starts_with(verdict)).count();
    assert!(
        count("found ") >= 34,
        "{} of 40 are found, and {} are told without a proof",
        count("found "),
        count("no proof ")
    );
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap()
}

/// Writes a program that has each program with its fault as a module, and each without one.
fn plant(folder: &Path) {
    let source = folder.join("src");
    _ = fs::remove_dir_all(&source);
    fs::create_dir_all(&source).unwrap();
    let (mut known, mut modules, mut calls) = (BTreeSet::new(), String::new(), String::new());
    let mut patches: Vec<PathBuf> = fs::read_dir(checkout().join("runtime-smol/tests/faults"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    patches.retain(|path| path.extension().is_some_and(|end| end == "patch"));
    patches.sort();
    for patch in patches {
        let name = patch.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&patch).unwrap();
        let file = text.lines().find_map(|line| line.strip_prefix("--- a/")).unwrap();
        let (module, clean) = (format!("p{}", &name[..2]), without_fault(file));
        writeln!(calls, "    told({name:?}, {}, explored_{clean});", exploration(&clean, &module)).unwrap();
        place(&source, &module, file, Some(&patch));
        writeln!(modules, "mod {module};").unwrap();
        if known.insert(clean.clone()) {
            place(&source, &clean, file, None);
            let explored = exploration(&clean, &clean);
            writeln!(modules, "mod {clean};\nfn explored_{clean}() -> Exploration<impl Send + Sync> {{ {explored} }}")
                .unwrap();
        }
    }
    let main = format!("#![allow(warnings)]\nmod explorations;\n{modules}{MAIN}fn main() {{\n{calls}}}\n");
    fs::write(source.join("main.rs"), main).unwrap();
    fs::copy(checkout().join("runtime-smol/explore/tests/planted/explorations.rs"), source.join("explorations.rs"))
        .unwrap();
    fs::copy(checkout().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let root = checkout().display();
    fs::write(folder.join("Cargo.toml"), MANIFEST.replace("ROOT", &root.to_string())).unwrap();
}

/// The module of a program without a fault.
fn without_fault(file: &str) -> String {
    if file.contains("/ports/") {
        return "port".to_owned();
    }
    Path::new(file).file_stem().unwrap().to_str().unwrap().replace('-', "_")
}

/// The file, with its fault if there is one, and those beside it.
fn place(source: &Path, module: &str, file: &str, patch: Option<&Path>) {
    let folder = source.join(module);
    let original = Path::new(file).parent().unwrap();
    fs::create_dir_all(folder.join(original)).unwrap();
    for entry in fs::read_dir(checkout().join(original)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "rs") {
            fs::copy(&path, folder.join(original).join(path.file_name().unwrap())).unwrap();
        }
    }
    patch.into_iter().for_each(|patch| apply(patch, &folder));
    let mut root = String::new();
    if file.contains("/ports/") {
        for name in ["postgres_kinds", "postgres_operator", "postgres_server", "postgres_sql"] {
            let text = fs::read_to_string(folder.join(original).join(format!("{name}.rs"))).unwrap();
            fs::write(folder.join(format!("{name}.rs")), text.replace("crate::ports::", &format!("crate::{module}::")))
                .unwrap();
            writeln!(root, "pub(crate) mod {name};").unwrap();
        }
    } else {
        fs::copy(folder.join(file), folder.join("program.rs")).unwrap();
        root.push_str("mod program;\npub(crate) use program::*;\n");
    }
    fs::write(folder.join("mod.rs"), root).unwrap();
}

fn apply(patch: &Path, folder: &Path) {
    let git = Command::new("git")
        .args(["apply", "--unsafe-paths"])
        .arg(patch)
        .current_dir(folder)
        .env("GIT_DIR", "/nowhere")
        .output();
    let applied = git.unwrap();
    assert!(applied.status.success(), "{}: {}", patch.display(), String::from_utf8_lossy(&applied.stderr));
}

/// The exploration of a program that is in this module.
fn exploration(program: &str, module: &str) -> String {
    match program {
        "sample_controller" => format!("explorations::of_sample(|world| {module}::sample(world))"),
        "finalizer" => format!("explorations::of_folders(|world, root| {module}::folders(world, root))"),
        "restart_on_configmap_change" => format!("explorations::of_restart(|world| {module}::restart(world))"),
        "leader_election" => format!(
            "explorations::of_counter(|world| {module}::count(world, \"web\", listwatch::election::Election::new(\"counter\"), \
             std::time::Duration::from_secs(1)))"
        ),
        "workqueue" => format!(
            "explorations::of_pods(|world, tell, end| {module}::follow(world, |key, pod| tell(key, pod.is_some()), end))"
        ),
        _ => format!("explorations::of_port!(crate::{module})"),
    }
}

const MAIN: &str = r#"
use listwatch_explore::{Exploration, Fault};

/// Explores a program with a fault. What it shows is a proof, if the program without the fault bears the same.
fn told<S: Send + Sync + 'static, C: Send + Sync + 'static>(
    name: &str,
    planted: Exploration<S>,
    clean: impl Fn() -> Exploration<C>,
) {
    let Err(failure) = planted.run(1_000) else { return println!("missed {name}") };
    let told = format!("{name}: in run {}, {}: {}", failure.run, failure.plan, failure.fault);
    match clean().replay(&failure.plan) {
        Err(clean) if !matches!(clean.fault, Fault::NotReached(_)) => println!("no proof {told}\n    without it: {}", clean.fault),
        _ => println!("found {told}"),
    }
}

"#;

const MANIFEST: &str = r#"[package]
name = "planted"
version = "0.0.0"
edition = "2024"

[workspace]

[profile.dev]
opt-level = 1
debug = false
lto = "off"

[dependencies]
listwatch = { path = "ROOT/runtime-smol", features = ["testing"] }
listwatch-explore = { path = "ROOT/runtime-smol/explore" }
base64 = "0.23"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
smol = "2"
"#;
