//! A cache that outlives its program: saved as a List, and restored at the next start.
//!
//! | to | use |
//! |---|---|
//! | say what the objects are of: server, cluster, resource, type | [`Origin`] |
//! | decide when to save | [`Saver`] |
//! | write the objects, piece by piece | [`Writing`] |
//! | read them back, checked | [`Saved`] |
//! | keep the bytes | [`Flash`] |
#![cfg_attr(feature = "json", doc = "| give them to an informer | [`Informer::restore`](crate::Informer::restore) |")]
//!
//! What is saved is a List, as `kubectl get -o json` prints one, so every tool reads it. Its annotations name the
//! [`Origin`], and its last field is a checksum. What was cut, changed, or is of another origin is a [`SavedError`] and
//! never a cache.
//!
//! ```
//! use listwatch_core::decode::{DecodeOptions, Decoder, ListMeta, Raw};
//! use listwatch_core::object::ObjectHandle;
//! use listwatch_core::saved::{Flash, Origin, Saved, Writing};
//! use listwatch_core::time::WallTime;
//! use listwatch_core::Resource;
//!
//! /// Two pages of a memory: the last whole state, and the next one.
//! #[derive(Default)]
//! struct Pages {
//!     last: Vec<u8>,
//!     next: Vec<u8>,
//!     at: usize,
//! }
//!
//! impl Flash for Pages {
//!     type Error = core::convert::Infallible;
//!
//!     fn open(&mut self) -> Result<bool, Self::Error> {
//!         self.at = 0;
//!         Ok(!self.last.is_empty())
//!     }
//!     fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
//!         let len = buffer.len().min(self.last.len() - self.at);
//!         buffer[..len].copy_from_slice(&self.last[self.at..][..len]);
//!         self.at += len;
//!         Ok(len)
//!     }
//!     fn create(&mut self) -> Result<(), Self::Error> {
//!         self.next.clear();
//!         Ok(())
//!     }
//!     fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
//!         self.next.extend_from_slice(bytes);
//!         Ok(())
//!     }
//!     fn commit(&mut self) -> Result<(), Self::Error> {
//!         self.last = core::mem::take(&mut self.next);
//!         Ok(())
//!     }
//! }
//!
//! let options = DecodeOptions::default();
//! let origin = Origin::new::<Raw>(&Resource::named("v1/pods")?, options, "")?.server("https://10.0.0.1:6443");
//! let pod = br#"{"metadata":{"namespace":"web","name":"a","uid":"u-1","resourceVersion":"5"}}"#;
//! let pod = ObjectHandle::from(Decoder::default().item::<Raw>(pod, &ListMeta::default())?);
//!
//! let mut flash = Pages::default();
//! Writing::new(&origin, "7", WallTime::UNIX_EPOCH, vec![pod.clone()]).write_to(&mut flash)?;
//! let saved = Saved::<Raw>::read(&mut flash, &origin, options, 1 << 20)?.expect("it was saved");
//! assert_eq!((saved.objects, saved.version.as_str()), (vec![pod], "7"));
//!
//! let other = origin.server("https://10.0.0.2:6443");
//! let error = Saved::<Raw>::read(&mut flash, &other, options, 1 << 20).unwrap_err();
//! assert!(error.to_string().starts_with("it is of another server: https://10.0.0.1:6443"));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod checksum;
mod error;
mod flash;
mod head;
mod origin;
mod reading;
mod saver;
mod tail;
mod writing;

pub use error::SavedError;
pub use flash::Flash;
pub use origin::Origin;
pub use reading::Saved;
pub use saver::Saver;
pub use writing::Writing;

#[cfg(test)]
mod tests;
