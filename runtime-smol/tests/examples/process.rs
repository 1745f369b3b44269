//! The `main` of an example in a process of its own: with a kubeconfig, a signal and an exit status.

use listwatch_tests::sim::{ApiServer, serve};
use listwatch_tests::wait::PATIENCE;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Which example a child of this process is.
const EXAMPLE: &str = "LISTWATCH_EXAMPLE";

/// In a child, this is the `main` of an example.
#[test]
fn main_of_an_example() {
    let ended = match std::env::var(EXAMPLE).as_deref() {
        Ok("edge-agent") => crate::examples::edge_agent::example::main(),
        Ok("finalizer") => crate::examples::finalizer::main(),
        Ok("inside-tokio") => crate::examples::inside_tokio::example::main(),
        Ok(other) => panic!("{other} is no example"),
        Err(_) => return,
    };
    std::process::exit(match ended {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("Error: {error:?}"); // as the standard library does
            1
        }
    });
}

/// An example that runs; killed when it is dropped.
pub(crate) struct Example {
    child: Child,
    lines: Receiver<String>,
}

impl Example {
    /// Starts the example of this name as a client of `server`.
    pub(crate) fn start(name: &str, server: &ApiServer) -> Self {
        let config = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-kubeconfig"));
        let clusters = format!("clusters: [{{name: c, cluster: {{server: '{}'}}}}]", serve(server));
        fs::write(
            &config,
            format!("{{{clusters}, contexts: [{{name: x, context: {{cluster: c}}}}], current-context: x}}"),
        )
        .unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "examples::process::main_of_an_example", "--nocapture", "--quiet"]);
        command.env(EXAMPLE, name).env("KUBECONFIG", config).env("NODE_NAME", "edge-1");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (output, (told, lines)) = (BufReader::new(child.stdout.take().unwrap()), channel());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
        Self { child, lines }
    }

    /// Reads its standard output up to this line.
    pub(crate) fn read_to(&mut self, wanted: &str) {
        while self.next_line() != wanted {}
    }

    /// The next line of its standard output.
    pub(crate) fn next_line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            let _ended = self.child.kill();
            panic!("no line is left ({error}): {:?}", self.wait())
        })
    }

    /// Asks it to end, and waits until it has: its exit status, and what it wrote to standard error.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(kill.success());
        let (status, errors) = self.wait();
        (status.code(), errors)
    }

    fn wait(&mut self) -> (ExitStatus, String) {
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap(), errors)
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
