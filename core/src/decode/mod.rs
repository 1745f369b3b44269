//! From the bytes of an answer to objects: the trait [`Decode`], and JSON in one pass.

mod answer;
#[cfg(feature = "json")]
mod body;
#[cfg(feature = "json")]
mod decoder;
mod error;
#[cfg(feature = "json")]
mod from_json;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod list;
#[cfg(feature = "json")]
mod metadata;
#[cfg(feature = "json")]
mod packed;
#[cfg(feature = "fixed")]
mod projected;
#[cfg(feature = "json")]
mod raw;
#[cfg(feature = "json")]
mod readable;
#[cfg(feature = "json")]
mod reader;
#[cfg(feature = "json")]
mod row;
#[cfg(feature = "json")]
mod status;
#[cfg(feature = "json")]
mod tables;
#[cfg(feature = "json")]
mod tee;
#[cfg(feature = "json")]
mod text;
#[cfg(feature = "json")]
mod to_json;
#[cfg(feature = "json")]
mod type_meta;
#[cfg(feature = "json")]
mod watch;

#[cfg(not(feature = "json"))]
pub use crate::projection::Status;
pub use answer::{Decode, Ending, Part};
#[cfg(feature = "json")]
pub use decoder::{Decoder, WatchEvent};
#[cfg(feature = "json")]
pub use error::DecodeError;
pub use error::{DecodeErrorOf, Reason};
#[cfg(feature = "json")]
pub use from_json::FromJson;
#[cfg(feature = "json")]
pub use json::Json;
#[cfg(feature = "json")]
pub use list::ListMeta;
#[cfg(feature = "json")]
pub use metadata::DecodeOptions;
#[cfg(feature = "lz4")]
pub use packed::Lz4;
#[cfg(feature = "json")]
pub use packed::{Codec, CodecError, Packed, Packer, UnpackError};
#[cfg(feature = "fixed")]
pub use projected::ProjectedJson;
#[cfg(feature = "json")]
pub use raw::{MetadataOnly, Raw};
#[cfg(feature = "json")]
pub use row::{Column, Row};
#[cfg(feature = "json")]
pub use status::Status;
#[cfg(feature = "json")]
pub use tables::Tables;
#[cfg(feature = "json")]
pub use to_json::{Form, ToJson, ToJsonError};

pub use crate::framing::EventType;
pub use crate::storage::Versioned;

#[cfg(test)]
#[cfg(feature = "json")]
mod tests;
