//! What a recording adds to the CPU time of following: over TLS, from a process of its own, event by event.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

#[path = "../../tests/sockets/certificates.rs"]
mod certificates;
mod floor;
mod follower;
mod server;

use follower::{Follower, Kept, Run};
use std::path::PathBuf;

/// Each way of following is measured so often, by turns. The medians count.
const ROUNDS: usize = 25;

/// The ways of following, the first one without a tape.
const KEPT: [Kept; 5] =
    [Kept::Nothing, Kept::Bytes, Kept::Tape("jsonl"), Kept::Tape("jsonl.zst"), Kept::Tape("jsonl.gz")];

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("serve") {
        return server::serve(&PathBuf::from(arguments.next().expect("a path for the kubeconfig")));
    }
    let scratch = std::env::temp_dir().join(format!("listwatch-recording-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let follower = Follower::start(&scratch);
    println!(
        "| CPU time of an event | without | bytes alone | adds | `.jsonl` | adds | `.jsonl.zst` | adds | `.jsonl.gz` | adds |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for run in [Run::Fields, Run::Value, Run::Metadata] {
        let rounds: Vec<_> = (0..ROUNDS).map(|_| KEPT.map(|kept| follower.micros(run, kept))).collect();
        let medians: [f64; KEPT.len()] =
            core::array::from_fn(|way| median(rounds.iter().map(|round| round[way]).collect()));
        let [without, with @ ..] = medians;
        let with = with.map(|with: f64| format!("{with:.1} µs | {:.1} %", (with / without - 1.0) * 100.0));
        println!("| {run} | {without:.1} µs | {} |", with.join(" | "));
    }
    drop(follower);
    std::fs::remove_dir_all(&scratch).unwrap();
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
