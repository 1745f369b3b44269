//! What goes wrong by a program.

use core::fmt;

/// What has gone wrong by the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An invariant does not hold after a write.
    Invariant(String, String),
    /// The end is not as the test requires it, or the scenario failed.
    Required(String),
    /// The end differs from that of the undisturbed run.
    End(Vec<String>),
    /// The program returned this error, or returned before its end.
    Ended(String),
    /// The program panicked.
    Panicked(String),
    /// The program writes without an end.
    Endless(String),
    /// The program repeats a write that changes nothing.
    Idle(String),
    /// A key fails again and again up to the end, although nothing disturbs it any more.
    Failing(String),
    /// A plan that is replayed names a place that the run does not reach.
    NotReached(String),
    /// Two undisturbed runs differ: no promise holds.
    NotDeterministic(String),
    /// The exploration itself is wrong, such as by a name that is none.
    Setup(String),
}

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
            Self::Setup(why) => write!(f, "the exploration is set up wrongly: {why}"),
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
