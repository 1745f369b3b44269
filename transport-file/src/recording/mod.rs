//! Recording of other transports.

mod calls;
mod config;
mod hashes;
mod recorder;
mod tape;
mod writer;

pub use calls::RecordedCalls;
pub use config::RecorderConfig;
pub use recorder::Recorder;
pub use tape::Tape;
