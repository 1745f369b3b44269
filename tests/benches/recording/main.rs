//! What a recording adds to the CPU time of following: over TLS, from a process of its own, event by event.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

#[path = "../../tests/sockets/certificates.rs"]
mod certificates;
mod follower;
mod server;

use follower::{Follower, Run};
use std::path::PathBuf;

/// Each way of following is measured so often, with and without a tape by turns. The least counts: other work can only
/// add.
const ROUNDS: usize = 25;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("serve") {
        return server::serve(&PathBuf::from(arguments.next().expect("a path for the kubeconfig")));
    }
    let scratch = std::env::temp_dir().join(format!("listwatch-recording-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let follower = Follower::start(&scratch);
    println!("| CPU time of an event | without | `.jsonl` | adds | `.jsonl.zst` | adds | `.jsonl.gz` | adds |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for run in [Run::Fields, Run::Value, Run::Metadata] {
        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            for (best, tape) in best.iter_mut().zip([None, Some("jsonl"), Some("jsonl.zst"), Some("jsonl.gz")]) {
                *best = best.min(follower.micros(run, tape));
            }
        }
        let [without, with @ ..] = best;
        let with = with.map(|with| format!("{with:.1} µs | {:.1} %", (with / without - 1.0) * 100.0));
        println!("| {run} | {without:.1} µs | {} |", with.join(" | "));
    }
    drop(follower);
    std::fs::remove_dir_all(&scratch).unwrap();
}
