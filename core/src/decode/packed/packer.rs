use super::super::from_json::FromJson;
use super::super::raw::Raw;
use super::codec::Codec;
use super::dictionary::Dictionary;
use super::object::Packed;
use super::succession::Succession;
use crate::storage::Reused;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Packs objects with a [`Codec`], and chooses the dictionary that they are packed against.
///
/// The first object is the first dictionary. When 64 KiB of text have come, and some of it was packed to more than an
/// eighth, those objects are the candidate for the next dictionary. The following 16 objects are packed with both. If
/// the candidate saves a quarter, it takes over; if not, the next one waits twice as long, up to 4 MiB of text. So the
/// arrivals alone decide, no clock and no hash.
///
/// A dictionary has 16 KiB at most. It lives as long as an object that was packed with it. While eight that were
/// replaced are alive, none is replaced. So all dictionaries of a decoder take 160 KiB at most.
pub struct Packer<C> {
    dictionary: Arc<Dictionary<C>>,
    /// `None` if the caller has chosen the dictionary.
    succession: Option<Succession<C>>,
    block: Vec<u8>,
}

impl<C: Codec> Packer<C> {
    /// A packer that chooses its dictionaries itself.
    #[must_use]
    pub fn new(codec: C) -> Self {
        Self { succession: Some(Succession::default()), ..Self::with_dictionary(codec, &[]) }
    }

    /// A packer with a dictionary of the caller's, which stays: for example the text of typical objects.
    #[must_use]
    pub fn with_dictionary(codec: C, dictionary: &[u8]) -> Self {
        let dictionary = Arc::new(Dictionary::new(codec, dictionary));
        Self { dictionary, succession: None, block: Vec::new() }
    }

    /// Packs an object.
    #[must_use]
    pub fn pack(&mut self, object: &Raw) -> Packed<C> {
        let text = object.as_str().as_bytes();
        let Self { dictionary, succession, block } = self;
        if let Some(succession) = succession
            && let Some(next) = succession.before(dictionary, text)
        {
            *dictionary = next;
        }
        let packed = Packed::new(dictionary.pack(text, block), text.len(), Arc::clone(dictionary));
        if let Some(succession) = succession
            && let Some(next) = succession.after(dictionary, text, packed.packed_len(), block)
        {
            *dictionary = next;
        }
        block.start_over();
        packed
    }
}

impl<C: Codec + Default> Default for Packer<C> {
    fn default() -> Self {
        Self::new(C::default())
    }
}

impl<C: Codec + Default> FromJson for Packed<C> {
    type Json = Raw;
    type State = Packer<C>;

    fn from_json(json: Raw, packer: &mut Packer<C>) -> Self {
        packer.pack(&json)
    }
}

impl<C> fmt::Debug for Packer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}
