//! What an exploration has reached.

use crate::place::{Place, is_work};
use crate::plan::{Disturbance, Plan};
use crate::run::Outcome;
use crate::value::fingerprint;
use core::fmt;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What an exploration without a failure has reached. It is displayed as a table, and its `Debug` is its `Display`.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Explored {
    /// How many disturbed runs there were.
    pub runs: usize,
    /// How many runs were undisturbed, or disturbed in a benign way.
    pub undisturbed: usize,
    /// The seed of the plans that were drawn.
    pub seed: u64,
    /// How often each place, without its number, met each kind of trouble.
    pub met: BTreeMap<String, BTreeMap<String, usize>>,
    /// The disturbances that were planned alone, or by a [file](crate::Exploration::plans), and whose place was not
    /// reached.
    pub never_reached: BTreeSet<String>,
    /// How many disturbances have had no run of their own, for which more runs are needed.
    pub untried: usize,
    /// The last run that showed something new.
    pub last_new: usize,
    /// The simulated time of all runs, in seconds.
    pub simulated: u64,
    /// The sequences of writes so far.
    seen: HashSet<u64>,
}

impl Explored {
    /// Takes note of a run without a plan.
    pub(crate) fn on_learned(&mut self, outcome: &Outcome) {
        self.undisturbed += 1;
        self.simulated += outcome.lasted.as_nanos() / 1_000_000_000;
        self.seen.insert(sequence(outcome));
    }

    /// Takes note of a run. True if it showed something new.
    pub(crate) fn on_run(&mut self, plan: &Plan, outcome: &Outcome) -> bool {
        self.runs += 1;
        self.simulated += outcome.lasted.as_nanos() / 1_000_000_000;
        for (disturbance, fired) in plan.disturbances.iter().zip(&outcome.traces.fired) {
            let Disturbance { place, trouble } = disturbance;
            if *fired {
                *self.met.entry(place.at.clone()).or_default().entry(trouble.name()).or_default() += 1;
            } else if plan.disturbances.len() == 1 {
                self.never_reached.insert(disturbance.to_string());
            }
        }
        let is_new = self.seen.insert(sequence(outcome));
        if is_new {
            self.last_new = self.runs;
        }
        is_new
    }
}

/// A fingerprint of the order of the writes.
fn sequence(outcome: &Outcome) -> u64 {
    let writes = outcome.traces.passed.iter().map(|passed| &passed.place).filter(|place| counts(place));
    writes.fold(0, |hash, place| {
        let text = place.to_string();
        (hash ^ fingerprint(text.as_bytes())).rotate_left(5).wrapping_mul(0x0100_0000_01b3)
    })
}

fn counts(place: &Place) -> bool {
    (place.is_write() || place.verb() == "CALL") && is_work(place.resource())
}

impl fmt::Debug for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, seed, undisturbed) = (self.runs, self.seed, self.undisturbed);
        let hours = self.simulated / 3600;
        writeln!(
            f,
            "{runs} runs of seed {seed}, and {undisturbed} undisturbed ones, {hours} simulated hours: no fault"
        )?;
        match self.last_new {
            0 => writeln!(f, "no run showed another order of writes than the undisturbed ones")?,
            last => writeln!(f, "run {last} was the last one that showed a new order of writes")?,
        }
        if self.untried > 0 {
            writeln!(f, "{} disturbances had no run of their own: more runs reach them", self.untried)?;
        }
        for (at, met) in &self.met {
            let met: Vec<String> = met.iter().map(|(trouble, count)| format!("{trouble} {count}")).collect();
            writeln!(f, "  {at}: {}", met.join(", "))?;
        }
        if self.never_reached.is_empty() {
            return Ok(());
        }
        writeln!(f, "never reached:")?;
        self.never_reached.iter().try_for_each(|text| writeln!(f, "  {text}"))
    }
}
