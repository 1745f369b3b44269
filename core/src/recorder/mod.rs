//! Events of `events.k8s.io/v1`: what a controller did, for the operators of its objects.
//!
//! | type | purpose |
//! |---|---|
//! | [`EventRecorder`] | writes occurrences as Events: repeats as series, and no more than the server should bear |
//! | [`RecorderConfig`] | which controller reports, and the limits |
//! | [`Occurrence`], [`ObjectReference`] | what happened, and to which object |
//! | [`RecorderCounts`], [`RecorderProblem`] | what became of the occurrences |

mod config;
mod event_recorder;
mod occurrence;
mod series;
mod spam;
#[cfg(test)]
mod tests;

pub use config::{RecorderConfig, RecorderConfigError};
pub use event_recorder::{EventRecorder, RecorderCounts, RecorderProblem};
pub use occurrence::{EventType, ObjectReference, Occurrence};
