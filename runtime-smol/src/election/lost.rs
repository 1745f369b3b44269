//! The end of a term.

use core::fmt;
use listwatch_core::election::StopReason;
use listwatch_core::text::Printable;

/// What a candidate does after it has lost its term (client-go's `Run` ends, and so do the programs that call it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenLost {
    /// It ends, with an error. So the program starts again, and nothing that it knew under the old term is left. This is
    /// the default, as in client-go and controller-runtime.
    #[default]
    End,
    /// It is a candidate again. The program answers for what it keeps in its memory: another leader may have changed the
    /// cluster meanwhile, and what lies outside of it.
    Rejoin,
}

/// Whether work has to stop at once.
pub(super) fn is_lost(reason: &StopReason) -> bool {
    *reason != StopReason::Asked
}

/// Writes why a term is over.
pub(crate) fn write_reason(f: &mut fmt::Formatter<'_>, reason: &StopReason) -> fmt::Result {
    match reason {
        StopReason::Asked => f.write_str("it was asked to stop"),
        StopReason::Expired => f.write_str("no renewal succeeded within the renew deadline"),
        StopReason::Taken { by: Some(holder) } => write!(f, "{} holds the lease now", Printable::new(holder)),
        StopReason::Taken { by: None } => f.write_str("another client changed the lease"),
        _ => f.write_str("the term is over"),
    }
}
