//! The programs that follow, and the server that they follow: each is a process of its own.

use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// What following took: seconds, and bytes of memory. Time counts from the start of the process to the reconciled cache.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Took {
    /// User and system, of all threads.
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
    /// Resident before the first request.
    pub(crate) before: u64,
    /// Resident at the end; of client-go, after two collections of garbage.
    pub(crate) rss: u64,
    pub(crate) peak: u64,
    /// What a collection of garbage leaves of the heap.
    pub(crate) live: Option<u64>,
    /// Resident before the relist.
    pub(crate) steady: Option<u64>,
    /// Of a program that counts what it allocates.
    pub(crate) heap: Option<Heap>,
}

/// Allocated bytes: exact, where the resident ones have what the allocator keeps.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Heap {
    /// At the end.
    pub(crate) live: u64,
    /// The most since the start, or since the relist.
    pub(crate) peak: u64,
    /// At the end, or before the relist.
    pub(crate) steady: u64,
}

/// How many objects a cache has, and the sum of the hashes of their keys and versions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Cached {
    objects: usize,
    digest: String,
}

/// What a program prints in the end.
#[derive(Deserialize, Serialize)]
pub(crate) struct Line {
    #[serde(flatten)]
    pub(crate) took: Took,
    #[serde(flatten)]
    pub(crate) cached: Cached,
}

impl Cached {
    /// Of texts of the form `NAMESPACE/NAME@VERSION`.
    pub(crate) fn sum(objects: impl Iterator<Item = String>) -> Self {
        let (objects, digest) =
            objects.fold((0, 0_u64), |(objects, digest), object| (objects + 1, digest.wrapping_add(hash(&object))));
        Self { objects, digest: format!("{digest:016x}") }
    }
}

/// What a server has: so many pods, to which so many changes are made. Then nothing happens, or the watch expires: a
/// tenth of the pods has changed in the list after that.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    pub(crate) pods: usize,
    pub(crate) changes: usize,
    pub(crate) expires: bool,
    /// Each change is sent by itself, with a pause behind it.
    pub(crate) paced: bool,
}

impl Load {
    /// The version of the last change, and of the last one after the expiry.
    pub(crate) fn versions(self) -> Vec<String> {
        let changed = self.pods + self.changes;
        let relisted = self.expires.then_some(changed + self.pods / 10);
        [changed].into_iter().chain(relisted).map(|version| version.to_string()).collect()
    }

    /// What every cache has in the end.
    pub(crate) fn cached(self) -> Cached {
        let mut versions: Vec<usize> = (1..=self.pods).collect();
        for change in 0..self.changes {
            versions[change * 7919 % self.pods] = self.pods + change + 1;
        }
        if self.expires {
            for (tenth, version) in versions.iter_mut().skip(9).step_by(10).enumerate() {
                *version = self.pods + self.changes + tenth + 1;
            }
        }
        let pods = versions.iter().enumerate();
        Cached::sum(pods.map(|(pod, version)| format!("ns-{:03}/pod-{pod:07}@{version}", pod % 100)))
    }
}

/// The server of `tests/peers/client-go`.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(peers: &str, load: Load, is_tls: bool) -> Self {
        let options = [is_tls.then_some("tls"), load.expires.then_some("expires"), load.paced.then_some("paced")];
        let mut process = Command::new(peers)
            .args(["serve", concat!(env!("CARGO_MANIFEST_DIR"), "/../data/pod.template.json")])
            .args([load.pods, load.changes].map(|number| number.to_string()))
            .args(options.into_iter().flatten())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { process, url: url.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        _ = self.process.wait();
    }
}

/// What a program prints. It has a quarter of an hour.
pub(crate) fn output(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new("timeout").args(["900", program]).args(arguments).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// What following took by such a program, whose cache has to be equal to the server's.
pub(crate) fn took(load: Load, program: &str, arguments: &[&str]) -> Took {
    let Line { took, cached } = serde_json::from_str(&output(program, arguments)).unwrap();
    assert_eq!(cached, load.cached(), "{program} {arguments:?} has another cache than the server");
    took
}

/// The CPU time of another process, user and system: seconds, by the ticks of `/proc`.
pub(crate) fn cpu_of(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_name, fields) = stat.rsplit_once(')').unwrap();
    let ticks: u64 = fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    ticks as f64 / 100.0
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A field of this process's status, which is in kilobytes, in bytes.
pub(crate) fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
