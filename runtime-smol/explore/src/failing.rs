//! The keys that a program fails to reconcile, by its reports.

use core::time::Duration;
use listwatch::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// A key that fails once may succeed at its next attempt.
const OFTEN: u32 = 2;

/// The keys that fail, although nothing disturbs the program any more.
#[derive(Debug, Default)]
pub(crate) struct Failing {
    /// Of keys with their controllers.
    counts: BTreeMap<String, u32>,
    /// Those that have not succeeded up to the end.
    for_ever: BTreeSet<String>,
    /// When the last of the attempts is due that were told, also before the calm.
    attempt: Option<Instant>,
}

impl Failing {
    /// A controller tells when it tries a key again.
    pub(crate) fn await_attempt(&mut self, now: Instant, line: &str) {
        self.attempt = self.attempt.max(next_attempt(line).map(|wait| now + wait));
    }

    /// When no attempt is to come, as far as controllers have told.
    pub(crate) fn attempted(&self) -> Option<Instant> {
        self.attempt
    }

    /// A controller tells in calm that a key has failed.
    pub(crate) fn on_failure(&mut self, key: &str, line: &str) {
        // A key that is parked has no next attempt.
        let count = if line.contains(", parked until it changes") { OFTEN } else { 1 };
        *self.counts.entry(key.to_owned()).or_default() += count;
    }

    /// Something disturbs the program again.
    pub(crate) fn forget(&mut self) {
        self.counts.clear();
    }

    /// A controller has ended, by a report that names what is left.
    pub(crate) fn on_end(&mut self, line: &str) {
        let Some((controller, left)) = line.split_once(": ended; ") else { return };
        let is_left = |key: &str| left.contains(&format!(" {key} (")) || left.contains(" …");
        let often = self.counts.iter().filter(|(_, count)| **count >= OFTEN).map(|(name, _)| name);
        let left = often.filter(|name| {
            let key = name.strip_prefix(controller).and_then(|rest| rest.strip_prefix(": "));
            key.is_some_and(is_left)
        });
        let left: Vec<String> = left.cloned().collect();
        self.for_ever.extend(left);
    }

    /// Whether it depends on the next attempt whether a key fails for ever.
    pub(crate) fn is_undecided(&self) -> bool {
        self.counts.values().any(|count| *count < OFTEN)
    }

    pub(crate) fn for_ever(&self) -> &BTreeSet<String> {
        &self.for_ever
    }
}

/// The controller and the key that a line for operators tells as failed.
pub(crate) fn failed(line: &str) -> Option<&str> {
    line.find(": failed").map(|end| &line[..end])
}

/// When the key is tried again that a line for operators tells as failed.
fn next_attempt(line: &str) -> Option<Duration> {
    let wait = line.split_once(", next attempt in ")?.1.split(':').next()?;
    match wait.strip_suffix("ms") {
        Some(millis) => millis.parse().ok().map(Duration::from_millis),
        None => wait.strip_suffix('s')?.parse().ok().map(Duration::from_secs),
    }
}

/// Whether a line for operators tells of a panic.
pub(crate) fn is_panic(line: &str) -> bool {
    line.contains(": the reconcile panicked: ") || line.contains(" panicked over ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn for_ever(failures: u32, end: &str) -> Vec<String> {
        let mut failing = Failing::default();
        (0..failures).for_each(|_| failing.on_failure("keep: default/a", "keep: default/a: failed: no"));
        failing.on_end(end);
        failing.for_ever().iter().cloned().collect()
    }

    #[test]
    fn the_last_attempt_that_was_told_is_awaited() {
        let (mut failing, now) = (Failing::default(), Instant::ZERO);
        let lines = ["a: web/a: failed, next attempt in 82s: no", "a: web/b: failed, next attempt in 5ms: in 90s: no"];
        lines.iter().for_each(|line| failing.await_attempt(now, line));
        failing.await_attempt(now, "a: web/c: failed, parked until it changes: no");
        assert_eq!(failing.attempted(), Some(now + Duration::from_secs(82)));
    }

    #[test]
    fn a_key_fails_for_ever_if_it_has_failed_twice_and_has_not_succeeded_in_the_end() {
        let left = "keep: ended; 1 key is not done: default/a (backing off)";
        assert_eq!(for_ever(2, left), ["keep: default/a"]);
        assert_eq!(for_ever(1, left), [""; 0]);
        assert_eq!(for_ever(2, "keep: ended; every key is done"), [""; 0]);
        assert_eq!(for_ever(2, "other: ended; 1 key is not done: default/a (parked)"), [""; 0]);
    }
}
