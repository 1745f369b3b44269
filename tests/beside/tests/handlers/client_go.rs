//! client-go, as a program that is given one exchange after the other.

use crate::handlers::cast::{Cast, What};
use crate::handlers::exchange::Exchange;
use crate::handlers::steps::{Step, steps};
use crate::handlers::told::Told;
use listwatch_tests::go;
use serde::Serialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// A process of client-go.
#[derive(Debug)]
pub(crate) struct ClientGo {
    child: Child,
    exchanges: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Serialize)]
struct Work<'a> {
    resource: &'a str,
    namespace: &'a str,
    resync: u64,
    steps: Vec<Step>,
    handlers: Vec<Handler>,
    script: Vec<Act>,
}

#[derive(Serialize)]
struct Handler {
    resync: i64,
    without: &'static str,
}

#[derive(Serialize)]
struct Act {
    at: i64,
    r#do: &'static str,
    handler: usize,
}

impl ClientGo {
    /// The program; `None`, loudly, where there is no Go to build it with.
    pub(crate) fn program() -> Option<&'static Path> {
        static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
        let build = || go::build(&["test", "-c"], "peers/client-go", "./handlers", "listwatch-client-go-handlers");
        PROGRAM.get_or_init(build).as_deref()
    }

    /// A new process of it.
    pub(crate) fn start() -> Option<Self> {
        let program = Self::program()?;
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (exchanges, answers) = (child.stdin.take(), child.stdout.take().map(BufReader::new).unwrap());
        Some(Self { child, exchanges, answers })
    }

    /// What it makes of an exchange.
    ///
    /// # Panics
    /// Where it does not come out alive; it has said why.
    pub(crate) fn tell(&mut self, exchange: &Exchange, cast: &Cast) -> Told {
        let mut line = serde_json::to_vec(&work(exchange, cast)).unwrap();
        line.push(b'\n');
        // Where it is gone, its output says why.
        let _sent = self.exchanges.as_mut().unwrap().write_all(&line);
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        if !answer.starts_with('{') {
            let _ended = self.answers.read_to_string(&mut answer);
            panic!("client-go fails:\n{answer}");
        }
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for ClientGo {
    /// It ends with its input.
    fn drop(&mut self) {
        drop(self.exchanges.take());
        let _ended = self.child.wait();
    }
}

fn work<'a>(exchange: &'a Exchange, cast: &Cast) -> Work<'a> {
    let path = exchange.resource.path().trim_start_matches("/api/v1/");
    let (namespace, resource) =
        path.strip_prefix("namespaces/").and_then(|rest| rest.split_once('/')).unwrap_or(("", path));
    let handlers = cast.handlers.iter().map(|handler| Handler {
        resync: handler.resync.map_or(-1, |period| period.as_nanos() as i64),
        without: handler.without.unwrap_or_default(),
    });
    let script = cast.script.iter().map(|act| {
        let (r#do, handler) = match act.what {
            What::Join(handler) => ("join", handler),
            What::Leave(handler) => ("leave", handler),
            What::Look => ("look", 0),
        };
        Act { at: act.at.map_or(-1, |at| at.as_nanos() as i64), r#do, handler }
    });
    Work {
        resource,
        namespace,
        resync: cast.resync.as_nanos() as u64,
        steps: steps(&exchange.asked),
        handlers: handlers.collect(),
        script: script.collect(),
    }
}
