//! A run of the command that goes on until it is told to end.

use crate::command::{Run, command};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
#[cfg(unix)]
use std::time::{Duration, Instant};

/// The options that make every change one line.
pub(crate) const EVENTS: &str = "--print events --format json";

/// It ends by itself after two minutes, so a test that waits for it ends too.
pub(crate) struct Following {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    read: String,
    complaints: String,
}

/// A run that is asked for its end as soon as it has complained of something.
#[track_caller]
pub(crate) fn until_it_complains(arguments: &str) -> Run {
    let mut following = Following::start(arguments.split_whitespace());
    following.read_complaint();
    following.end_by("-INT")
}

impl Following {
    pub(crate) fn start(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = command(arguments);
        command.args(["--for", "2m"]).stdout(Stdio::piped());
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stdout, stderr, read: String::new(), complaints: String::new() }
    }

    /// Reads so many lines.
    #[track_caller]
    pub(crate) fn read_lines(&mut self, lines: usize) {
        for _ in 0..lines {
            let length = self.stdout.read_line(&mut self.read).unwrap();
            assert!(length > 0, "it ended before it told {lines} lines");
        }
    }

    /// Reads a line of standard error.
    #[track_caller]
    pub(crate) fn read_complaint(&mut self) {
        let length = self.stderr.read_line(&mut self.complaints).unwrap();
        assert!(length > 0, "it ended before it complained");
    }

    /// The lines that were read up to now.
    pub(crate) fn told(&self) -> impl Iterator<Item = Value> {
        self.read.lines().map(|line| serde_json::from_str(line).unwrap())
    }

    /// Ends it as a user does, or the system.
    pub(crate) fn end_by(mut self, signal: &str) -> Run {
        self.send(signal);
        self.stdout.read_to_string(&mut self.read).unwrap();
        self.ended()
    }

    /// Ends it by this signal, and reads its output only after the end.
    #[cfg(unix)]
    pub(crate) fn end_unread_by(mut self, signal: &str) -> Run {
        self.send(signal);
        self.child.wait().unwrap();
        self.stdout.read_to_string(&mut self.read).unwrap();
        self.ended()
    }

    /// Ends it by this signal, and reads its output in small pieces. Returns the longest time that two reads in a row and
    /// their pauses took: a write of the command may wait for both.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "another process keeps its own time")]
    pub(crate) fn end_slowly_by(mut self, signal: &str, bytes: u64, pause: Duration) -> (Run, Duration) {
        self.send(signal);
        let mut begun = [Instant::now(); 2];
        let mut longest = Duration::ZERO;
        while self.stdout.by_ref().take(bytes).read_to_string(&mut self.read).unwrap() > 0 {
            std::thread::sleep(pause);
            longest = longest.max(begun[0].elapsed());
            begun = [begun[1], Instant::now()];
        }
        (self.ended(), longest)
    }

    /// The same, where it may have ended by itself.
    pub(crate) fn end_if_it_goes_on_by(mut self, signal: &str) -> Run {
        let _has_ended =
            Command::new("kill").args([signal, &self.child.id().to_string()]).stderr(Stdio::null()).status();
        self.stdout.read_to_string(&mut self.read).unwrap();
        self.ended()
    }

    fn send(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    /// Asks again and again for its end, and reads nothing more.
    #[cfg(unix)]
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "another process keeps its own time")]
    pub(crate) fn insist_by(mut self, signal: &str) -> std::process::ExitStatus {
        for _ in 0..1_200 {
            let _may_be_gone = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
            std::thread::sleep(Duration::from_millis(50));
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
        }
        self.child.kill().unwrap();
        panic!("it does not end");
    }

    /// Closes its standard output.
    pub(crate) fn close_output(self) -> Run {
        self.ended()
    }

    fn ended(self) -> Run {
        let Self { mut child, stdout, mut stderr, read, mut complaints } = self;
        drop(stdout);
        stderr.read_to_string(&mut complaints).unwrap();
        Run { status: child.wait().unwrap().code(), stdout: read, stderr: complaints }
    }
}
