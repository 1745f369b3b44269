//! Fields of objects, projected while the bytes of an answer arrive: nothing is allocated, and no object is held.
//!
//! [`projection!`](crate::projection!) declares the fields. A [`Projector`](crate::decode::Projector) reads an answer in any pieces, and passes
//! over what is not asked for by the same [`Scanner`](crate::framing::Scanner) as the decoder of the heap. So an object
//! of a megabyte passes through a device that has 2 KB for bytes.
//!
//! ```
//! use listwatch_core::decode::{Body, Part, Projector};
//! use listwatch_core::projection;
//! use listwatch_core::projection::Text;
//!
//! projection! {
//!     struct Door { lock: Text<16> = "status.lock", opened: u32 = "status.timesOpened" }
//! }
//!
//! let body = br#"{"kind":"DoorList","metadata":{"resourceVersion":"12"},"items":[
//!     {"metadata":{"name":"front"},"status":{"lock":"open","timesOpened":3}}]}"#;
//! let mut projector = Projector::<Door>::new();
//! projector.start(Body::List);
//! for piece in body.chunks(16) {
//!     let mut bytes = piece;
//!     while let Some(part) = projector.next_part(&mut bytes) {
//!         let Part::Item(door) = part else { panic!("{part:?}") };
//!         assert_eq!((door.name(), door.value.lock.as_str(), door.value.opened), ("front", "open", 3));
//!     }
//! }
//! ```
//!
//! | type of a field | takes | where it is too long or too large |
//! |---|---|---|
//! | [`Text<N>`](Text) | a string of at most `N` bytes | the object is undecodable |
//! | [`Beginning<N>`](Beginning) | a string, of which `N` bytes are kept | it is cut, which [`is_cut`](Beginning::is_cut) tells |
//! | `bool` | `true`, `false` | |
//! | `i8` to `i64`, `u8` to `u32` | an integer | the object is undecodable |
//! | `Option<…>` of these | the same; `None` where it is absent | as above |
//!
//! An undecodable object is a part of the answer ([`Part::Undecodable`](crate::decode::Part::Undecodable)), with its key, the field, the reason and the
//! place. The answer goes on behind it.

mod field;
mod fields;
mod literal;
mod object;
mod path;
mod problem;
mod reading;
mod status;
mod walk;

pub use field::{Beginning, Field, Misfit, Piece, Slot, Text};
pub(crate) use fields::Shape;
pub use fields::checked;
pub use object::{Projected, Projection, UID, VERSION};
pub use path::Path;
pub use problem::{Cause, Problem};
pub(crate) use reading::Reading;
pub use status::Status;
