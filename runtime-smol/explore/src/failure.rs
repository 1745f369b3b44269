//! What an exploration found, as a story and as a plan.

use crate::course::Fault;
use crate::plan::Plan;
use core::error::Error;
use core::fmt;

/// A fault of the program, with the smallest plan that shows it. Its `Debug` is its `Display`, so a test prints it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What is wrong.
    pub fault: Fault,
    /// The plan, for [`Exploration::replay`](crate::Exploration::replay). Without disturbances, the program is wrong
    /// undisturbed.
    pub plan: Plan,
    /// What goes wrong, and what the program writes, in the order of time.
    pub story: Vec<String>,
    /// The number of the run that found it.
    pub run: usize,
    /// The seed of the exploration.
    pub seed: u64,
}

/// So many of the last lines of a story are printed.
const LINES: usize = 24;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.fault)?;
        if self.plan.disturbances.is_empty() {
            writeln!(f, "It is so without any disturbance.")?;
        }
        for disturbance in &self.plan.disturbances {
            writeln!(f, "- {}", disturbance.trouble.told(&disturbance.place))?;
        }
        let skipped = self.story.len().saturating_sub(LINES);
        let early = self.story[..skipped].iter().filter(|line| line.starts_with('*'));
        writeln!(f, "The run, in simulated time{}:", if skipped > 0 { " (its last lines)" } else { "" })?;
        early.chain(&self.story[skipped..]).try_for_each(|line| writeln!(f, "  {line}"))?;
        writeln!(f, "Found in run {} of seed {}. This shows it again:", self.run, self.seed)?;
        write!(f, "    exploration.replay(&Plan::parse({:?})?)?;", self.plan.to_string())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Failure {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invariant(name, why) => write!(f, "{name:?} does not hold after a write: {why}"),
            Self::Required(why) => f.write_str(why),
            Self::End(differences) => {
                f.write_str("the end differs from that of the undisturbed run:")?;
                differences.iter().take(12).try_for_each(|text| write!(f, "\n    {text}"))
            }
            Self::Ended(why) => write!(f, "the program ended: {why}"),
            Self::Panicked(message) => write!(f, "the program panicked: {message}"),
            Self::Endless(why) => write!(f, "the program writes without an end: {why}"),
            Self::Idle(at) => write!(f, "the program repeats a write that changes nothing: {at}"),
            Self::Failing(key) => write!(f, "a key goes on to fail, although nothing disturbs it: {key}"),
            Self::NotReached(disturbance) => write!(f, "the run does not reach this place of the plan: {disturbance}"),
            Self::NotDeterministic(why) => write!(
                f,
                "two undisturbed runs differ: {why}. A program under simulated time has no clock, threads or randomness of \
                 its own, and does not depend on the order of a `HashMap`"
            ),
        }
    }
}

impl Fault {
    /// Whether both are the same kind of fault.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Invariant(name, _), Self::Invariant(other, _)) => name == other,
            _ => core::mem::discriminant(self) == core::mem::discriminant(other),
        }
    }
}
