//! The same worlds, followed by informers in fixed memory.
//!
//! ```sh
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite simulation::fixed    # one of them again
//! FIXED_SEEDS=20000 cargo test -p listwatch-tests --test suite simulation::fixed -- --nocapture
//! ```

use listwatch_core::reflector::FailureClass;
use listwatch_tests::sim::{AlwaysFull, Direct, FAULTS, InParts, OneByOne, Outcome, Roomy, Run, Seeds, Tally, Tier};
use std::any::type_name;
use std::panic::catch_unwind;

/// How many seeds run in each memory unless it is said otherwise.
const SEEDS: u64 = 250;
/// Every so many seeds run twice, and must do the same.
const TWICE: u64 = 16;

#[test]
fn what_fits_is_followed_as_on_the_heap() {
    let tally = run::<Roomy>();
    assert_eq!(tally.of_class(FailureClass::DoesNotFit), 0);
}

#[test]
fn lists_that_pass_in_parts_lose_nothing_and_delete_nothing_that_is_there() {
    for tally in [run::<InParts>(), run::<OneByOne>()] {
        assert_eq!(tally.of_class(FailureClass::DoesNotFit), 0);
    }
}

#[test]
fn a_cache_that_is_always_full_says_so_and_what_it_holds_is_right() {
    let tally = run::<AlwaysFull>();
    assert!(tally.of_class(FailureClass::DoesNotFit) > tally.runs, "{tally}");
}

fn run<T: Tier>() -> Tally {
    let seeds = Seeds::of_env("FIXED_SEEDS", SEEDS);
    let (tally, broken) = seeds.run(check::<T>);
    println!("{tally}");
    assert!(broken.is_empty(), "{} of {} seeds: {broken:?}", broken.len(), seeds.count);
    tally
}

fn check<T: Tier>(seed: u64) -> Option<Outcome> {
    let failed = |_| println!("SIM_SEED={seed} in {}", type_name::<T>());
    let outcome = catch_unwind(|| finish::<T>(seed)).map_err(failed).ok()?;
    assert!(outcome.tally.delivered() >= FAULTS, "seed {seed}: {}", outcome.tally);
    if seed.is_multiple_of(TWICE) {
        assert_eq!(outcome.hash, finish::<T>(seed).hash, "seed {seed} does not do the same twice");
    }
    Some(outcome)
}

fn finish<T: Tier>(seed: u64) -> Outcome {
    Run::<T>::in_tier(Box::new(Direct), seed, false).finish()
}
