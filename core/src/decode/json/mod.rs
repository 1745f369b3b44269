//! Answers in JSON, decoded into types that serde can read.

mod answers;
mod decoder;
mod list;
mod metadata;
mod packed;
mod raw;
mod reader;
mod status;
mod tables;
mod to_json;

pub(crate) use answers::Keeps;
pub use answers::{FromJson, Json};
pub use decoder::Decoder;
pub use list::ListMeta;
pub use metadata::DecodeOptions;
#[cfg(feature = "lz4")]
pub use packed::Lz4;
pub use packed::{Codec, CodecError, Packed, Packer, UnpackError};
pub use raw::{MetadataOnly, Raw};
pub use status::Status;
pub use tables::{Column, Row, Tables};
pub use to_json::{Form, ToJson, ToJsonError};

#[cfg(test)]
mod tests;
