//! A program that prints lines until its input ends or it is told to end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The time after which a wait has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// It is killed when it is dropped.
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    complaints: Lines,
}

/// The lines of a pipe, which are read as they come, so that the program never waits for its reader.
struct Lines {
    coming: Receiver<String>,
    read: Vec<String>,
}

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (output, complaints) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { input: child.stdin.take(), output: Lines::of(output), complaints: Lines::of(complaints), child }
    }

    /// Waits for a line of the output that holds.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, holds: impl FnMut(&str) -> bool) -> String {
        let found = self.output.wait_for(holds);
        found.unwrap_or_else(|trouble| panic!("{trouble}; complaints: {:?}", self.complaints.rest()))
    }

    /// Waits for so many lines of the output.
    #[track_caller]
    pub(crate) fn wait_for_lines(&mut self, count: usize) {
        let mut missing = count;
        self.wait_for(|_| {
            missing -= 1;
            missing == 0
        });
    }

    /// Waits for a line of standard error that holds.
    #[track_caller]
    pub(crate) fn wait_for_complaint(&mut self, holds: impl FnMut(&str) -> bool) -> String {
        self.complaints.wait_for(holds).unwrap_or_else(|trouble| panic!("{trouble}"))
    }

    /// Ends its input, waits for its end, and returns all lines of its output.
    pub(crate) fn end_of_input(mut self) -> Vec<String> {
        drop(self.input.take());
        self.ended().0
    }

    /// Sends a signal, waits for its end, and returns all lines of its output, and of standard error.
    pub(crate) fn end_by(mut self, signal: &str) -> (ExitStatus, Vec<String>, Vec<String>) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let (output, complaints) = self.ended();
        (self.child.wait().unwrap(), output, complaints)
    }

    fn ended(&mut self) -> (Vec<String>, Vec<String>) {
        (self.output.rest(), self.complaints.rest())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _may_have_ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Lines {
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, coming) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { coming, read: Vec::new() }
    }

    fn wait_for(&mut self, mut holds: impl FnMut(&str) -> bool) -> Result<String, String> {
        loop {
            let line = match self.coming.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("nothing came in time after {:?}", self.read.last()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the end came after {:?}", self.read.last()));
                }
            };
            self.read.push(line.clone());
            if holds(&line) {
                return Ok(line);
            }
        }
    }

    /// All lines, up to the end.
    fn rest(&mut self) -> Vec<String> {
        while let Ok(line) = self.coming.recv_timeout(PATIENCE) {
            self.read.push(line);
        }
        std::mem::take(&mut self.read)
    }
}
