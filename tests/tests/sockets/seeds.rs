//! The same seeds in memory and over sockets.

use crate::sockets::site::Site;
use crate::sockets::wire::Sockets;
use listwatch_tests::sim::{Outcome, Run, Seeds, Tally};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::{env, fs, process};

/// How many seeds run over TLS unless it is said otherwise.
const SEEDS: u64 = 30;
/// How many run over plain HTTP, which is the same without a layer.
const PLAIN_SEEDS: u64 = 6;

#[test]
fn a_world_over_tls_comes_out_as_it_does_in_memory() {
    let seeds = Seeds::of_env("SOCKET_SEEDS", SEEDS);
    let tally = compare(seeds, true);
    println!("{tally}");
    if seeds.count >= SEEDS {
        assert_eq!(tally.missing(), [""; 0], "never met in {} runs", seeds.count);
    }
}

#[test]
fn a_world_over_plain_http_comes_out_as_it_does_in_memory() {
    compare(Seeds::of_env("SOCKET_SEEDS", PLAIN_SEEDS), false);
}

fn compare(seeds: Seeds, tls: bool) -> Tally {
    let site = Arc::new(Site::new(tls));
    let (tally, broken) = seeds.run(|seed| check(&site, seed));
    let (runs, requests, faults) = (tally.runs, tally.requests, tally.delivered());
    println!("over {}: {runs} runs, {faults} faults, {requests} requests, {}", site.scheme(), site.seen);
    assert!(broken.is_empty(), "{} of {} seeds: {broken:?}", broken.len(), seeds.count);
    tally
}

fn check(site: &Arc<Site>, seed: u64) -> Option<Outcome> {
    let in_memory = Run::new(seed, false).finish();
    let over_sockets = catch_unwind(AssertUnwindSafe(|| run(site, seed, false).finish())).ok();
    if over_sockets.as_ref() != Some(&in_memory) {
        explain(site, seed);
        return None;
    }
    over_sockets
}

fn run(site: &Arc<Site>, seed: u64, captured: bool) -> Run {
    Run::over(Box::new(Sockets::new(site, seed)), seed, captured)
}

/// Runs a seed again both ways, and shows where they part.
fn explain(site: &Arc<Site>, seed: u64) {
    let captures = [("memory", Run::new(seed, true)), ("sockets", run(site, seed, true))].map(|(name, mut run)| {
        let _ = catch_unwind(AssertUnwindSafe(|| run.finish()));
        let capture = run.capture().unwrap_or_default().to_owned();
        let path = env::temp_dir().join(format!("listwatch-{name}-{seed}-{}.jsonl", process::id()));
        fs::write(&path, &capture).unwrap();
        println!("the capture of {seed} over {name}: {}", path.display());
        capture
    });
    let [memory, sockets] = captures.each_ref().map(|capture| capture.lines());
    if let Some((said, arrived)) = memory.zip(sockets).find(|(said, arrived)| said != arrived) {
        println!("said:    {said}\narrived: {arrived}");
    }
    println!("SIM_SEED={seed} cargo test -p listwatch-tests --test suite sockets -- --nocapture");
}
