//! Programs that Go builds for suites, each once a run; Go keeps what they are built of in its own cache.

use crate::skipped::skip;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// client-go's informers and election, as a program; `None`, loudly, where there is no Go.
pub fn client_go() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| build(&["build"], "peers/client-go", ".", "listwatch-client-go")).as_deref()
}

/// Builds the program `name` of `package` in the folder `module` of the tests, by `go build` or `go test -c`. `None`, loudly,
/// where there is no Go to build it with.
///
/// # Panics
/// Where it cannot be built, and where `CI` is set and there is no Go.
#[must_use]
pub fn build(command: &[&str], module: &str, package: &str, name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(module);
    // The folder of the running test's target directory: out of the source, and kept between runs.
    let test = std::env::current_exe().ok()?;
    let program = test.parent()?.join(name);
    // Another run may start the program, or build it, too.
    let built = program.with_extension(std::process::id().to_string());
    let mut build = Command::new("go");
    build.current_dir(&source).args(command).args(["-trimpath", "-ldflags=-s -w", "-o"]).arg(&built).arg(package);
    match build.status() {
        Ok(status) => {
            let source = source.display();
            assert!(
                status.success(),
                "{name} cannot be built: `go {}` in {source} ends with {status}",
                command.join(" ")
            );
            std::fs::rename(&built, &program).unwrap_or_else(|error| panic!("{name} cannot be renamed: {error}"));
            Some(program)
        }
        Err(error) => {
            skip(format_args!("what needs {name}"), format_args!("Go builds it, and `go` does not run: {error}"));
            None
        }
    }
}
