//! A cache that outlives its program: saved as a List, and restored at the next start.
//!
//! | to | use |
//! |---|---|
//! | say what the objects are of: server, cluster, resource, type | [`Origin`] |
//! | decide when to save | [`Saver`] |
//! | write the objects, piece by piece | [`Writing`] |
//! | read them back, checked | [`Saved`] |
//! | keep the bytes | [`Flash`], [`InMemory`] |
#![cfg_attr(feature = "json", doc = "| give them to an informer | [`Informer::restore`](crate::Informer::restore) |")]
//!
//! What is saved is a List, as `kubectl get -o json` prints one, so every tool reads it. Its annotations name the
//! [`Origin`], and its last field is a checksum. What was cut, changed, or is of another origin is a [`SavedError`] and
//! never a cache.
//!
//! ```
//! use listwatch_core::decode::{DecodeOptions, Decoder, ListMeta, Raw};
//! use listwatch_core::object::ObjectHandle;
//! use listwatch_core::saved::{InMemory, Origin, Saved, Writing};
//! use listwatch_core::time::WallTime;
//! use listwatch_core::Resource;
//!
//! let options = DecodeOptions::default();
//! let origin = Origin::new::<Raw>(&Resource::named("v1/pods")?, options, "")?.server("https://10.0.0.1:6443");
//! let pod = br#"{"metadata":{"namespace":"web","name":"a","uid":"u-1","resourceVersion":"5"}}"#;
//! let pod = ObjectHandle::from(Decoder::default().item::<Raw>(pod, &ListMeta::default())?);
//!
//! let mut flash = InMemory::default();
//! Writing::new(&origin, "7", WallTime::UNIX_EPOCH, vec![pod.clone()]).write_to(&mut flash)?;
//! let saved = Saved::<Raw>::read(&mut flash, &origin, options, 1 << 20)?.expect("it was saved");
//! assert_eq!((saved.objects, saved.version.as_str()), (vec![pod], "7"));
//!
//! let other = origin.server("https://10.0.0.2:6443");
//! let error = Saved::<Raw>::read(&mut flash, &other, options, 1 << 20).unwrap_err();
//! assert!(error.to_string().starts_with("it is of another server: https://10.0.0.1:6443"));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod error;
mod flash;
mod format;
mod origin;
mod reading;
mod saver;
mod writing;

pub use error::SavedError;
pub use flash::{Flash, InMemory};
pub use origin::Origin;
pub use reading::Saved;
pub use saver::Saver;
pub use writing::Writing;

#[cfg(test)]
mod tests;
