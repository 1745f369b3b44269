//! From the bytes of an answer to objects: the trait [`Decode`], and JSON in one pass.

mod answer;
mod body;
mod decoder;
mod error;
mod from_json;
mod json;
mod list;
mod metadata;
mod packed;
#[cfg(feature = "fixed")]
mod projected;
mod raw;
mod readable;
mod reader;
mod row;
mod status;
mod tables;
mod tee;
mod text;
mod type_meta;
mod watch;

pub use answer::{Decode, Ending, Part};
pub use decoder::{Decoder, WatchEvent};
pub use error::DecodeError;
pub use from_json::FromJson;
pub use json::Json;
pub use list::ListMeta;
pub use metadata::DecodeOptions;
#[cfg(feature = "lz4")]
pub use packed::Lz4;
pub use packed::{Codec, CodecError, Packed, Packer, UnpackError};
#[cfg(feature = "fixed")]
pub use projected::ProjectedJson;
pub use raw::{MetadataOnly, Raw};
pub use row::{Column, Row};
pub use status::Status;
pub use tables::Tables;

pub use crate::framing::EventType;
pub use crate::storage::Versioned;

#[cfg(test)]
mod tests;
