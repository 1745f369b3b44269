//! The programs of the README and of its pages, pasted into a fresh crate as a reader does it, with the dependencies that it names.

use crate::{checkout, profile, target_folder};
use listwatch_tests::cargo::cargo;
use listwatch_tests::readme::{blocks, page, text};
use std::fs;
use std::path::{Path, PathBuf};

/// A crate that is gone when the test is over, in a folder where the checkout is beside it.
struct Fresh(PathBuf);

impl Fresh {
    fn new(dependencies: &str) -> Self {
        // Always the same folder: cargo builds the checkout anew for each path that it is found at.
        let fresh = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme"));
        let _is_not_there = fs::remove_dir_all(&fresh.0);
        fs::create_dir_all(fresh.package().join("src")).unwrap();
        std::os::unix::fs::symlink(checkout(), fresh.0.join("listwatch")).unwrap();
        let head = "[workspace]\n\n[package]\nname = \"readme-watcher\"\nedition = \"2024\"\n\n";
        let manifest = format!("{head}{dependencies}\n{}", profile());
        fs::write(fresh.package().join("Cargo.toml"), manifest).unwrap();
        // The versions of the checkout.
        fs::copy(checkout().join("Cargo.lock"), fresh.package().join("Cargo.lock")).unwrap();
        fresh
    }

    fn package(&self) -> PathBuf {
        self.0.join("watcher")
    }

    /// Runs the tests of a program, and returns what cargo prints.
    #[track_caller]
    fn test(&self, program: &str) -> String {
        fs::write(self.package().join("src/main.rs"), program).unwrap();
        // In the folder of the workspace, what it depends on is built already.
        let mut cargo = cargo();
        cargo.args(["test", "--quiet"]).current_dir(self.package()).env("CARGO_TARGET_DIR", target_folder());
        let tested = cargo.output().unwrap();
        let printed = String::from_utf8_lossy(&tested.stdout).into_owned();
        assert!(tested.status.success(), "{printed}\n{}", String::from_utf8_lossy(&tested.stderr));
        printed
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _stays_until_the_next_run = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_programs_of_the_readme_can_be_pasted() {
    let (readme, operate) = (text(), page("runtime-smol/src/guide/operate.md"));
    assert!(!readme.contains("```rust,"), "a program that is not built here");
    // The other list of the page is for spans, which a test of `tests/kinds` sends.
    let ([dependencies], [operated, _spans]) = (&blocks(&readme, "toml")[..], &blocks(&operate, "toml")[..]) else {
        panic!("one list of dependencies in the README, and two on the page")
    };
    // One build of the library for both.
    assert_eq!(operated.replace(", features = [\"endpoint\", \"tracing\"]", ""), *dependencies);
    let fresh = Fresh::new(operated);
    let printed = fresh.test(&blocks(&readme, "rust").join("\n"));
    assert!(printed.contains("test result: ok. 3 passed"), "{printed}");
    let [operated] = blocks(&operate, "rust,no_run")[..] else { panic!("not one program") };
    let printed = fresh.test(operated);
    assert!(printed.contains("test result: ok. 0 passed"), "{printed}");
}
