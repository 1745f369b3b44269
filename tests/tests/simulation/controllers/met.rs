//! What many seeds have met.

use super::user::Tally;
use listwatch_tests::sim::{Inside, Repeated};
use std::collections::BTreeMap;
use std::fmt;

/// What can go wrong between a controller and its server, as it counts them.
const FAULTS: [&str; 29] = [
    "ConnectionRefused",
    "CutByEnd",
    "CutByReset",
    "CutBySilence",
    "Delay",
    "EmptyBody",
    "Forbidden",
    "GatewayTimeout",
    "Gone",
    "HtmlBadGateway",
    "InternalError",
    "Late",
    "Postponed",
    "Refused(409)",
    "Refused(429)",
    "Refused(500)",
    "Reset(false)",
    "Reset(true)",
    "Restart",
    "Silence",
    "Silent(false)",
    "Silent(true)",
    "StreamError",
    "StreamGone",
    "StreamThrottled",
    "Throttled",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
];

/// Counts of a seed, or of many.
#[derive(Debug, Default)]
pub(super) struct Met {
    seeds: u64,
    tally: Tally,
    /// What went wrong between the controller and its server.
    faults: BTreeMap<String, u64>,
    /// Writes that were made, those of which the answer was lost, and those that were repeated: because of that, or not.
    writes: u64,
    lost: u64,
    repeated_after_loss: u64,
    pub(super) repeated: Vec<Repeated>,
    seconds: u64,
    /// After how many reconciles the user's code had no flaws any more.
    pub(super) calm_after: u64,
    /// How often the controller could not start, and no task ran its informers for a while.
    pub(super) restarts: u64,
    /// Of all that went over the wire; of many seeds it says nothing.
    pub(super) hash: u64,
}

impl Met {
    pub(super) fn reconciles(&self) -> u64 {
        self.tally.reconciles
    }

    /// What one seed has met.
    pub(super) fn of(tally: Tally, (calm_after, restarts): (u64, u64), inside: &Inside, seconds: u64) -> Self {
        let ledger = &inside.ledger;
        Self {
            calm_after,
            restarts,
            seeds: 1,
            tally,
            faults: inside.met.clone(),
            writes: ledger.made() as u64,
            lost: ledger.lost,
            repeated_after_loss: ledger.repeated_after_loss,
            repeated: ledger.repeated.clone(),
            seconds,
            hash: inside.trace.hash(),
        }
    }

    /// Adds what others have met.
    pub(super) fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.tally.add(&other.tally);
        for (fault, times) in &other.faults {
            *self.faults.entry(fault.clone()).or_default() += times;
        }
        self.writes += other.writes;
        self.lost += other.lost;
        self.repeated_after_loss += other.repeated_after_loss;
        self.repeated.extend_from_slice(&other.repeated);
        self.seconds += other.seconds;
    }

    /// What never went wrong, of all that can.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let Tally { errors, panics, hangs, conflicts, told_late, .. } = self.tally;
        let of_users = [
            ("an error", errors),
            ("a panic", panics),
            ("a reconcile that never resolves", hangs),
            ("a conflict", conflicts),
            ("a write that is not shown in time", told_late),
            ("a lost answer", self.lost),
        ];
        let of_users = of_users.into_iter().filter(|(_, times)| *times == 0).map(|(what, _)| what);
        of_users.chain(FAULTS.into_iter().filter(|fault| !self.faults.contains_key(*fault))).collect()
    }
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, writes, lost, repeated_after_loss, repeated, seconds, .. } = self;
        writeln!(f, "{seeds} seeds, {} simulated hours, {:?}", seconds / 3600, self.tally)?;
        writeln!(
            f,
            "{writes} writes, of which {lost} answers were lost; repeated for one drift: {}, and \
             {repeated_after_loss} after a lost answer",
            repeated.len()
        )?;
        write!(f, "{:?}", self.faults)
    }
}
