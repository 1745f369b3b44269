//! Clients of both kinds that follow the same resource, each in a process of its own.

use crate::follow::now;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many of each kind there are: more samples of the same restart.
pub(crate) const EACH: usize = 3;
/// How long anything may take before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(600);

/// Whose client it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    ClientGo,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Ours, Self::ClientGo];
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
    /// The numbers that it told, and when.
    told: Vec<(u64, Instant)>,
    count: Count,
}

/// What became of a client's requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
}

impl Count {
    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
        }
    }
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

    /// Waits until each client has told this number, or a later one.
    pub(crate) fn hear(&mut self, number: u64) {
        self.hear_until(|client| client.when_told(number).is_some());
    }

    /// How long after `since` each client of that side told this number, or a later one.
    pub(crate) fn times(&self, side: Side, number: u64, since: Instant) -> impl Iterator<Item = Duration> {
        let told = move |client: &Client| client.when_told(number).unwrap().saturating_duration_since(since);
        self.of(side).map(told)
    }

    /// What became of that side's requests.
    pub(crate) fn count(&self, side: Side) -> Count {
        self.of(side).fold(Count::default(), |sum, client| sum.add(client.count))
    }

    fn of(&self, side: Side) -> impl Iterator<Item = &Client> {
        self.clients.iter().filter(move |client| client.side == side)
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
            ["told", number] => client.told.push((number.parse().unwrap(), at)),
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
        Self { side, process, is_synced: false, told: Vec::new(), count: Count::default() }
    }

    fn when_told(&self, number: u64) -> Option<Instant> {
        self.told.iter().find(|(told, _)| *told >= number).map(|(_, at)| *at)
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
