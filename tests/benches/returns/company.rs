//! Clients of both kinds that follow the same resource, each in a process of its own.

use crate::follow::now;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many of each kind there are: more samples of the same restart.
const EACH: usize = 3;
/// How long anything may take before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(600);

/// Whose client it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    ClientGo,
}

/// How they are started.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) peers: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) namespace: String,
}

/// The clients, and what they say.
pub(crate) struct Company {
    clients: Vec<Client>,
    said: Receiver<(usize, Instant, String)>,
}

struct Client {
    side: Side,
    process: Child,
    is_synced: bool,
    /// The newest number that it told, and when.
    told: Option<(u64, Instant)>,
    count: Count,
}

/// What became of a client's requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
}

/// What a restart was to one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Return {
    pub(crate) side: Side,
    /// From the server's return until the client told what was changed after it.
    pub(crate) time: Duration,
    /// Since the server was lost.
    pub(crate) count: Count,
}

impl Company {
    /// Clients of both kinds by turns, `first` first, that have the first state.
    pub(crate) fn start(programs: &Programs, first: Side) -> Self {
        let second = if first == Side::Ours { Side::ClientGo } else { Side::Ours };
        let (say, said) = channel();
        let sides = [first, second].into_iter().cycle().take(2 * EACH);
        let clients = sides.enumerate().map(|(place, side)| Client::start(programs, side, place, &say)).collect();
        let mut company = Self { clients, said };
        company.hear_until(|client| client.is_synced);
        company
    }

    /// Forgets what became of requests up to now.
    pub(crate) fn count_anew(&mut self) {
        while let Ok(said) = self.said.try_recv() {
            self.note(said);
        }
        self.clients.iter_mut().for_each(|client| client.count = Count::default());
    }

    /// Waits until each client has told this number; how long after `since` that was.
    pub(crate) fn told(&mut self, number: u64, since: Instant) -> Vec<Return> {
        self.hear_until(|client| client.told.is_some_and(|(told, _)| told >= number));
        let returned = |client: &Client| {
            let time = client.told.unwrap().1.saturating_duration_since(since);
            Return { side: client.side, time, count: client.count }
        };
        self.clients.iter().map(returned).collect()
    }

    fn hear_until(&mut self, done: impl Fn(&Client) -> bool) {
        let end = now() + PATIENCE;
        while !self.clients.iter().all(&done) {
            let said = self.said.recv_timeout(end.saturating_duration_since(now()));
            self.note(said.unwrap_or_else(|error| panic!("a client does not say what is waited for: {error}")));
        }
    }

    fn note(&mut self, (place, at, line): (usize, Instant, String)) {
        let client = &mut self.clients[place];
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["synced"] => client.is_synced = true,
            ["told", number] => client.told = Some((number.parse().unwrap(), at)),
            ["answered", _] => client.count.answered += 1,
            ["refused"] => client.count.refused += 1,
            ["failed"] => client.count.failed += 1,
            _ => panic!("{:?} says {line:?}", client.side),
        }
    }
}

impl Client {
    fn start(programs: &Programs, side: Side, place: usize, say: &Sender<(usize, Instant, String)>) -> Self {
        let program = match side {
            Side::Ours => std::env::current_exe().unwrap(),
            Side::ClientGo => programs.peers.clone(),
        };
        let mut process = spawn(&program, programs);
        let (lines, say) = (BufReader::new(process.stdout.take().unwrap()).lines(), say.clone());
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if say.send((place, now(), line)).is_err() {
                    return;
                }
            }
        });
        Self { side, process, is_synced: false, told: None, count: Count::default() }
    }
}

fn spawn(program: &Path, programs: &Programs) -> Child {
    Command::new(program)
        .arg("follow")
        .arg(&programs.kubeconfig)
        .arg(&programs.namespace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

impl Drop for Client {
    /// It ends with its input, also where this process ends without a word.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ended = self.process.wait();
    }
}
