use super::error::SavedError;
use super::flash::Flash;
use super::format::{Checksum, Head};
use super::origin::Origin;
use crate::decode::ToJson;
use crate::object::ObjectHandle;
use crate::time::WallTime;
use alloc::vec;
use alloc::vec::Vec;

/// A state that is being written, piece by piece.
///
/// It holds handles, no copies: 8 bytes for each object. An object that changes meanwhile stays in memory until it is
/// written. So a program writes it on another thread, or piece by piece between events.
#[derive(Debug)]
pub struct Writing<T> {
    /// Until the first piece.
    head: Option<Head>,
    objects: vec::IntoIter<ObjectHandle<T>>,
    checksum: Checksum,
    /// An object was written before the next one.
    follows: bool,
    ended: bool,
}

/// How many bytes a piece has, or more by one object.
const PIECE: usize = 64 << 10;

impl<T: ToJson> Writing<T> {
    /// The state of `version`, as it was at `date`.
    pub fn new(origin: &Origin, version: &str, date: WallTime, objects: Vec<ObjectHandle<T>>) -> Self {
        let head = Head {
            origin: origin.clone(),
            version: version.into(),
            saved: date,
            count: objects.len(),
            is_partial: false,
        };
        let objects = objects.into_iter();
        Self { head: Some(head), objects, checksum: Checksum::new(), follows: false, ended: false }
    }

    /// Notes whether objects are missing because they could not be decoded
    /// ([`Informer::has_undecodable`](crate::informer::InformerIn::has_undecodable)).
    #[must_use]
    pub fn partial(mut self, is_partial: bool) -> Self {
        self.head.iter_mut().for_each(|head| head.is_partial = is_partial);
        self
    }

    /// Appends the next piece to `out`: about 64 KiB, or one object that is larger. False if nothing is left.
    ///
    /// # Errors
    /// If an object cannot be written as JSON.
    pub fn next_piece(&mut self, out: &mut Vec<u8>) -> Result<bool, SavedError> {
        if self.ended {
            return Ok(false);
        }
        let start = out.len();
        if let Some(head) = self.head.take() {
            head.write(out);
        }
        while out.len() - start < PIECE {
            let Some(object) = self.objects.next() else {
                self.ended = true;
                self.checksum.update(&out[start..]);
                self.checksum.write(out);
                return Ok(true);
            };
            if core::mem::replace(&mut self.follows, true) {
                out.extend_from_slice(b",\n");
            }
            let named = |error| SavedError::Object(alloc::format!("{}: {error}", object.key()));
            object.as_object().value.to_json(object.meta(), out).map_err(named)?;
        }
        self.checksum.update(&out[start..]);
        Ok(true)
    }

    /// Writes all of it. The calling thread may block for long.
    ///
    /// # Errors
    /// If an object cannot be written, or the flash fails. The last whole state stays.
    pub fn write_to(mut self, flash: &mut impl Flash) -> Result<(), SavedError> {
        flash.create().map_err(SavedError::of_flash)?;
        let mut piece = Vec::with_capacity(PIECE);
        while self.next_piece(&mut piece)? {
            flash.write(&piece).map_err(SavedError::of_flash)?;
            piece.clear();
        }
        flash.commit().map_err(SavedError::of_flash)
    }
}
