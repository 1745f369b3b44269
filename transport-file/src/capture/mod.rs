//! Captures: their lines, and the exchanges in them.

// The lines.
mod collection;
mod data;
pub(crate) mod format;
mod note;
mod reader;
mod seal;

// The exchanges.
mod calls;
mod exchange;
mod index;
mod key;
mod survey;
mod waiting;

pub(crate) use calls::Calls;
pub use calls::{Call, CallEnd, SentCall};
pub(crate) use collection::Collection;
pub use collection::Target;
pub(crate) use data::{Data, record_head};
pub(crate) use exchange::{Exchange, Stage};
pub(crate) use index::{Behind, Index, Taken};
pub(crate) use key::Key;
pub use note::{LateWrite, Note, NoteKind, Position, Positions, TapeStart};
pub(crate) use reader::{Order, Read, Reader};
pub(crate) use seal::LineCheck;
