use super::super::answers::FromJson;
use super::super::raw::Raw;
use super::codec::{Codec, Dictionary};
use super::object::Packed;
use crate::storage::Reused;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

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
    pub fn new(codec: C) -> Self {
        Self { succession: Some(Succession::default()), ..Self::with_dictionary(codec, &[]) }
    }

    /// A packer with a dictionary of the caller's, which stays: for example the text of typical objects.
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

summary!(impl[C] "Packer" for Packer<C>);

/// The bytes of a dictionary at the most: three or four pods. More of them save little, and cost time with each object.
const DICTIONARY: usize = 16 * 1024;
/// The bytes of text after which a candidate is tried, at first and at the most.
const WAIT: [usize; 2] = [64 * 1024, 4 * 1024 * 1024];
/// How many objects join the candidate while it waits, at the most.
const SAMPLES: usize = 8;
/// An object joins the candidate if its block has more than this part of its text.
const NOVEL: usize = 8;
/// How many objects are packed with both dictionaries.
const TRIAL: usize = 16;
/// How many dictionaries that were replaced may be alive.
const REPLACED: usize = 8;

/// Which dictionary follows which: by arrivals alone.
struct Succession<C> {
    /// The texts of objects that were packed badly, the newest last.
    sample: Vec<u8>,
    /// The bytes of text since the last decision.
    seen: usize,
    /// How many of them come before the next object joins the sample.
    next_sample: usize,
    /// How many of them come before the next trial.
    wait: usize,
    trial: Option<Trial<C>>,
    replaced: Vec<Weak<Dictionary<C>>>,
}

/// A candidate, beside the dictionary in use.
struct Trial<C> {
    candidate: Arc<Dictionary<C>>,
    left: usize,
    /// The bytes of the blocks, with the dictionary in use and with the candidate.
    packed: [usize; 2],
}

impl<C> Default for Succession<C> {
    fn default() -> Self {
        let (sample, replaced) = (Vec::new(), Vec::new());
        Self { sample, seen: 0, next_sample: 0, wait: WAIT[0], trial: None, replaced }
    }
}

impl<C: Codec> Succession<C> {
    /// The first dictionary, of the object that is packed next.
    fn before(&self, current: &Dictionary<C>, text: &[u8]) -> Option<Arc<Dictionary<C>>> {
        let first = || Arc::new(current.with_text(&text[..text.len().min(DICTIONARY)]));
        current.is_empty().then(first)
    }

    /// Notes that `text` was packed into so many bytes. Returns the dictionary that takes over. `block` is a buffer.
    fn after(
        &mut self,
        current: &Arc<Dictionary<C>>,
        text: &[u8],
        packed: usize,
        block: &mut Vec<u8>,
    ) -> Option<Arc<Dictionary<C>>> {
        match &mut self.trial {
            Some(trial) => {
                trial.note(text, packed, block);
                if trial.left == 0 { self.decide(current) } else { None }
            }
            None => {
                self.learn(current, text, packed);
                None
            }
        }
    }

    fn learn(&mut self, current: &Dictionary<C>, text: &[u8], packed: usize) {
        self.seen += text.len();
        if self.seen > self.next_sample && packed > text.len() / NOVEL {
            self.next_sample = self.seen + self.wait / SAMPLES;
            self.add_sample(&text[..text.len().min(DICTIONARY)]);
        }
        if self.seen < self.wait {
            return;
        }
        self.replaced.retain(|dictionary| dictionary.strong_count() > 0);
        if !self.sample.is_empty() && self.replaced.len() < REPLACED {
            let candidate = Arc::new(current.with_text(&self.sample));
            self.trial = Some(Trial { candidate, left: TRIAL, packed: [0; 2] });
        }
        self.start_over();
    }

    /// Takes a text into the sample, which drops the beginning of its oldest one.
    fn add_sample(&mut self, text: &[u8]) {
        let excess = (self.sample.len() + text.len()).saturating_sub(DICTIONARY);
        self.sample.drain(..excess);
        self.sample.extend_from_slice(text);
    }

    fn decide(&mut self, current: &Arc<Dictionary<C>>) -> Option<Arc<Dictionary<C>>> {
        let Trial { candidate, packed: [known, tried], .. } = self.trial.take()?;
        if tried >= known - known / 4 {
            self.wait = WAIT[1].min(self.wait * 2);
            return None;
        }
        self.wait = WAIT[0];
        self.replaced.push(Arc::downgrade(current));
        Some(candidate)
    }

    fn start_over(&mut self) {
        (self.sample, self.seen, self.next_sample) = (Vec::new(), 0, 0);
    }
}

impl<C: Codec> Trial<C> {
    fn note(&mut self, text: &[u8], packed: usize, block: &mut Vec<u8>) {
        self.packed[0] += packed;
        self.packed[1] += self.candidate.pack(text, block).len();
        self.left -= 1;
    }
}
