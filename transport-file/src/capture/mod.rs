//! Captures: their records, and an index of the exchanges in them.

pub(crate) mod format;
pub(crate) mod head;

mod digest;
mod exchange;
mod exchanges;
mod index;
mod note;

pub(crate) use digest::{RequestDigest, decoded};
pub(crate) use exchange::{Exchange, Stage};
pub(crate) use exchanges::{Behind, Exchanges};
pub(crate) use index::{ClientIndex, Index, asks_for_metadata_only};
pub use note::{Note, Position, Positions, TapeStart};
