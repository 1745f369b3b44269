//! `listwatch serve` on a port of its own.

use crate::command::{bundled, command};
use crate::serve::child::Program;
use serde_json::Value;
use std::path::Path;

/// A server, which ends with this.
pub(crate) struct Serving {
    program: Program,
    pub(crate) url: String,
    /// The lines that it printed.
    pub(crate) greeting: Vec<String>,
}

/// An answer in short.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Serving {
    /// Serves a bundled capture, with options that are separated by blanks.
    pub(crate) fn capture(name: &str, options: &str) -> Self {
        Self::file(bundled(&format!("{name}.jsonl.gz")), options)
    }

    pub(crate) fn file(file: impl AsRef<Path>, options: &str) -> Self {
        let mut command = command(["serve", "--port", "0"]);
        command.arg(file.as_ref()).args(options.split_whitespace());
        let mut program = Program::start(command);
        let mut greeting = Vec::new();
        let last = program.wait_for(|line| {
            greeting.push(line.to_owned());
            line.starts_with("  kubectl -s ")
        });
        let url = last.split_whitespace().nth(2).unwrap().to_owned();
        Self { program, url, greeting }
    }

    /// Waits until the recording has ended, and returns what is said of it.
    #[track_caller]
    pub(crate) fn wait_for_the_end(&mut self) -> String {
        self.program.wait_for_complaint(|line| line.contains("stay"))
    }

    /// The first line of standard error.
    #[track_caller]
    pub(crate) fn complaint(&mut self) -> String {
        self.program.wait_for_complaint(|_| true)
    }

    /// Ends it, and returns its exit status.
    pub(crate) fn end_by(self, signal: &str) -> Option<i32> {
        self.program.end_by(signal).0.code()
    }

    /// The address without the scheme.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub(crate) fn get(&self, target: &str) -> Answered {
        self.send("GET", target, "application/json", None)
    }

    pub(crate) fn send(&self, method: &str, target: &str, accept: &str, body: Option<Value>) -> Answered {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.address(),
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" },
            body.len()
        );
        self.exchange(&format!("{head}{body}"))
    }

    /// Sends a whole request, and reads a whole answer.
    pub(crate) fn exchange(&self, request: &str) -> Answered {
        let answer = self.raw(request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answered { status, body: serde_json::from_str(body).unwrap_or_else(|_| body.into()) }
    }

    pub(crate) fn raw(&self, request: &[u8]) -> String {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(crate::serve::child::PATIENCE)).unwrap();
        // A server that refuses early may close before it was sent.
        let _sent = stream.write_all(request);
        let mut answer = Vec::new();
        let _read = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}
