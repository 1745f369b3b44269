//! The retry policy: the only place that decides the reaction to a failure.

use super::failure::{Failure, FailureClass, Operation, Reaction};
use core::fmt;

/// A rule of [`RETRY_POLICY`]: the reaction to some failures of some operations.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RetryRule {
    /// The operations that the rule covers.
    pub operations: &'static [Operation],
    /// The failures that the rule covers.
    pub classes: &'static [FailureClass],
    /// The reaction.
    pub reaction: Reaction,
    /// The delay before it.
    pub backoff: BackoffKind,
    /// How many times in a row the reaction applies at most, and the reaction after that.
    pub limit: Option<(u32, Reaction)>,
    /// Whether the next list or watch-list requests the most recent state instead of a minimum version.
    pub most_recent: bool,
}

/// The delay before a reaction; see [`Backoff`](crate::reflector::Backoff).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackoffKind {
    /// None.
    Immediate,
    /// A delay that grows with each request that the server refuses (from
    /// [`Backoff::initial`](crate::reflector::Backoff::initial) to [`Backoff::max`](crate::reflector::Backoff::max)).
    /// Relists after healthy watches grow by a count of their own.
    Exponential,
    /// Where the server does not respond, a short constant delay
    /// ([`Backoff::probe`](crate::reflector::Backoff::probe)). Where a healthy watch broke, only jitter
    /// ([`ReflectorConfig::reconnect_jitter`](crate::reflector::ReflectorConfig::reconnect_jitter)). Where another
    /// response broke, as [`Exponential`](Self::Exponential).
    Probe,
    /// The watch goes on meanwhile. The delay is ten to fifteen minutes, as an index value may have made room. Once an object
    /// has left the cache, it is as [`Exponential`](Self::Exponential), growing with each state in a row that does not fit.
    Room,
}

impl Failure {
    /// The first reaction to this failure; see [`RETRY_POLICY`].
    pub fn reaction(&self, operation: Operation) -> Reaction {
        RetryRule::of(operation, self.class()).reaction
    }
}

impl RetryRule {
    const fn new(
        operations: &'static [Operation],
        classes: &'static [FailureClass],
        reaction: Reaction,
        backoff: BackoffKind,
    ) -> Self {
        Self { operations, classes, reaction, backoff, limit: None, most_recent: false }
    }

    const fn at_most(mut self, times: u32, then: Reaction) -> Self {
        self.limit = Some((times, then));
        self
    }

    const fn asking_for_the_most_recent(mut self) -> Self {
        self.most_recent = true;
        self
    }

    /// The rule for a failure.
    pub fn of(operation: Operation, class: FailureClass) -> &'static Self {
        let covers = |rule: &&Self| rule.operations.contains(&operation) && rule.classes.contains(&class);
        // There is always one, as a test shows.
        RETRY_POLICY.iter().find(covers).unwrap_or(&RETRY_POLICY[0])
    }

    /// Reaction and delay where the rule already applied `times` times in a row.
    pub(super) fn after(&self, times: u32) -> (Reaction, BackoffKind) {
        match (self.limit, self.backoff) {
            // Only the first reactions are immediate.
            (Some((most, then)), Immediate) if times >= most => (then, Exponential),
            (Some((most, then)), backoff) if times >= most => (then, backoff),
            _ => (self.reaction, self.backoff),
        }
    }
}

/// After so many watches in a row that the server refused, it is listed again.
pub(super) const REFUSED_WATCHES: u32 = 3;

use BackoffKind::{Exponential, Immediate, Probe, Room};
use FailureClass::{
    BackInTime, DoesNotFit, Drifted, Expired, Forbidden, Malformed, NotFound, Refused, ServerError, Silent, Stalled,
    StreamError, TooLarge, TooManyRequests, Unauthorized, Unfinished, Unreachable, Unreadable, Unsupported, Untrusted,
    VersionTooLarge, VeryShort,
};
use Operation::{List, Page, Resume, Watch, WatchList};
use Reaction::{ListInstead, Relist, RelistByList, RelistUnpaged, Rewatch};

/// Faults of a response that should have been the whole state. No other form of the request avoids them.
const FAULTS: &[FailureClass] = &[
    Unauthorized,
    Forbidden,
    NotFound,
    Untrusted,
    TooManyRequests,
    ServerError,
    Refused,
    StreamError,
    Malformed,
    TooLarge,
    Unreadable,
    VeryShort,
    Silent,
    Drifted,
];

/// The retry policy of a [`Reflector`](crate::Reflector): exactly one rule for each operation and each failure.
///
/// The reactions are fixed. The delays are configured by
/// [`ReflectorConfig::backoff`](crate::reflector::ReflectorConfig::backoff) and
/// [`reconnect_jitter`](crate::reflector::ReflectorConfig::reconnect_jitter); [`BackoffKind`] describes each kind.
/// [`RetryRule::of`] looks up the rule for an operation and a [`FailureClass`]. Some combinations cannot occur.
///
#[doc = include_str!("retry_policy.md")]
pub const RETRY_POLICY: &[RetryRule] = &[
    // The pages' version is gone; a token to go on inconsistently is not used.
    RetryRule::new(&[Page], &[Expired], RelistUnpaged, Immediate).at_most(1, Relist),
    RetryRule::new(&[List, WatchList], &[Expired, VersionTooLarge, BackInTime], Relist, Exponential)
        .asking_for_the_most_recent(),
    RetryRule::new(&[Page], &[VersionTooLarge, BackInTime], Relist, Exponential).asking_for_the_most_recent(),
    // Perhaps it is the version that the server does not understand.
    RetryRule::new(&[List, Page], &[Unsupported], Relist, Exponential).asking_for_the_most_recent(),
    RetryRule::new(&[List], &[Unreachable, Stalled, Unfinished], Relist, Probe),
    // The pages before were answered.
    RetryRule::new(&[Page], &[Unreachable, Stalled, Unfinished], Relist, Exponential),
    RetryRule::new(&[List, Page], FAULTS, Relist, Exponential),
    RetryRule::new(&[WatchList], &[Unsupported], ListInstead, Immediate),
    // k/k #140890: an aggregated server that never sends the bookmark must not keep every consumer waiting.
    RetryRule::new(&[WatchList], &[Unfinished], Relist, Exponential).at_most(1, ListInstead),
    RetryRule::new(&[WatchList], &[Stalled], Relist, Probe).at_most(1, ListInstead),
    RetryRule::new(&[WatchList], &[Unreachable], Relist, Probe).at_most(1, RelistByList),
    RetryRule::new(&[WatchList], FAULTS, Relist, Exponential).at_most(1, RelistByList),
    // The version is not good any more, or something that it stands for was missed.
    RetryRule::new(
        &[Watch],
        &[Expired, VersionTooLarge, BackInTime, NotFound, Unsupported, StreamError, Unreadable, Silent, Drifted],
        Relist,
        Exponential,
    ),
    // The cache takes what fits, and another state fits no better unless something has left the cache.
    RetryRule::new(&[List, Page, WatchList, Watch, Resume], &[DoesNotFit], Relist, Room),
    // Anything else leaves the version as good as it was. An outage, however long, leads to no relist.
    RetryRule::new(&[Watch], &[Unreachable, Stalled], Rewatch, Probe),
    RetryRule::new(&[Watch], &[TooManyRequests, Unfinished, Malformed, TooLarge, Untrusted], Rewatch, Exponential),
    // Perhaps this server cannot watch on from this version, and reports that by an unknown error, or ends the watch: of
    // Events, whose watches bypass its cache, a kube-apiserver has done so.
    RetryRule::new(&[Watch], &[Unauthorized, Forbidden, ServerError, Refused, VeryShort], Rewatch, Exponential)
        .at_most(REFUSED_WATCHES, Relist),
    // The saved state is of another history, or it may be.
    RetryRule::new(&[Resume], &[Expired, VersionTooLarge, BackInTime, Unsupported], Relist, Exponential)
        .asking_for_the_most_recent(),
    RetryRule::new(
        &[Resume],
        &[NotFound, StreamError, TooLarge, Unreadable, VeryShort, Silent, Drifted],
        Relist,
        Exponential,
    ),
    // The saved state is as good as it was, however long the outage is.
    RetryRule::new(&[Resume], &[Unreachable, Stalled, Unfinished], Reaction::Resume, Probe),
    RetryRule::new(
        &[Resume],
        &[Unauthorized, Untrusted, TooManyRequests, ServerError, Refused],
        Reaction::Resume,
        Exponential,
    ),
    // Perhaps the account may watch, but not list: a watch-list is a watch.
    RetryRule::new(&[Resume], &[Forbidden], Reaction::Resume, Exponential).at_most(REFUSED_WATCHES, Relist),
    // Perhaps the answer broke off, or this server's versions have no order.
    RetryRule::new(&[Resume], &[Malformed], Reaction::Resume, Exponential).at_most(1, Relist),
];

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relist => "relist",
            RelistByList => "relist by a list",
            RelistUnpaged => "list unpaged",
            ListInstead => "list instead, for a day",
            Rewatch => "rewatch",
            Self::Resume => "resume",
        })
    }
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests {
    use super::*;

    #[test]
    fn there_is_exactly_one_rule_for_each_operation_and_each_failure() {
        for operation in [List, Page, WatchList, Watch, Resume] {
            for class in FailureClass::ALL {
                let covers = |rule: &&RetryRule| rule.operations.contains(&operation) && rule.classes.contains(&class);
                assert_eq!(RETRY_POLICY.iter().filter(covers).count(), 1, "{operation}: {class}");
            }
        }
    }
}
