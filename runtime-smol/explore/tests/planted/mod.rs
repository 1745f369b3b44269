//! The examples and the port are clean, and the faults that are planted in them are found.

pub(crate) mod explorations;

use crate::{finalizer, leader_election, restart_on_configmap_change, sample_controller};
use core::time::Duration;
use explorations::{of_counter, of_folders, of_port, of_restart, of_sample};
use listwatch::election::Election;
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
    // A server that lags has a Folder that is gone, and a replica that stood still makes the directory of one.
    let exploration = of_folders(finalizer::folders);
    // A Folder that is deleted while the program is down gets no status. The wait for the definition ends by a denial.
    let exploration = exploration.may_vary("example.com/v1/folders web/b status");
    let exploration = exploration.without("forbidden").without("behind");
    exploration.without("paused").without("paused-long").run(runs()).unwrap();
}

#[test]
fn the_restarts_are_clean() {
    // Without an election, a replica that stood still restarts pods by the data that it knew, and so does one that a server
    // shows older data.
    let exploration = of_restart(restart_on_configmap_change::restart);
    exploration.without("behind").without("paused").without("paused-long").run(runs()).unwrap();
}

#[test]
#[ignore = "it takes minutes"]
fn the_counter_is_clean() {
    let count = |world: listwatch::World| {
        leader_election::count(world, "web", Election::new("counter"), Duration::from_secs(1))
    };
    of_counter(count).run(runs()).unwrap();
}

#[test]
fn the_port_loses_a_role_that_is_renamed_while_it_is_down() {
    let failure = of_port!(crate::ports).run(1_000).expect_err("the role is made before its name is noted");
    assert!(failure.to_string().contains("shop-group"), "{failure}");
}

/// `cargo test -p listwatch-explore -- --ignored --nocapture planted` builds the 40 programs with a fault each, and
/// explores them.
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
    let found = text.lines().filter(|line| line.starts_with("found ")).count();
    assert!(found >= 34, "{found} of 40 are found");
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap()
}

/// Writes a program that has each program with its fault as a module.
fn plant(folder: &Path) {
    let source = folder.join("src");
    _ = fs::remove_dir_all(&source);
    fs::create_dir_all(&source).unwrap();
    let (mut modules, mut calls) = (String::new(), String::new());
    let mut patches: Vec<PathBuf> = fs::read_dir(checkout().join("runtime-smol/tests/faults"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    patches.retain(|path| path.extension().is_some_and(|end| end == "patch"));
    patches.sort();
    for patch in patches {
        let name = patch.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = format!("p{}", &name[..2]);
        let text = fs::read_to_string(&patch).unwrap();
        let file = text.lines().find_map(|line| line.strip_prefix("--- a/")).unwrap().to_owned();
        let Some(call) = call(&file, &module) else { continue };
        writeln!(modules, "mod {module};").unwrap();
        writeln!(calls, "    told({name:?}, {call});").unwrap();
        place(&source, &module, &patch, &file);
    }
    let main = format!("#![allow(warnings)]\nmod explorations;\n{modules}{MAIN}fn main() {{\n{calls}}}\n");
    fs::write(source.join("main.rs"), main).unwrap();
    fs::copy(checkout().join("runtime-smol/explore/tests/planted/explorations.rs"), source.join("explorations.rs"))
        .unwrap();
    fs::copy(checkout().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let root = checkout().display();
    fs::write(folder.join("Cargo.toml"), MANIFEST.replace("ROOT", &root.to_string())).unwrap();
}

/// The file with its fault, and those beside it.
fn place(source: &Path, module: &str, patch: &Path, file: &str) {
    let folder = source.join(module);
    let original = Path::new(file).parent().unwrap();
    fs::create_dir_all(folder.join(original)).unwrap();
    for entry in fs::read_dir(checkout().join(original)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "rs") {
            fs::copy(&path, folder.join(original).join(path.file_name().unwrap())).unwrap();
        }
    }
    let applied = Command::new("git")
        .args(["apply", "--unsafe-paths"])
        .arg(patch)
        .current_dir(&folder)
        .env("GIT_DIR", "/nowhere")
        .output();
    let applied = applied.unwrap();
    assert!(applied.status.success(), "{}: {}", patch.display(), String::from_utf8_lossy(&applied.stderr));
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

/// The exploration of a program. The one of the work queue writes nothing, and its follower has an end of its own.
fn call(file: &str, module: &str) -> Option<String> {
    let program = Path::new(file).file_stem()?.to_str()?;
    Some(match program {
        "sample-controller" => format!("explorations::of_sample(|world| {module}::sample(world)).run(1_000)"),
        "finalizer" => format!(
            "explorations::of_folders(|world, root| {module}::folders(world, root)).without(\"behind\").without(\"paused\")\
             .without(\"paused-long\").run(1_000)"
        ),
        "restart-on-configmap-change" => {
            format!("explorations::of_restart(|world| {module}::restart(world)).run(1_000)")
        }
        "leader-election" => format!(
            "explorations::of_counter(|world| {module}::count(world, \"web\", listwatch::election::Election::new(\"counter\"), \
             std::time::Duration::from_secs(1))).run(1_000)"
        ),
        "workqueue" => return None,
        _ => format!("explorations::of_port!(crate::{module}).run(1_000)"),
    })
}

const MAIN: &str = r#"
fn told(name: &str, explored: Result<listwatch_explore::Explored, Box<listwatch_explore::Failure>>) {
    match explored {
        Ok(_) => println!("missed {name}"),
        Err(failure) => println!("found {name}: in run {}, {}: {}", failure.run, failure.plan, failure.fault),
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

[dependencies]
listwatch = { path = "ROOT/runtime-smol", features = ["testing"] }
listwatch-explore = { path = "ROOT/runtime-smol/explore" }
base64 = "0.23"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
smol = "2"
"#;
