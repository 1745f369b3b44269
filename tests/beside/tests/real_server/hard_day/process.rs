//! A process of the run, and what it says of its caches.
//!
//! It is this program again. A line on its input asks for the caches, and the end of its input ends it. Its answer is a line
//! for each object, `= CACHE KEY UID VERSION`, and then `= .`.

use listwatch_core::Store;
use listwatch_core::object::Uid;
use listwatch_tests::told::{self, State};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// How each line of an answer begins; the test harness writes others.
const MARK: &str = "= ";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state of each cache.
pub(super) type Caches = BTreeMap<String, State>;

/// A process; killed when it is dropped.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Runs a test of this program in a process, with a variable that says that it is one. What it reports is added to
    /// `log`.
    pub(super) fn start(test: &str, variable: &str, value: &str, kubeconfig: &Path, log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--quiet"]).env(variable, value).env("KUBECONFIG", kubeconfig);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (line, lines) = channel();
        // It ends with the process.
        thread::spawn(move || {
            for said in output.lines().map_while(Result::ok) {
                if let Some(said) = said.strip_prefix(MARK)
                    && line.send(said.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Self { child, input, lines }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has in its caches. It is gone if it does not answer.
    pub(super) fn caches(&mut self) -> Result<Caches, String> {
        let asked = self.input.as_mut().map(|input| writeln!(input, "caches"));
        let Some(Ok(())) = asked else { return Err(format!("it does not listen: {:?}", self.child.try_wait())) };
        let mut caches = Caches::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE).map_err(|error| format!("no answer: {error}"))?;
            let mut words = line.split(' ');
            let Some([cache, key, uid, version]) = next_four(&mut words) else {
                // The name of a cache alone: it may have no object.
                match line.strip_prefix("cache ") {
                    Some(cache) => _ = caches.entry(cache.to_owned()).or_default(),
                    None => return Ok(caches),
                }
                continue;
            };
            let uid = (uid != "-").then(|| Uid::from(uid));
            caches.entry(cache.to_owned()).or_default().insert(key.to_owned(), (uid, version.to_owned()));
        }
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Ends it as a crash would.
    pub(super) fn kill(mut self) {
        self.end();
    }

    /// Asks it to end by a signal, and ends it if it does not.
    pub(super) fn terminate(mut self, patience: Duration) -> Option<ExitStatus> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        super::wait_for(patience, || self.child.try_wait().unwrap().is_some());
        self.child.try_wait().unwrap()
    }

    fn end(&mut self) {
        drop(self.input.take());
        let _has_ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn next_four<'w>(words: &mut impl Iterator<Item = &'w str>) -> Option<[&'w str; 4]> {
    Some([words.next()?, words.next()?, words.next()?, words.next()?])
}

/// In a process: answers each line of the input with the caches, until the input ends.
pub(super) fn answer(caches: impl Fn() -> Caches) {
    for _asked in std::io::stdin().lines().map_while(Result::ok) {
        let mut text = String::new();
        for (cache, state) in caches() {
            text += &format!("{MARK}cache {cache}\n");
            for (key, (uid, version)) in state {
                let uid = uid.map_or_else(|| "-".to_owned(), |uid| uid.to_string());
                text += &format!("{MARK}{cache} {key} {uid} {version}\n");
            }
        }
        println!("{text}{MARK}.");
    }
}

/// In a process: what a store has.
pub(super) fn state_of<T>(store: &Store<T>) -> State {
    told::state_of(&store.list())
}
