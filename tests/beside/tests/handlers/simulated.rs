//! Random exchanges with a simulated server.

use crate::handlers::client_go::ClientGo;
use crate::handlers::differences::agree;
use crate::handlers::ours;
use crate::handlers::simulate::{Scene, scene};
use listwatch_tests::sim::Seeds;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 10_000;

/// What is met in so many: kinds of notifications, those of the first list, of what was deleted unseen, of the same state
/// again, and of another object under the same name; and kinds of exchanges.
const MET: [&str; 10] = [
    "Add",
    "Add initial",
    "Both",
    "Delete",
    "Delete unknown",
    "Faults",
    "Resync",
    "Update",
    "Update other",
    "Update sync",
];

/// What one thread has.
#[derive(Default)]
struct Part {
    client_go: Option<ClientGo>,
    met: Met,
}

/// What was met, and how often.
type Met = BTreeMap<String, u64>;

#[test]
fn each_handler_is_told_of_each_key_what_client_go_tells_it() {
    if ClientGo::program().is_none() {
        return;
    }
    let seeds = Seeds::fresh("HANDLER_SEEDS", SEEDS);
    let (parts, broken) = seeds.fold(|seed, part: &mut Part| match attempt(seed, part) {
        Ok(()) => true,
        Err(differs) => {
            println!("{differs}\nSIM_SEED={seed} cargo test -p listwatch-beside --test suite handlers::simulated");
            false
        }
    });
    let mut met = Met::new();
    parts.iter().flat_map(|part| &part.met).for_each(|(what, count)| *met.entry(what.clone()).or_default() += count);
    println!("{met:?}");
    assert!(broken.is_empty(), "{} of {} seeds: {broken:?}", broken.len(), seeds.count);
    if seeds.count >= SEEDS {
        assert_eq!(met.keys().collect::<Vec<_>>(), MET, "never met, or not known, in {} runs", seeds.count);
    }
}

/// One seed; a new process for those that come after one that panics.
fn attempt(seed: u64, part: &mut Part) -> Result<(), String> {
    let mut client_go = part.client_go.take().or_else(ClientGo::start).unwrap();
    let checked = catch_unwind(AssertUnwindSafe(|| check(&mut client_go, seed, &mut part.met)));
    checked.map_err(|_| "a panic".to_owned())??;
    part.client_go = Some(client_go);
    Ok(())
}

/// Where the two part, if they do.
fn check(client_go: &mut ClientGo, seed: u64, met: &mut Met) -> Result<(), String> {
    let Scene { exchange, config, cast, theme } = scene(seed);
    let (theirs, ours) = (client_go.tell(&exchange, &cast), ours::tell(&exchange, config, &cast));
    *met.entry(format!("{theme:?}")).or_default() += 1;
    theirs.handlers.iter().flatten().for_each(|told| *met.entry(told.name()).or_default() += 1);
    agree(theme, &cast, &theirs, &ours).map_err(|differs| format!("{exchange}{differs}"))
}
