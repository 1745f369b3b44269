//! From bytes to frames: the items of a list, the events of a watch.

#[cfg(feature = "json")]
mod buffer;
mod framer;
mod scan;

#[cfg(feature = "json")]
pub(crate) use buffer::Buffer;
pub use framer::{Frame, Framer, Framing};
#[cfg(feature = "json")]
pub(crate) use scan::is_space;

/// The media type by which a transport says that the events of a watch are concatenated JSON values of any layout
/// ([`Framing::Values`]), not one a line.
pub const CONCATENATED_JSON: &str = "application/concatenated-json";
