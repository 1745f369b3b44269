//! One run of the command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The status and the output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// `None` where a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command with these arguments, and an empty standard input.
pub(crate) fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(crate::program());
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn listwatch(arguments: &str) -> Run {
    run(command(arguments.split_whitespace()))
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/captures").join(name)
}

/// What a line on standard error says about a long run, behind its date.
#[track_caller]
pub(crate) fn reported(line: &str) -> &str {
    let dated = line.strip_prefix("listwatch: ").and_then(|rest| rest.split_once("Z "));
    let (date, message) = dated.unwrap_or_else(|| panic!("no date: {line}"));
    assert!(date.len() == 19 && date.starts_with("20") && date.contains('T'), "no date: {line}");
    message
}

impl Run {
    /// The output of a run that succeeded, with nothing on standard error.
    #[track_caller]
    pub(crate) fn output(self) -> String {
        assert_eq!((self.status, &*self.stderr), (Some(0), ""));
        self.stdout
    }

    /// The one line on standard error, of a run that ended with `status`.
    #[track_caller]
    pub(crate) fn error(&self, status: i32) -> &str {
        let Self { stderr, .. } = self;
        assert_eq!(self.status, Some(status), "{stderr}");
        assert!(stderr.ends_with('\n') && stderr.lines().count() == 1, "not one line: {stderr:?}");
        stderr.trim_end().strip_prefix("listwatch: ").unwrap_or_else(|| panic!("no `listwatch: `: {stderr}"))
    }
}
