//! What travels: requests out, bytes in, and what the bytes say.

#[cfg(feature = "json")]
mod buffer;
mod framer;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "alloc")]
mod request;
#[cfg(feature = "alloc")]
mod resource;
mod scan;

#[cfg(feature = "json")]
pub(crate) use buffer::Buffer;
pub use framer::{Frame, Framer, Framing};
#[cfg(feature = "json")]
pub use json::{Change, Decoder, DecodeOptions, ListMeta, MetadataOnly, Raw, Status, DecodeError, WatchEvent};
#[cfg(feature = "json")]
pub(crate) use request::PercentEncoded;
#[cfg(feature = "alloc")]
pub use request::{Query, Request, RequestId, Verb};
#[cfg(feature = "alloc")]
pub use resource::{ParseResourceError, Resource};

/// The media type by which a transport says that the events of a watch are concatenated JSON values of any layout
/// ([`Framing::Values`]), not one a line.
pub const CONCATENATED_JSON: &str = "application/concatenated-json";
