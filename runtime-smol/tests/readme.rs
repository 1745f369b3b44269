//! The programs of the README, pasted into a fresh crate as a reader does it.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "watch/server.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod server;

use server::{Answer, Server, refusal};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},
    "items":[{"metadata":{"name":"web-1","namespace":"n","resourceVersion":"1"}}]}"#;

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The text of each block of this language.
fn blocks<'a>(readme: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    readme.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A crate that is gone when the test is over, in a folder where the checkout is beside it.
struct Fresh(PathBuf);

impl Fresh {
    fn new(dependencies: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("listwatch-readme-{}", std::process::id()));
        let fresh = Self(folder);
        fs::create_dir_all(fresh.package().join("src")).unwrap();
        std::os::unix::fs::symlink(checkout(), fresh.0.join("listwatch")).unwrap();
        let head = "[package]\nname = \"readme-watcher\"\nedition = \"2024\"\n\n";
        fs::write(fresh.package().join("Cargo.toml"), format!("{head}{dependencies}")).unwrap();
        // The versions that are there, so that nothing is to be fetched.
        fs::copy(checkout().join("Cargo.lock"), fresh.package().join("Cargo.lock")).unwrap();
        fresh
    }

    fn package(&self) -> PathBuf {
        self.0.join("watcher")
    }

    /// Builds a program, and returns how it is run as `cargo run` does it.
    #[track_caller]
    fn build(&self, program: &str) -> Command {
        fs::write(self.package().join("src/main.rs"), program).unwrap();
        // The folder and the profile of the workspace: what it depends on is built already.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--quiet"]).current_dir(self.package()).env("CARGO_TARGET_DIR", target);
        cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "2").env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        let built = cargo.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let mut run = Command::new(target.join("debug/readme-watcher"));
        run.current_dir(self.package());
        run
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _stays_in_the_temporary_folder = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_programs_of_the_readme_could_not_be_pasted() {
    let readme = fs::read_to_string(checkout().join("README.md")).unwrap();
    assert!(!readme.contains("```rust,"), "a program that is not built here");
    let ([dependencies], [playback, cluster, controller]) =
        (&blocks(&readme, "toml")[..], &blocks(&readme, "rust")[..])
    else {
        panic!("not one list of dependencies and three programs")
    };
    let fresh = Fresh::new(dependencies);

    let played = fresh.build(playback).output().unwrap();
    let printed = String::from_utf8(played.stdout).unwrap();
    assert!(played.status.success() && readme.contains(&format!("It prints `{}`", printed.trim_end())), "{printed:?}");

    let server = Server::of(|path| match path {
        path if path.contains("sendInitialEvents") => refusal(422, "Invalid", "no watch-list here"),
        path if path.contains("watch=") => Answer::Silence,
        _ => Answer::json(200, LIST),
    });
    let config = fresh.0.join("kubeconfig");
    let cluster_and_user = format!("clusters: [{{name: c, cluster: {{server: '{}'}}}}]", server.url);
    let context = "contexts: [{name: x, context: {cluster: c}}], current-context: x";
    fs::write(&config, format!("{{{cluster_and_user}, {context}}}")).unwrap();
    let mut told = first_lines(fresh.build(cluster).env("KUBECONFIG", &config), 2);
    told.sort();
    assert_eq!(told, ["n/web-1", "synced"]);
    let told = first_lines(fresh.build(controller).env("KUBECONFIG", &config), 1);
    assert!(told[0].starts_with("n/web-1 has 0 pods; it was woken by [(Cause {"), "{told:?}");
}

/// The first lines that a program prints, which is then killed.
fn first_lines(program: &mut Command, count: usize) -> Vec<String> {
    let mut program = program.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.take(count).collect();
    program.kill().unwrap();
    program.wait().unwrap();
    told
}

#[test]
fn the_readme_says_how_the_command_is_installed_and_what_the_alias_is() {
    let readme = fs::read_to_string(checkout().join("README.md")).unwrap();
    assert!(readme.contains("cargo install --locked --path runtime-smol --features cli\n"));
    let aliases = fs::read_to_string(checkout().join(".cargo/config.toml")).unwrap();
    assert!(
        aliases.contains("listwatch = \"run ") && readme.contains("`cargo listwatch` is an alias of this checkout")
    );
}
