//! Random requests of all verbs, for a real kube-apiserver and for the simulated cluster: the answers are alike, or there is
//! a reason.
//!
//! `RANDOM_REQUESTS=100000` sends so many, `RANDOM_SEED=N` begins with those of another seed, and `RANDOM_DIFFERENCES=FILE`
//! writes each difference to a file, as a line of JSON. Without a seed the requests are always the same: a difference that
//! nobody has seen yet is for a longer run to find, and fails no change that has nothing to do with it.

mod episode;
mod reasons;
mod shrink;
mod table;

use crate::real_server::plane::plane_at;
use episode::Stage;
use listwatch_tests::control_plane::ControlPlane;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use table::Table;

/// How many are sent where nothing else is said.
const USUAL: u64 = 3_000;
/// From how many on each reason has to explain something: the rarest explain one of 200,000.
const LONG: u64 = 1_000_000;
/// How many are for one namespace, and follow from one seed.
const EPISODE: usize = 300;
/// How many namespaces get requests at once.
const LANES: usize = 3;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |number| number.parse().unwrap())
}

/// The control plane is one of its own: no controller changes what the requests made.
#[test]
fn a_simulated_cluster_answers_random_requests_as_a_server_does_or_there_is_a_reason() {
    let requests = number("RANDOM_REQUESTS", USUAL);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("requests");
    let Some(control) = ControlPlane::start_servers(&folder, 1) else { return };
    let mut plane = plane_at(control.kubeconfig().to_owned());
    let stage = Stage::new(&mut plane);
    let first = number("RANDOM_SEED", 0);
    let (next, end) = (AtomicU64::new(first), first + requests.div_ceil(EPISODE as u64));
    let table = Mutex::new(Table::default());
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                let mut seed = next.fetch_add(1, Ordering::Relaxed);
                while seed < end {
                    let told = stage.play(seed, EPISODE);
                    table.lock().unwrap().add(seed, told);
                    seed = next.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    table.into_inner().unwrap().check(&stage, requests >= LONG);
}
