//! The tape of each seed drives the same controller again, and one whose code is another one in one line.

use super::manner;
use super::met::Met;
use super::play::{Replayed, play_on, replay};
use super::user::{Changed, Manner};
use listwatch_runtime_smol::Key;
use listwatch_runtime_smol::controller::{Divergence, DivergenceKind, RunError};
use listwatch_tests::sim::Seeds;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 40;
/// How often each is replayed.
const TIMES: usize = 3;

struct Recorded {
    path: PathBuf,
    met: Met,
    manner: Manner,
}

impl Recorded {
    fn of(seed: u64, purpose: &str) -> Self {
        let path = std::env::temp_dir().join(format!("listwatch-{purpose}-{seed}-{}.jsonl", std::process::id()));
        let _before = std::fs::remove_file(&path);
        let manner = manner(seed, true);
        let met = play_on(seed, manner, Some(&path));
        Self { path, met, manner }
    }

    fn replay(&self, seed: u64, manner: Manner) -> Replayed {
        replay(seed, manner, &self.path, self.met.calm_after)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if std::env::var_os("SIM_KEEP").is_none() {
            let _gone = std::fs::remove_file(&self.path);
        }
    }
}

/// Runs the seeds, and fails with the broken ones.
fn with_seeds(check: impl Fn(u64) -> u64 + Sync + Copy) -> u64 {
    crate::panics::silence();
    let (parts, broken) = Seeds::fresh("SIM_SEEDS", SEEDS).fold(|seed, sum: &mut u64| {
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(seed)));
        checked.as_ref().map_or_else(|_| println!("SIM_SEED={seed}"), |count| *sum += count);
        checked.is_ok()
    });
    assert_eq!(broken, [0; 0], "SIM_SEED is one of these");
    parts.iter().sum()
}

#[test]
fn the_writes_of_a_replay_are_those_on_the_tape_and_three_replays_are_the_same() {
    let writes = with_seeds(|seed| {
        let recorded = Recorded::of(seed, "same");
        let replays: Vec<_> = (0..TIMES)
            .map(|_| {
                let replayed = recorded.replay(seed, recorded.manner);
                assert_eq!(replayed.ended, Ok(()), "{:#?}", replayed.findings);
                assert_eq!(replayed.user.notes().broken, [""; 0]);
                assert_eq!(replayed.findings.not_compared, 0);
                replayed.findings
            })
            .collect();
        assert!(replays.iter().all(|other| *other == replays[0]), "{replays:#?}");
        assert_eq!(replays[0].reconciles, recorded.met.reconciles());
        replays[0].same
    });
    println!("{writes} writes are the same");
    assert!(writes > 0);
}

#[test]
fn one_changed_line_in_the_reconcile_reports_exactly_its_writes() {
    let found = with_seeds(|seed| {
        let recorded = Recorded::of(seed, "changed");
        let replayed = recorded.replay(seed, Manner { is_changed: true, ..recorded.manner });
        let changed = replayed.user.notes().changed.clone();
        let findings = &replayed.findings;
        assert_eq!(matches!(replayed.ended, Err(RunError::Diverged(_))), !changed.is_empty(), "{:?}", replayed.ended);
        assert_eq!(findings.not_compared, 0, "{findings:#?}");
        // Without a write that failed, a reconcile goes on.
        let is_missing = |divergence: &&Divergence| matches!(divergence.kind, DivergenceKind::Missing { .. });
        let without: BTreeSet<u64> = findings.divergences.iter().filter(is_missing).map(|it| it.reconcile).collect();
        let direct = findings.divergences.iter().filter(|it| is_missing(it) || !without.contains(&it.reconcile));
        let found = direct.map(|divergence| {
            let kind = match &divergence.kind {
                DivergenceKind::Missing { .. } => Changed::Missing,
                DivergenceKind::Additional { .. } => Changed::Additional,
                DivergenceKind::Different { fields, .. } => {
                    assert_eq!(fields[..], ["spec.replicas 3 → 4"]);
                    Changed::Different
                }
                other => panic!("{other}"),
            };
            (divergence.key.as_str().into(), kind)
        });
        let mut found: Vec<(Key, Changed)> = found.collect();
        let (mut expected, count) = (changed, found.len() as u64);
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{findings}");
        count
    });
    println!("{found} writes are others");
    assert!(found > 0);
}
