//! What a recording adds to the CPU time of following: over TLS, from a process of its own, event by event.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

#[path = "../../tests/sockets/certificates.rs"]
mod certificates;
mod floor;
mod follower;
mod server;

use follower::{Follower, Kept, Run, follow};
use std::process::Command;
use std::time::Duration;

/// Each way of following is measured so often, by turns. The lower quartiles count, which other work disturbs less.
const ROUNDS: usize = 25;

const WAYS: usize = 8;

/// The events that are in the window of a tape in memory, which passes them on in sixteen parts.
const IN_WINDOW: u32 = 80;

/// The ways of following, the first one without a tape, where so much time is between events.
fn ways(between: Duration) -> [Kept; WAYS] {
    let (long, short) = (Duration::from_secs(300), between * IN_WINDOW);
    [
        Kept::Nothing,
        Kept::Bytes,
        Kept::Tape("jsonl"),
        Kept::Tape("jsonl.zst"),
        Kept::Tape("jsonl.gz"),
        // All events are in the window; they pass into the state; and its objects are packed.
        Kept::Memory { window: long, bytes: 64 << 20 },
        Kept::Memory { window: short, bytes: 64 << 20 },
        Kept::Memory { window: short, bytes: 1 << 20 },
    ]
}

/// The types of the objects.
const RUNS: [Run; 3] = [Run::Fields, Run::Value, Run::Metadata];

/// The time between events, in which a follower handles one and sleeps; and what it needs under valgrind.
const BETWEEN: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(15)];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments[place].parse::<usize>().expect("a number");
    match arguments.first().map(String::as_str) {
        Some("serve") => server::serve(arguments[1].as_ref(), Duration::from_micros(number(2) as u64)),
        // For valgrind, which counts.
        Some("follow") => {
            _ = follow(arguments[1].as_ref(), RUNS[number(2)], ways(BETWEEN[1])[number(3)], number(4), || 0.0);
        }
        _ => measure(),
    }
}

fn measure() {
    let scratch = std::env::temp_dir().join(format!("listwatch-recording-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let follower = Follower::start(&scratch, BETWEEN[0]);
    print_head("CPU time of an event");
    for run in RUNS {
        let rounds: Vec<_> = (0..ROUNDS).map(|_| ways(BETWEEN[0]).map(|kept| follower.micros(run, kept))).collect();
        let times = core::array::from_fn(|way| quartile(rounds.iter().map(|round| round[way]).collect()));
        print(run, times, "µs");
    }
    drop(follower);
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let follower = Follower::start(&scratch, BETWEEN[1]);
        print_head("instructions of an event");
        for (number, run) in RUNS.into_iter().enumerate() {
            print(run, core::array::from_fn(|kept| follower.instructions(number, kept) / 1_000.0), "k");
        }
    }
    std::fs::remove_dir_all(&scratch).unwrap();
}

fn print_head(of: &str) {
    println!(
        "\n| {of} | without | bytes alone | adds | `.jsonl` | adds | `.jsonl.zst` | adds | `.jsonl.gz` | adds | in memory | \
         adds | events pass | adds | least memory | adds |"
    );
    println!("|---|{}", "--:|".repeat(2 * WAYS - 1));
}

fn print(run: Run, [without, with @ ..]: [f64; WAYS], unit: &str) {
    let with = with.map(|with| format!("{with:.1} {unit} | {:.1} %", (with / without - 1.0) * 100.0));
    println!("| {run} | {without:.1} {unit} | {} |", with.join(" | "));
}

fn quartile(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}
