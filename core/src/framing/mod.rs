//! From bytes to frames: the items of a list, the events of a watch.

mod block;
#[cfg(feature = "json")]
mod buffer;
mod event_type;
mod framer;
#[cfg(any(target_feature = "neon", target_feature = "simd128", target_feature = "sse2"))]
mod lanes;
mod outline;
mod scan;
#[cfg(any(test, not(any(target_feature = "neon", target_feature = "simd128", target_feature = "sse2"))))]
mod words;

#[cfg(feature = "json")]
pub(crate) use block::plain_len;
#[cfg(feature = "json")]
pub(crate) use buffer::Buffer;
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) use event_type::EventKind;
pub use event_type::EventType;
pub use framer::{Frame, Framer, Framing};
#[cfg(feature = "fixed")]
pub(crate) use outline::{Ended, Layout, Outline, Step, Values};
pub use scan::Scanner;
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) use scan::{ends_scalar, is_space};
