//! What a replay found.

use super::plausible;
use core::fmt;
use listwatch_core::text::{Counted, Printable};
use listwatch_transport_file::SentCall;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// What a replay found in the reconciles of a controller: its writes beside those of the tape.
///
/// [`Display`](fmt::Display) writes the counts in one line, and the first divergence below.
///
/// Bodies are compared as JSON. Numbers that do not fit into 64 bits are compared as `f64`, so two of them that differ by
/// less than its precision are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// The reconciles that were replayed.
    pub reconciles: u64,
    /// The writes that are as they were.
    pub same: u64,
    /// The writes of the tape that the controller did not make.
    pub missing: u64,
    /// The requests of the controller that the tape does not have.
    pub additional: u64,
    /// The writes that the controller made with other fields.
    pub different: u64,
    /// The reconciles that ended with another outcome.
    pub outcomes: u64,
    /// The reconciles that were not compared, because others, on other threads, read between their reads.
    pub not_compared: u64,
    /// The reconciles that were not compared, because the tape goes on for more than 64 MiB before they end.
    pub too_long: u64,
    /// The writes of Secrets and tokens that were not compared, because hashes stand for their values, and not of one key.
    pub secrets_not_compared: u64,
    /// The differences that follow from earlier ones. They are in none of the counts above.
    ///
    /// The tape stays the truth after a difference. So a program that wants another state of an object finds its wish
    /// undone at the next reconcile, and writes again; its write is additional. In the same way, writes and outcomes follow
    /// behind an answer that the replay made up.
    pub follows: u64,
    /// Where the tape breaks off, if it has no last line, and which reconciles have no outcome. What is before is compared.
    pub breaks_off: Option<String>,
    /// Whether the tape has keyed hashes in place of the values of Secrets. A program that needs the values differs by that.
    pub has_hashes: bool,
    /// What differs, in the order of the tape. The first thousand are kept.
    pub divergences: Vec<Divergence>,
}

/// A difference between a controller and its tape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// The line of the tape on which the reconcile began.
    pub line: u64,
    /// The number of the reconcile.
    pub reconcile: u64,
    /// The controller's name.
    pub of: Arc<str>,
    /// The key that was reconciled.
    pub key: String,
    /// One for the first attempt.
    pub attempt: u32,
    /// The events that woke the reconcile, the oldest first.
    pub causes: Vec<String>,
    /// What differs.
    pub kind: DivergenceKind,
    /// Whether it follows from an earlier difference, as [`Findings::follows`] says.
    pub follows: bool,
}

/// How a controller differs from its tape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DivergenceKind {
    /// A write of the tape was not made.
    Missing {
        /// The HTTP method.
        method: String,
        /// The path and the query.
        target: String,
    },
    /// A write that the tape does not have, or another request that it has no answer to.
    Additional {
        /// The HTTP method.
        method: String,
        /// The path and the query.
        target: String,
        /// The fields that it sends, as `spec.replicas 3`. None are told of a Secret.
        fields: Vec<String>,
    },
    /// A write with other fields.
    Different {
        /// The HTTP method.
        method: String,
        /// The path and the query on the tape.
        target: String,
        /// The fields, as `spec.replicas 2 → 3`. Those of a Secret have no values.
        fields: Vec<String>,
    },
    /// The reconcile ended with another outcome.
    Outcome {
        /// That of the tape.
        recorded: String,
        /// That of the replay.
        replayed: String,
    },
}

/// How a reconcile begins on a tape.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Beginning {
    #[serde(rename = "reconcile")]
    pub(super) number: u64,
    /// The line of the tape.
    pub(super) line: u64,
    /// The controller.
    pub(super) of: Arc<str>,
    pub(crate) key: String,
    pub(crate) attempt: u32,
    pub(crate) causes: Vec<String>,
}

/// What was found in one reconcile.
pub(super) struct Found {
    pub(super) beginning: Beginning,
    pub(super) same: u64,
    pub(super) secrets_not_compared: u64,
    pub(super) is_inexact: bool,
    /// Its end was not looked for.
    pub(super) is_too_long: bool,
    pub(super) divergences: Vec<Difference>,
}

/// A difference, before it is known whether it follows from that of another reconcile.
pub(super) struct Difference {
    pub(super) kind: DivergenceKind,
    /// The path of the object that the request is for, if it names one.
    pub(super) object: Option<String>,
    /// It is behind an answer that the replay made up.
    pub(super) is_behind: bool,
}

/// The objects that reconciles with differences wrote.
#[derive(Default)]
pub(super) struct Diverged(HashSet<String>);

/// Writes the counts.
struct Counts<'f>(&'f Findings);

/// Why a program may differ from a tape without the values of Secrets.
const HASHES: &str = "; the tape has keyed hashes in place of the values of Secrets, so a program that needs the values \
                      differs; record it with Secrets, by `World::recorded_with_secrets_to`";
/// How many divergences are kept.
const KEPT: usize = 1000;
/// How many objects with differences are remembered. Differences of others count as their own.
const MOST: usize = 65_536;
/// How many causes a message names.
const NAMED: usize = 3;
/// The characters of a text in a message at the most, and of all fields.
const SHORT: usize = 512;
const LONG: usize = 4096;

impl Findings {
    /// Whether the controller made the writes of the tape, and no others. Writes that
    /// [were not compared](Self::secrets_not_compared) may be others.
    pub fn is_same(&self) -> bool {
        self.total() == 0 && self.secrets_not_compared == 0
    }

    /// All differences, with those that follow from others.
    pub fn total(&self) -> u64 {
        self.missing + self.additional + self.different + self.outcomes + self.follows
    }

    /// The counts, in one line.
    pub(crate) fn counts(&self) -> impl fmt::Display {
        Counts(self)
    }

    pub(super) fn add(&mut self, found: Found, diverged: &mut Diverged) {
        let Found { beginning, same, secrets_not_compared, is_inexact, is_too_long, divergences } = found;
        self.reconciles += 1;
        if is_too_long {
            self.too_long += 1;
            return;
        }
        if is_inexact && !divergences.is_empty() {
            self.not_compared += 1;
            return;
        }
        self.same += same;
        self.secrets_not_compared += secrets_not_compared;
        let divergences: Vec<_> = divergences.into_iter().map(|it| (diverged.follows(&it), it)).collect();
        for (follows, Difference { kind, object, .. }) in divergences {
            *if follows { &mut self.follows } else { self.count(&kind) } += 1;
            diverged.add(object);
            let Beginning { number: reconcile, line, of, key, attempt, causes } = beginning.clone();
            let divergence = Divergence { line, reconcile, of, key, attempt, causes, kind, follows };
            let place = self.divergences.partition_point(|other| other.line <= line);
            self.divergences.insert(place, divergence);
            self.divergences.truncate(KEPT);
        }
    }

    fn count(&mut self, kind: &DivergenceKind) -> &mut u64 {
        match kind {
            DivergenceKind::Missing { .. } => &mut self.missing,
            DivergenceKind::Additional { .. } => &mut self.additional,
            DivergenceKind::Different { .. } => &mut self.different,
            DivergenceKind::Outcome { .. } => &mut self.outcomes,
        }
    }
}

impl Difference {
    /// A difference in this call, to which nothing led.
    pub(super) fn of(kind: DivergenceKind, call: &SentCall) -> Self {
        Self { kind, object: plausible::object_of(call), is_behind: false }
    }
}

impl Diverged {
    /// A write that both make stands for itself, unless the replay made up what led to it.
    fn follows(&self, difference: &Difference) -> bool {
        let is_known = || difference.object.as_ref().is_some_and(|object| self.0.contains(object));
        difference.is_behind || !matches!(difference.kind, DivergenceKind::Different { .. }) && is_known()
    }

    fn add(&mut self, object: Option<String>) {
        if self.0.len() < MOST {
            self.0.extend(object);
        }
    }
}

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { reconciles, same, missing, additional, different, outcomes, .. } = self.0;
        let Findings { follows, secrets_not_compared, not_compared, too_long, breaks_off, has_hashes, .. } = self.0;
        let reconciles = Counted(*reconciles, "reconcile", "reconciles");
        write!(f, "replayed {reconciles}: {}", Counted(*same, "write is the same", "writes are the same"))?;
        if self.0.is_same() {
            f.write_str(", and no other was made")?;
        } else {
            let outcomes = Counted(*outcomes, "other outcome", "other outcomes");
            write!(f, ", {missing} missing, {additional} additional, {different} different; {outcomes}")?;
        }
        let counted = [
            Counted(*follows, "more follows from them", "more follow from them"),
            Counted(*secrets_not_compared, "write of Secrets was not compared", "writes of Secrets were not compared"),
        ];
        counted.iter().filter(|counted| counted.0 > 0).try_for_each(|counted| write!(f, "; {counted}"))?;
        let left = [(not_compared, "others read between the reads"), (too_long, "the end is more than 64 MiB later")];
        for (count, why) in left.into_iter().filter(|(count, _)| **count > 0) {
            let reconciles = Counted(*count, "reconcile was", "reconciles were");
            write!(f, "; {reconciles} not compared, because {why}")?;
        }
        if *has_hashes && !self.0.is_same() {
            f.write_str(HASHES)?;
        }
        breaks_off.iter().try_for_each(|why| write!(f, "; {why}"))
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts().fmt(f)?;
        self.divergences.first().map_or(Ok(()), |first| write!(f, "\nthe first: {first}"))
    }
}

/// A line for people: `reconcile 12 of foos, web/a, attempt 1 (Updated …): PATCH …: spec.replicas 2 → 3`.
impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, key) = (Printable::new(&*self.of), Printable::new(&*self.key));
        write!(f, "reconcile {} of {of}, {key}, attempt {}", self.reconcile, self.attempt)?;
        for (place, cause) in self.causes.iter().rev().take(NAMED).enumerate() {
            write!(f, "{}{}", if place == 0 { " (" } else { ", " }, Printable::new(cause))?;
        }
        match self.causes.len() {
            0 => {}
            1..=NAMED => f.write_str(")")?,
            more => write!(f, " and {} more)", more - NAMED)?,
        }
        write!(f, ": {}", self.kind)?;
        if self.follows { f.write_str(" (follows from an earlier difference)") } else { Ok(()) }
    }
}

impl fmt::Display for DivergenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { method, target } => {
                write!(f, "missing: {} {}", short(method), short(target))
            }
            Self::Additional { method, target, fields } => {
                write!(f, "additional: {} {}", short(method), short(target))?;
                let separator = if fields.is_empty() { "" } else { ": " };
                write!(f, "{separator}{}", joined(fields))
            }
            Self::Different { method, target, fields } => {
                write!(f, "different: {} {}: {}", short(method), short(target), joined(fields))
            }
            Self::Outcome { recorded, replayed } => {
                write!(f, "the outcome was {}, and is {}", short(recorded), short(replayed))
            }
        }
    }
}

fn joined(fields: &[String]) -> impl fmt::Display {
    Printable::new(fields.join(", ")).at_most(LONG)
}

fn short(text: &str) -> impl fmt::Display {
    Printable::new(text).at_most(SHORT)
}
