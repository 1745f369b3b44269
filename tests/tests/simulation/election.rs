//! Thousands of elections in which clocks, network, server and candidates fail.
//!
//! ```sh
//! cargo test -p listwatch-tests --test simulation election                 # 10,000 seeds
//! SIM_SEED=123 cargo test -p listwatch-tests --test simulation election    # one of them again
//! ```

use listwatch_tests::sim::{Election, ElectionTally, Seeds, explore};
use std::panic::catch_unwind;

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 10_000;

/// How many steps each run has unless it is said otherwise.
const DEPTH: usize = 7;

#[test]
fn one_candidate_writes_at_a_time_and_one_leads_when_all_is_well() {
    let seeds = Seeds::of_env("SIM_SEEDS", SEEDS);
    let (parts, broken) = seeds.fold(|seed, tally: &mut ElectionTally| {
        let done = catch_unwind(|| Election::new(seed).finish());
        if done.is_err() {
            println!("SIM_SEED={seed} cargo test -p listwatch-tests --test simulation election -- --nocapture");
        }
        done.iter().for_each(|done| tally.add(done));
        done.is_ok()
    });
    let mut tally = ElectionTally::default();
    parts.iter().for_each(|part| tally.add(part));
    println!("{tally:?}");
    assert!(broken.is_empty(), "{} of {} seeds: {broken:?}", broken.len(), seeds.count);
    if seeds.count >= SEEDS {
        let missing: Vec<_> = tally.counts().into_iter().filter(|(_, count)| *count == 0).collect();
        assert_eq!(missing, [], "never met in {} runs", seeds.count);
    }
}

/// Requests are answered, hang, get lost or arrive late; candidates are asked to stop; clocks differ by a tenth.
#[test]
fn every_short_run_of_two_candidates_has_one_writer_at_a_time_and_a_leader_when_all_is_well() {
    let explored = explore(depth());
    println!("{explored:?}");
    assert!(explored.states > 1_000 && explored.led > 100, "{explored:?}");
}

fn depth() -> usize {
    std::env::var("SIM_DEPTH").map_or(DEPTH, |depth| depth.parse().expect("SIM_DEPTH is a number of steps"))
}
