//! The tape of each seed drives the same controller again, and one whose code is another one in one line.
//!
//! A seed whose controller could not start is left out: while nobody runs its informers, their deadlines pass unseen, and
//! no process does that.

use super::manner;
use super::met::Met;
use super::play::{Replayed, play_on, replay};
use super::user::{Changed, Manner};
use listwatch::Key;
use listwatch::controller::{Divergence, DivergenceKind, Findings, RunError};
use listwatch::file::Playback;
use listwatch_tests::sim::Seeds;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 40;
/// How often each is replayed.
const TIMES: usize = 3;

struct Recorded {
    seed: u64,
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
        Self { seed, path, met, manner }
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
    crate::simulation::panics::silence();
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
        if recorded.met.restarts > 0 {
            return 0;
        }
        let replays: Vec<_> = (0..TIMES)
            .map(|_| {
                let replayed = recorded.replay(seed, recorded.manner);
                assert_eq!(replayed.ended, Ok(()), "{:#?}", replayed.findings);
                assert_eq!(replayed.user.notes().broken, [""; 0]);
                assert_eq!((replayed.findings.not_compared, &replayed.findings.breaks_off), (0, &None));
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
        if recorded.met.restarts > 0 {
            return 0;
        }
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

/// A tape of a seed without trouble at its start, whose lines are not checked.
fn edited(purpose: &str, edit: impl Fn(&str) -> String) -> Recorded {
    damaged(purpose, |text| edit(&text.replacen("\"capture\":2", "\"capture\":1", 1)))
}

/// The same, whose lines are checked.
fn damaged(purpose: &str, edit: impl Fn(&str) -> String) -> Recorded {
    crate::simulation::panics::silence();
    let recorded = (1..).map(|seed| Recorded::of(seed, purpose)).find(|recorded| recorded.met.restarts == 0).unwrap();
    let text = std::fs::read_to_string(&recorded.path).unwrap();
    std::fs::write(&recorded.path, edit(&text)).unwrap();
    recorded
}

fn ended(recorded: &Recorded) -> (Result<(), RunError>, Findings) {
    let Replayed { ended, findings, .. } = recorded.replay(recorded.seed, recorded.manner);
    (ended, findings)
}

/// The lines, without the n-th of those that have this text.
fn without(text: &str, which: &str, nth: usize) -> String {
    let mut seen = 0;
    let keeps = |line: &&str| {
        seen += usize::from(line.contains(which));
        !line.contains(which) || seen != nth
    };
    text.lines().filter(keeps).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_tape_that_was_cut_is_compared_up_to_there_and_ends_with_an_error() {
    let recorded = damaged("cut", |text| text[..text.len() * 2 / 3].to_owned());
    let (ended, findings) = ended(&recorded);
    let Err(RunError::World(error)) = ended else { panic!("{ended:?}") };
    assert!(error.contains("the line breaks off at"), "{error}");
    assert!(findings.is_same() && findings.same > 0, "{findings:#?}");
}

#[test]
fn a_tape_cut_behind_a_whole_line_breaks_off() {
    let cut = Cell::new(0);
    let recorded = damaged("broken-off", |text| {
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.last().unwrap().contains("\"finished\":true"), "{lines:?}");
        // In the middle of its first reconcile.
        cut.set(lines.iter().position(|line| line.contains("\"causes\"")).unwrap() + 1);
        lines[..cut.get()].iter().map(|line| format!("{line}\n")).collect()
    });
    let why = "reconcile 1 has no outcome: the recorder was killed, or the file was cut";
    let (ended, findings) = ended(&recorded);
    assert_eq!(ended, Ok(()));
    assert_eq!(findings.breaks_off, Some(format!("the tape breaks off after line {}; {why}", cut.get())));
    assert!(findings.to_string().contains(why), "{findings}");
}

#[test]
fn a_tape_cut_before_its_first_reconcile_breaks_off() {
    let recorded = damaged("beginning", |text| {
        let before = text.lines().take_while(|line| !line.contains("\"reconcile\""));
        before.map(|line| format!("{line}\n")).collect()
    });
    let (ended, findings) = ended(&recorded);
    assert_eq!((ended, findings.reconciles), (Ok(()), 0));
    let why = findings.breaks_off.unwrap();
    assert!(why.ends_with("; the recorder was killed, or the file was cut"), "{why}");
}

#[test]
fn the_tape_of_another_controller_is_refused() {
    let recorded = edited("another", |text| text.replace("\"of\":\"foos\"", "\"of\":\"bars\""));
    let error = "the tape has a reconcile of bars, and no such controller runs here; \
                 replay it with the program that it was recorded of";
    assert_eq!(ended(&recorded).0, Err(RunError::World(error.to_owned())));
}

#[test]
fn a_tape_without_one_of_its_notes_ends_with_an_error_where_it_is_missing() {
    for (purpose, which) in [("began", "\"causes\""), ("read", "\"read\":"), ("ended", "\"outcome\"")] {
        let recorded = edited(purpose, |text| without(text, which, 4));
        let (ended, findings) = ended(&recorded);
        let Err(RunError::World(error)) = ended else { panic!("{purpose}: {ended:?}") };
        assert!(error.contains("lines are missing or out of order"), "{error}");
        assert!(findings.is_same(), "{purpose}: {findings:#?}");
    }
}

#[test]
fn a_tape_without_a_change_that_was_read_is_no_comparison() {
    let recorded = edited("change", |text| without(text, "\"type\":\"MODIFIED", 3));
    let (ended, findings) = ended(&recorded);
    let Err(RunError::World(error)) = ended else { panic!("{ended:?} {findings:#?}") };
    assert!(error.contains("cannot follow the tape"), "{error}");
}

#[test]
fn a_tape_of_other_resources_is_no_comparison() {
    let recorded = edited("resources", |text| text.replace("/settings", "/sittings"));
    let (ended, findings) = ended(&recorded);
    let Err(RunError::World(error)) = ended else { panic!("{ended:?} {findings:#?}") };
    assert!(error.contains("of which the program has no informer"), "{error}");
    assert_eq!(findings.same, 0);
}

#[test]
fn a_tape_of_another_version_is_refused_when_it_is_opened() {
    let recorded = edited("version", |text| text.replacen("\"capture\":1", "\"capture\":3", 1));
    let error = Playback::from_file(&recorded.path).unwrap_err().to_string();
    assert!(error.contains("version 3 of the capture format is unknown here"), "{error}");
}

#[test]
fn a_damaged_tape_ends_with_an_error() {
    let recorded = damaged("damaged", |text| text.replacen("\"type\":\"MODIFIED", "\"type\":\"MODIFIEE", 1));
    let (ended, findings) = ended(&recorded);
    let Err(RunError::World(error)) = ended else { panic!("{ended:?} {findings:#?}") };
    assert!(error.contains("the line is not as it was recorded, by its checksum"), "{error}");
}
