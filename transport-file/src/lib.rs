//! Recording and playback of lists and watches, as a [`ListerWatcher`](listwatch_core::ListerWatcher).
//!
//! [`Recorder`] stands in front of another transport and writes down what goes through it.
//!
//! [`Playback::from_file`] takes what people have on their disks, gzipped or not, and tells it apart by its first bytes:
//!
//! * a **capture**: JSON lines with every request, every chunk of every answer, and the times between them;
//! * a **watch log**: what `kubectl get --watch --output-watch-events -o json` prints, or one watch event a line; it is
//!   played as an empty list and one watch;
//! * a **list**: what `kubectl get -o json` prints, or a list as the server sent it; it is played as one list.
//!
//! Where one of them breaks off or is garbled, everything before is played, and [`Playback::error`] names the line.
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
//!     let turn = ReadContext { cx: &mut cx, now, max_wait: None };
//!     match playback.poll_read(turn, &mut buf) {
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

mod error;
mod playback;
mod recording;

mod body;
mod capture;
mod file;

pub use error::{CaptureError, CaptureErrorKind};
pub use playback::{Chunks, Pace, Playback, PlaybackClient, PlaybackConfig, Summary, Tally};
pub use recording::{Recorder, RecorderConfig};
