//! One run of the command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The status and the output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// `None` where a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command, built once, as these tests are.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "listwatch-cli"]).current_dir(checkout());
        assert!(cargo.env("CARGO_NET_OFFLINE", "true").status().unwrap().success(), "the command cannot be built");
        std::env::current_exe().unwrap().parent().unwrap().with_file_name("listwatch")
    })
}

/// The root of the workspace.
pub(crate) fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// The command with these arguments, and an empty standard input.
pub(crate) fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// `listwatch replay FILE`, with options that are separated by blanks.
pub(crate) fn replay(file: impl AsRef<Path>, options: &str) -> Run {
    let mut command = command(["replay"]);
    command.arg(file.as_ref()).args(options.split_whitespace());
    run(command)
}

pub(crate) fn run(mut command: Command) -> Run {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { status: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// A bundled capture.
pub(crate) fn bundled(name: &str) -> PathBuf {
    checkout().join("tests/data/captures").join(name)
}

impl Run {
    /// The output of a run that succeeded, with nothing on standard error.
    #[track_caller]
    pub(crate) fn output(self) -> String {
        assert_eq!((self.status, &*self.stderr), (Some(0), ""));
        self.stdout
    }
}
