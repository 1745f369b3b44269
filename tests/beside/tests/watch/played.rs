//! A capture, served by `tests/beside/replayserve.py` over HTTP.

use crate::command::bundled;
use listwatch_tests::skipped::skip;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// The time after which a wait has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A bundled capture, and how it is asked for.
pub(crate) struct Capture {
    pub(crate) name: &'static str,
    /// Resource and namespace.
    pub(crate) arguments: &'static str,
    lists: &'static str,
    watches: &'static str,
}

pub(crate) const CAPTURES: [Capture; 3] = [
    Capture { name: "pods-rollout", arguments: "v1/pods", lists: "1+2", watches: "3,4" },
    Capture { name: "chaos", arguments: "v1/pods", lists: "2,7", watches: "3,5,8" },
    Capture { name: "gap", arguments: "v1/configmaps -n gap1", lists: "1+2,3,7", watches: "4,5,6,8" },
];

/// A server of a capture. It ends with this.
pub(crate) struct Played {
    server: Child,
    told: Receiver<String>,
    pub(crate) url: String,
}

impl Played {
    /// `None`, and loudly so, where there is no Python.
    ///
    /// # Panics
    /// Where `CI` is set and there is no Python: nothing is skipped there.
    pub(crate) fn start(capture: &Capture) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("replayserve.py");
        let mut python = Command::new("python3");
        python.arg(script).arg(bundled(&format!("{}.jsonl.gz", capture.name))).args([capture.lists, capture.watches]);
        let mut server = match python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
            Ok(server) => server,
            Err(error) => {
                skip(format_args!("a watch of {}", capture.name), format_args!("python3 does not run: {error}"));
                return None;
            }
        };
        let told = lines(server.stdout.take().unwrap());
        let url = told.recv_timeout(PATIENCE).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
        Some(Self { server, told, url })
    }

    /// Waits until a client asks for more than there is, and so has read everything.
    pub(crate) fn wait_for_silence(&self) {
        assert_eq!(self.told.recv_timeout(PATIENCE).unwrap(), "silent");
    }
}

/// The lines of an output.
fn lines(printed: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || BufReader::new(printed).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

impl Drop for Played {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ended = self.server.wait();
    }
}
