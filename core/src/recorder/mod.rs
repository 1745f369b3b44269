//! Events of `events.k8s.io/v1`: what a controller did, for the operators of its objects.
//!
//! | type | purpose |
//! |---|---|
//! | [`EventRecorder`] | writes occurrences as Events: repeats as series, and no more than the server should bear |
//! | [`RecorderConfig`] | which controller reports, and the limits |
//! | [`Occurrence`], [`ObjectReference`] | what happened, and to which object |
//! | [`RecorderCounts`], [`RecorderProblem`] | what became of the occurrences |

mod call;
mod config;
mod counts;
mod event_recorder;
mod name;
mod occurrence;
mod recent;
mod reference;
mod series;
mod spam;
#[cfg(test)]
mod tests;

pub use config::{RecorderConfig, RecorderConfigError};
pub use counts::{RecorderCounts, RecorderProblem};
pub use event_recorder::{EventRecorder, RecorderAction};
pub use occurrence::{EventType, Occurrence};
pub use reference::ObjectReference;
