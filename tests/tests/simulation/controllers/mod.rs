//! Controllers in a world where everything goes wrong: watches, single requests, the server, and the user's own code.
//!
//! ```sh
//! SIM_SEEDS=10000 cargo test -p listwatch-tests --test suite simulation::controllers -- --nocapture
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite simulation::controllers    # one of them again
//! ```
#![allow(clippy::disallowed_names, reason = "the kind of the sample controller is named Foo")]

mod kinds;
mod met;
mod others;
mod play;
mod replays;
mod user;
mod view;

use listwatch_tests::sim::{Dice, Seeds};
use met::Met;
use play::play;
use std::panic::catch_unwind;
use user::Manner;

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 200;
/// In so many, everything goes wrong that can.
const ENOUGH: u64 = 150;
/// Every so many seeds run twice, and must do the same.
const TWICE: u64 = 16;

#[test]
fn every_key_is_as_wanted_in_the_end_and_no_write_is_repeated_for_one_drift() {
    super::panics::silence();
    let seeds = Seeds::fresh("SIM_SEEDS", SEEDS);
    let (parts, broken) = seeds.fold(|seed, met: &mut Met| {
        let played = catch_unwind(|| check(seed));
        played.as_ref().map_or_else(|_| println!("SIM_SEED={seed}"), |played| met.add(played));
        played.is_ok()
    });
    let mut met = Met::default();
    parts.iter().for_each(|part| met.add(part));
    println!("{met}");
    assert_eq!(broken, [0; 0], "SIM_SEED is one of these");
    if seeds.count >= ENOUGH {
        assert_eq!(met.missing(), [""; 0], "never met");
    }
}

fn check(seed: u64) -> Met {
    let manner = manner(seed, true);
    let played = play(seed, manner);
    assert_eq!(played.repeated, [], "repeated for one drift");
    if seed.is_multiple_of(TWICE) {
        assert_eq!(play(seed, manner).hash, played.hash, "it does not do the same twice");
    }
    played
}

/// So the count of repeated writes can be other than none.
#[test]
fn a_controller_that_does_not_wait_for_its_writes_repeats_some() {
    super::panics::silence();
    let repeated: usize = (0..20).map(|seed| play(seed, manner(seed, false)).repeated.len()).sum();
    assert!(repeated > 20, "{repeated}");
}

/// How the user's code of a seed behaves.
fn manner(seed: u64, awaits_writes: bool) -> Manner {
    let mut dice = Dice::new(!seed);
    Manner { flaws: dice.pick(&[0, 2, 8]), awaits_writes, checks_versions: dice.chance(50), is_changed: false }
}
