//! Captures: their records, and an index of the exchanges in them.

pub(crate) mod format;
pub(crate) mod head;

mod collection;
mod data;
mod digest;
mod escape;
mod exchange;
mod id_set;
mod index;
mod key;
mod key_filter;
mod note;
mod number_set;
mod order;
mod passed;
mod reading;
mod seal;
mod survey;
mod waiting;
mod work;

pub(crate) use collection::CollectionPath;
pub(crate) use data::{Data, record_head};
pub(crate) use digest::RequestDigest;
pub(crate) use exchange::{Exchange, Stage};
pub(crate) use index::{Behind, Index, Taken};
pub(crate) use key::Key;
pub use note::{LateWrite, Note, Position, Positions, TapeStart};
pub(crate) use order::{MOST_OPEN, Order, too_many_open};
pub(crate) use reading::asks_for_metadata_only;
pub(crate) use seal::LineCheck;
