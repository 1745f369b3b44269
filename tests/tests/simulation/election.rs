//! Thousands of elections in which clocks, network, server and candidates fail.
//!
//! ```sh
//! cargo test -p listwatch-tests --test suite simulation::election                 # 2,000 seeds
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite simulation::election    # one of them again
//! ```

use listwatch_tests::sim::{Election, Seeds, explore};

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 2_000;

/// How many steps each run has unless it is said otherwise.
const DEPTH: usize = 6;

#[test]
fn one_candidate_writes_at_a_time_and_one_leads_when_all_is_well() {
    Seeds::of_env("SIM_SEEDS", SEEDS).check("election", SEEDS, |seed| Election::new(seed).finish());
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
