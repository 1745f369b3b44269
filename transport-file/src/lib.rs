//! Recording and playback of Kubernetes lists and watches, as transports of `listwatch-core`.
//!
//! | to | use |
//! |---|---|
//! | record a controller into one file: its resources, its requests and its reconciles | [`Tape`], with a [`RecorderConfig`] |
//! | record one resource into a file | [`Recorder`] |
//! | play a file to an informer | [`Playback`] |
//! | choose delays and chunk sizes, skip bad lines | [`PlaybackConfig`], [`Pace`], [`Chunks`] |
//! | answer the single requests of a controller from a recording | [`Playback::client`], which makes a [`PlaybackClient`] |
//! | read a file as the states and changes of its resources | [`History`], which gives [`HistoryStep`]s |
//! | read a file as what happened, with requests, answers and reconciles | [`Timeline`], which gives [`Moment`]s |
//! | read an audit log of API servers, as a capture | [`AuditLog`], which tells an [`AuditSummary`] |
//! | read exported Events, as a capture | [`ExportedEvents`], which tells an [`ExportSummary`] |
//! | compare the values of Secrets by hashes alone | [`hash_values`], [`HashedBy`] |
//! | name the kinds that Kubernetes has | [`kinds`] |
//! | count the exchanges that were played, and those left | [`Summary`], [`Tally`], [`Progress`] |
//! | report a bad file by line, with a remedy | [`CaptureError`], [`CaptureErrorKind`] |
//!
//! [`Playback::from_file`] takes three kinds of files, plain, in UTF-16, or compressed by gzip or Zstandard, and detects the
//! kind by the first bytes:
//!
//! * a **capture**: JSON lines with each request, each chunk of each response, and the times between them;
//! * a **log**: values one behind the other, one per line or in any layout. They are events of watches
//!   (`kubectl get --watch --output-watch-events -o json`), objects, lists, or what the command printed for programs. A log
//!   is played as a first list and a watch. Behind an error of a server, and where objects are listed anew, another list
//!   and another watch follow;
//! * a **list**: the output of `kubectl get -o json`, or a list as the server sent it. It is played as one list.
//!
//! If a file is truncated or garbled, everything before the fault is played, and [`Playback::error`] names the line.
//!
//! A later version of this crate reads the tapes that this one writes, and captures of other programs. If a line of a later
//! tape means something else, its first line has a higher number, and this version refuses it as a whole.
//!
//! The smallest program polls a capture. An informer of `listwatch-core` does so by itself.
//!
//! ```
//! use core::task::{Context, Poll, Waker};
//! use listwatch_core::request::{Request, RequestId};
//! use listwatch_core::transport::{Incoming, ReadContext};
//! use listwatch_core::{Instant, ListerWatcher};
//! use listwatch_transport_file::Playback;
//!
//! let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures/chaos.jsonl.gz");
//! let mut playback = Playback::from_file(capture)?;
//! playback.open(RequestId(1), &Request::parse("/api/v1/pods?limit=500"));
//!
//! let (mut cx, mut buf, mut now) = (Context::from_waker(Waker::noop()), [0; 4096], Instant::ZERO);
//! let mut bytes = 0;
//! loop {
//!     let context = ReadContext { cx: &mut cx, now, max_wait: None };
//!     match playback.poll_read(context, &mut buf) {
//!         Poll::Ready(Incoming::Head { head, .. }) => assert_eq!(head.status, 200),
//!         Poll::Ready(Incoming::Data { len, .. }) => bytes += len,
//!         Poll::Ready(Incoming::Idle { until: Some(until) }) => now = until,
//!         _ => break,
//!     }
//! }
//! assert_eq!(bytes, 455_970);
//! # Ok::<(), listwatch_transport_file::CaptureError>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

// The public API.
mod audit;
mod error;
mod exported;
mod history;
pub mod kinds;
mod playback;
mod recording;
mod timeline;

// The files: bytes and lines, captures, and files that are one body.
mod body;
mod capture;
mod fields;
mod file;
mod memory;
mod object;
mod packed;

pub use audit::{AuditLog, AuditSummary};
pub use capture::{Call, CallEnd, LateWrite, Note, NoteKind, Position, Positions, SentCall, TapeStart, Target};
pub use error::{CaptureError, CaptureErrorKind};
pub use exported::{ExportSummary, ExportedEvents};
pub use history::{Change as RecordedChange, History, HistoryChange, HistoryStep, RecordedResource, Unreadable};
#[doc(hidden)]
pub use memory::weight;
pub use object::ObjectText;
pub use packed::ObjectPacker;
pub use playback::{
    Chunks, Pace, Playback, PlaybackClient, PlaybackConfig, Progress, Step, StepKind, Steps, Summary, Tally,
};
pub use recording::{HashedBy, RecordedCalls, Recorder, RecorderConfig, Tape, hash_values};
pub use timeline::{Moment, MomentKind, Timeline};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_types_cross_threads() {
        fn error<T: std::error::Error + Send + Sync + 'static>() {}
        fn owned<T: Send + 'static>() {}
        error::<CaptureError>();
        owned::<(Playback, PlaybackClient, PlaybackConfig, Recorder<Playback>, RecorderConfig, Summary)>();
        owned::<(Tape, RecordedCalls<PlaybackClient>, Note)>();
    }
}
