//! The programs of the README, as one file, and its tests.

#[rustfmt::skip]
#[expect(dead_code, reason = "its `main` and its server are not run")]
#[expect(unused_qualifications, reason = "each of its blocks stands for itself")]
mod program;

use listwatch_tests::readme::{blocks, text};
use std::path::Path;

fn file(path: &str) -> String {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(checkout.join(path)).unwrap()
}

/// `LISTWATCH_WRITE_TABLES=1` writes the programs.
#[test]
fn the_programs_of_the_readme_are_those_that_are_tested_here() {
    let readme = text();
    assert!(!readme.contains("```rust,"), "a program that is not built here");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readme/program.rs");
    let programs = blocks(&readme, "rust").join("\n");
    if std::env::var_os("LISTWATCH_WRITE_TABLES").is_some() {
        std::fs::write(path, programs).unwrap();
        return;
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), programs, "LISTWATCH_WRITE_TABLES=1 cargo test writes it anew");
}

#[test]
fn the_controller_of_the_readme_was_another_one_than_the_example() {
    let readme = text();
    let example = file("runtime-smol/examples/sample-controller.rs");
    let program = example.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
    // What the tests of the example need.
    let program = program.collect::<Vec<_>>().join("\n").replace("pub(crate) ", "");
    assert_eq!(blocks(&readme, "rust")[0].trim_end(), program);
}

#[test]
fn the_readme_says_how_the_command_is_installed_and_what_the_alias_is() {
    let readme = text();
    assert!(readme.contains("cargo install --locked --path runtime-smol/cli\n"));
    let aliases = file(".cargo/config.toml");
    assert!(
        aliases.contains("listwatch = \"run ") && readme.contains("`cargo listwatch` is an alias of this checkout")
    );
}
