//! Thousands of worlds in which everything goes wrong.
//!
//! ```sh
//! cargo test -p listwatch-tests --test suite simulation                       # 1,000 seeds
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite simulation::seeds    # one of them again
//! SIM_FIRST=10000 SIM_SEEDS=100000 cargo test -p listwatch-tests --test suite simulation::seeds -- --nocapture
//! ```

use listwatch_tests::sim::{FAULTS, Outcome, Run, Seeds};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{env, fs, process};

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 1_000;
/// Every so many seeds run twice, and must do the same.
const TWICE: u64 = 16;

#[test]
fn every_seed_keeps_to_the_rules_and_everything_that_can_go_wrong_does() {
    let seeds = Seeds::of_env("SIM_SEEDS", SEEDS);
    let (tally, broken) = seeds.run(check);
    println!("{tally}");
    println!("{:.0} events per CPU second of the process", tally.events() as f64 / cpu_seconds());
    assert!(broken.is_empty(), "{} of {} seeds: {broken:?}", broken.len(), seeds.count);
    if seeds.count >= SEEDS {
        assert_eq!(tally.missing(), [""; 0], "never met in {} runs", seeds.count);
    }
}

fn check(seed: u64) -> Option<Outcome> {
    let outcome = catch_unwind(|| Run::new(seed, false).finish()).map_err(|_| explain(seed)).ok()?;
    assert!(outcome.tally.delivered() >= FAULTS, "seed {seed}: {}", outcome.tally);
    if seed.is_multiple_of(TWICE) {
        let again = Run::new(seed, false).finish();
        assert_eq!(outcome.hash, again.hash, "seed {seed} does not do the same twice");
    }
    Some(outcome)
}

/// Runs a seed again that failed, and writes down what went over the wire until then.
fn explain(seed: u64) {
    let mut run = Run::new(seed, true);
    let _ = catch_unwind(AssertUnwindSafe(|| run.finish()));
    let path = env::temp_dir().join(format!("listwatch-seed-{seed}-{}.jsonl", process::id()));
    fs::write(&path, run.capture().unwrap_or_default()).unwrap();
    println!("SIM_SEED={seed} cargo test -p listwatch-tests --test suite simulation::seeds -- --nocapture");
    println!("the capture of it: {}", path.display());
}

/// The CPU time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields.iter().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}
