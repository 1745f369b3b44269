//! A client that follows the server's pods, in this process, and the CPU time that it took.

use crate::floor::Floor;
use crate::server::{EVENTS, last_version};
use core::fmt;
use listwatch_runtime_smol::decode::MetadataOnly;
use listwatch_runtime_smol::file::{RecorderConfig, Tape};
use listwatch_runtime_smol::http::ClusterOptions;
use listwatch_runtime_smol::transport::ListerWatcher;
use listwatch_runtime_smol::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Resource, run};
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

/// What is written to a file while the server is followed.
#[derive(Clone, Copy)]
pub(crate) enum Kept {
    Nothing,
    /// The bodies alone.
    Bytes,
    /// A tape, in a file with this extension.
    Tape(&'static str),
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
    pub(crate) fn start(scratch: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.arg("serve").arg(scratch.join("config")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        Self { server, scratch: scratch.into() }
    }

    /// The CPU time of an event in microseconds.
    pub(crate) fn micros(&self, run: Run, kept: Kept) -> f64 {
        match run {
            Run::Fields => self.follow::<Pod>(pods(), kept),
            Run::Value => self.follow::<serde_json::Value>(pods(), kept),
            Run::Metadata => self.follow::<MetadataOnly>(pods().metadata_only(), kept),
        }
    }

    fn follow<T: DeserializeOwned + Unpin>(&self, resource: Resource, kept: Kept) -> f64 {
        let cluster = ClusterOptions::new().kubeconfig(self.scratch.join("config")).unwrap();
        let transport = cluster.transport().unwrap();
        let path = self.scratch.join("tape");
        let took = match kept {
            Kept::Nothing => return followed::<T>(resource, transport),
            Kept::Bytes => followed::<T>(resource, Floor::create(&path, transport)),
            Kept::Tape(kind) => {
                let path = path.with_extension(kind);
                let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
                let took = followed::<T>(resource, tape.transport(transport));
                tape.finish().unwrap();
                std::fs::rename(path, self.scratch.join("tape")).unwrap();
                took
            }
        };
        std::fs::remove_file(path).unwrap();
        took
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

fn followed<T: DeserializeOwned + Unpin>(resource: Resource, transport: impl ListerWatcher + Send + 'static) -> f64 {
    let clock = Clock::real();
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let informer = Informer::<T>::new(resource, config);
    run(&clock, &Executor::new(), async {
        let mut events = Events::start(Driver::new(informer, transport), clock.clone());
        let (last, mut began) = (last_version(), 0.0);
        loop {
            match events.next().await.expect("an informer goes on") {
                Event::Failed(report) => panic!("{report}"),
                // The list is over.
                Event::Synced => began = cpu(),
                event if event.object().is_some_and(|object| object.meta().resource_version() == last) => break,
                _ => {}
            }
        }
        (cpu() - began) / EVENTS as f64
    })
}

/// The CPU time of this process up to now, in microseconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
