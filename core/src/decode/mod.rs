//! From the bytes of an answer to objects: the trait [`Decode`], and JSON in one pass.

mod answer;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "fixed")]
mod projected;
#[cfg(feature = "fixed")]
mod projector;

#[cfg(not(feature = "json"))]
pub use crate::projection::Status;
#[cfg(feature = "json")]
pub use answer::DecodeError;
pub use answer::{Body, Decode, DecodeErrorOf, Ending, Part, Reason};
#[cfg(feature = "json")]
pub(crate) use json::Keeps;
#[cfg(feature = "lz4")]
pub use json::Lz4;
#[cfg(feature = "json")]
pub use json::{
    Codec, CodecError, Column, DecodeOptions, Decoder, Form, FromJson, Json, ListMeta, MetadataOnly, Packed, Packer,
    Raw, Row, Status, Tables, ToJson, ToJsonError, UnpackError,
};
#[cfg(feature = "fixed")]
pub use projected::ProjectedJson;
#[cfg(feature = "fixed")]
pub use projector::Projector;

pub use crate::framing::EventType;
pub use crate::storage::Versioned;
