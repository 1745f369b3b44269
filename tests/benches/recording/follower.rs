//! A client that follows the server's pods, in this process, and the CPU time that it took.

use crate::floor::Floor;
use crate::server::{EVENTS, version};
use core::fmt;
use listwatch::decode::MetadataOnly;
use listwatch::file::{RecorderConfig, Tape};
use listwatch::http::ClusterOptions;
use listwatch::transport::ListerWatcher;
use listwatch::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Resource, run};
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The type of the objects.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// A type with the fields that a controller reads.
    Fields,
    /// All fields.
    Value,
    /// The server sends metadata alone.
    Metadata,
}

/// What is kept while the server is followed.
#[derive(Clone, Copy)]
pub(crate) enum Kept {
    Nothing,
    /// The bodies alone.
    Bytes,
    /// A tape, in a file with this extension.
    Tape(&'static str),
    /// The last of it in memory.
    Memory {
        window: Duration,
        bytes: usize,
    },
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fields => "whole objects, some fields",
            Self::Value => "whole objects, all fields",
            Self::Metadata => "metadata only",
        })
    }
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "they are decoded")]
struct Pod {
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "they are decoded")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "they are decoded")]
struct Status {
    phase: Option<String>,
    pod_ip: Option<String>,
}

/// The server's process, and where it is.
pub(crate) struct Follower {
    server: Child,
    scratch: PathBuf,
}

impl Follower {
    /// Starts a server that waits so long between events.
    pub(crate) fn start(scratch: &Path, between: Duration) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("serve").arg(scratch.join("config")).arg(between.as_micros().to_string());
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        Self { server, scratch: scratch.into() }
    }

    /// The CPU time of an event in microseconds.
    pub(crate) fn micros(&self, run: Run, kept: Kept) -> f64 {
        follow(&self.scratch, run, kept, EVENTS, cpu) / EVENTS as f64
    }

    /// The instructions of an event, without those of the system.
    pub(crate) fn instructions(&self, run: usize, kept: usize) -> f64 {
        let [few, many] = [EVENTS / 5, EVENTS].map(|events| (events, self.counted(run, kept, events)));
        (many.1 - few.1) / (many.0 - few.0) as f64
    }

    /// The instructions of a process that follows so many events.
    fn counted(&self, run: usize, kept: usize, events: usize) -> f64 {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe().unwrap());
        // An instruction that repeats itself for every byte would be counted so often.
        let most = 1_000_000_000;
        let tunables = ["movsb", "stosb"].map(|name| format!("glibc.cpu.x86_rep_{name}_threshold={most}"));
        valgrind.env("GLIBC_TUNABLES", tunables.join(":"));
        let numbers = [run, kept, events].map(|number| number.to_string());
        let output = valgrind.arg("follow").arg(&self.scratch).args(numbers).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let count = told.lines().find_map(|line| line.split_once("Collected : "));
        count.unwrap_or_else(|| panic!("{told}")).1.parse().unwrap()
    }
}

/// Follows so many events of the server with this scratch folder, and returns the time that they took by `clock`.
pub(crate) fn follow(scratch: &Path, run: Run, kept: Kept, events: usize, clock: fn() -> f64) -> f64 {
    let follower = Following { scratch, kept, events, clock };
    match run {
        Run::Fields => follower.follow::<Pod>(pods()),
        Run::Value => follower.follow::<serde_json::Value>(pods()),
        Run::Metadata => follower.follow::<MetadataOnly>(pods().metadata_only()),
    }
}

struct Following<'s> {
    scratch: &'s Path,
    kept: Kept,
    events: usize,
    clock: fn() -> f64,
}

impl Following<'_> {
    fn follow<T: DeserializeOwned + Unpin>(&self, resource: Resource) -> f64 {
        let cluster = ClusterOptions::new().kubeconfig(self.scratch.join("config")).unwrap();
        let transport = cluster.transport().unwrap();
        let path = self.scratch.join("tape");
        let took = match self.kept {
            Kept::Nothing => return self.followed::<T>(resource, transport),
            Kept::Memory { window, bytes } => {
                let tape = Tape::in_memory(window, bytes, RecorderConfig::new());
                let took = self.followed::<T>(resource, tape.transport(transport));
                assert!(tape.held() <= bytes, "{}", tape.held());
                return took;
            }
            Kept::Bytes => self.followed::<T>(resource, Floor::create(&path, transport)),
            Kept::Tape(kind) => {
                let path = path.with_extension(kind);
                let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
                let took = self.followed::<T>(resource, tape.transport(transport));
                tape.finish().unwrap();
                std::fs::rename(path, self.scratch.join("tape")).unwrap();
                took
            }
        };
        std::fs::remove_file(path).unwrap();
        took
    }

    fn followed<T>(&self, resource: Resource, transport: impl ListerWatcher + Send + 'static) -> f64
    where
        T: DeserializeOwned + Unpin,
    {
        let clock = Clock::real();
        let mut config = InformerConfig::default();
        config.reflector.watch_list = false;
        let informer = Informer::<T>::new(resource, config);
        run(&clock, &Executor::new(), async {
            let mut events = Events::start(Driver::new(informer, transport), clock.clone());
            let (last, mut began) = (version(self.events - 1), 0.0);
            loop {
                match events.next().await.expect("an informer goes on") {
                    Event::Failed(report) => panic!("{report}"),
                    // The list is over.
                    Event::Synced => began = (self.clock)(),
                    event if event.object().is_some_and(|object| object.meta().resource_version() == last) => break,
                    _ => {}
                }
            }
            (self.clock)() - began
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        _ = self.server.wait();
    }
}

fn pods() -> Resource {
    Resource::new("/api/v1/pods")
}

/// The CPU time of this process up to now, in microseconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
