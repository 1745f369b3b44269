//! Core needs no standard library, and in fixed memory no allocator either; neither does the exchange of HTTP/1.1. They
//! are compiled against a copy of the compiler's library folder that lacks them. A dependency that needs one fails there
//! too.

use listwatch_tests::cargo::cargo;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn core_needs_no_standard_library() {
    let sysroot = Sysroot::with("alloc", &["core", "alloc", "compiler_builtins"]);
    for features in ["alloc", "alloc,fixed", "json", "json,lz4,fixed,stream,embedded-io,critical-section,spin"] {
        sysroot.check(CORE, features).unwrap_or_else(|error| panic!("{features}: {error}"));
    }
    sysroot.must_lack("std");
}

#[test]
fn fixed_memory_needs_no_allocator() {
    let sysroot = Sysroot::with("bare", &["core", "compiler_builtins"]);
    for features in ["", "fixed", "fixed,embedded-io,critical-section,spin"] {
        sysroot.check(CORE, features).unwrap_or_else(|error| panic!("{features}: {error}"));
    }
    sysroot.must_lack("alloc");
}

#[test]
fn an_exchange_needs_neither() {
    let sysroot = Sysroot::with("exchange", &["core", "compiler_builtins"]);
    for features in ["", "embedded-io", "embedded-io-async", "embedded-io,embedded-io-async,listwatch-core/fixed"] {
        sysroot.check(HTTP, features).unwrap_or_else(|error| panic!("{features}: {error}"));
    }
    sysroot.check(HTTP, "embedded-io,listwatch-core/json").expect_err("an informer on the heap");
}

#[test]
fn a_source_over_http_needs_no_standard_library() {
    let sysroot = Sysroot::with("source", &["core", "alloc", "compiler_builtins"]);
    for features in ["embedded-io,listwatch-core/json", "embedded-io-async,listwatch-core/json"] {
        sysroot.check(HTTP, features).unwrap_or_else(|error| panic!("{features}: {error}"));
    }
}

const CORE: &str = "listwatch-core";
const HTTP: &str = "listwatch-transport-http";

/// A folder like the compiler's own, with some of its libraries only.
struct Sysroot {
    host: String,
    folder: PathBuf,
}

impl Sysroot {
    fn with(name: &str, libraries: &[&str]) -> Self {
        let version = rustc(&["-vV"]);
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_std").join(name);
        let links = folder.join("lib/rustlib").join(&host).join("lib");
        // The links of an earlier run may lead to another compiler.
        drop(fs::remove_dir_all(&links));
        fs::create_dir_all(&links).unwrap();
        for entry in Path::new(rustc(&["--print", "target-libdir"]).trim()).read_dir().unwrap() {
            let file = entry.unwrap();
            let name = file.file_name().into_string().unwrap();
            if libraries.iter().any(|library| name.starts_with(&format!("lib{library}-"))) {
                symlink(file.path(), links.join(name)).unwrap();
            }
        }
        Self { host, folder }
    }

    /// Checks a package with these features; what the compiler says if it cannot be.
    fn check(&self, package: &str, features: &str) -> Result<(), String> {
        let mut cargo = cargo();
        cargo.args(["check", "--quiet", "--lib", "--package", package]);
        // With a target named, the flags are for its crates alone: build scripts and macros keep the whole library.
        cargo.args(["--no-default-features", "--features", features, "--target", &self.host]);
        cargo.arg("--target-dir").arg(self.folder.join("target"));
        cargo.env("CARGO_ENCODED_RUSTFLAGS", format!("--sysroot={}", self.folder.display()));
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    /// The proof of the proof: core with the feature of this library, which names it, is refused.
    fn must_lack(&self, library: &str) {
        let error = self.check(CORE, library).expect_err(library);
        assert!(error.contains(&format!("can't find crate for `{library}`")), "{error}");
    }
}

fn rustc(arguments: &[&str]) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
