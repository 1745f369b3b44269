use super::key::Key;
use std::collections::HashSet;

/// A set of keys in memory that is bounded. If it has many, it may seem to contain a key that was never added.
pub(super) enum KeyFilter {
    Few(HashSet<Key>),
    /// Bits, of which a key has five.
    Many(Vec<u64>),
}

/// The most keys that are kept as they are.
const FEW: usize = 4096;
/// 128 KiB. With 100,000 keys, the filter seems to contain 1 of 100 others.
const WORDS: usize = 1 << 14;

impl KeyFilter {
    pub(super) fn new() -> Self {
        Self::Few(HashSet::new())
    }

    pub(super) fn insert(&mut self, key: Key) {
        match self {
            Self::Few(keys) => {
                keys.insert(key);
                if keys.len() > FEW {
                    *self = Self::of(keys);
                }
            }
            Self::Many(words) => set(words, key),
        }
    }

    /// Whether the key may have been added.
    pub(super) fn contains(&self, key: Key) -> bool {
        match self {
            Self::Few(keys) => keys.contains(&key),
            Self::Many(words) => is_set(words, key),
        }
    }

    fn of(keys: &HashSet<Key>) -> Self {
        let mut words = vec![0; WORDS];
        keys.iter().for_each(|key| set(&mut words, *key));
        Self::Many(words)
    }
}

/// Sets the bits of a key.
pub(super) fn set(words: &mut [u64], key: Key) {
    for (word, bit) in places(words.len(), key) {
        words[word] |= bit;
    }
}

/// Whether the bits of a key are set.
pub(super) fn is_set(words: &[u64], key: Key) -> bool {
    places(words.len(), key).all(|(word, bit)| words[word] & bit != 0)
}

/// The words and the bits of a key.
fn places(words: usize, key: Key) -> impl Iterator<Item = (usize, u64)> {
    [0, 13, 26, 39, 52].into_iter().map(move |shift| {
        let bit = key.digest().rotate_right(shift) % (64 * words as u64);
        ((bit / 64) as usize, 1 << (bit % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::request::Request;

    fn key(number: u32) -> Key {
        Key::of_request(&Request::parse(&format!("/api/v1/namespaces/{number}/pods")), false)
    }

    #[test]
    fn no_key_is_missing_and_few_others_seem_to_be_there() {
        let mut filter = KeyFilter::new();
        for (many, wrong) in [(4_000, 0), (20_000, 50)] {
            (0..many).for_each(|number| filter.insert(key(number)));
            assert!((0..many).all(|number| filter.contains(key(number))));
            let others = (many..2 * many).filter(|number| filter.contains(key(*number))).count();
            assert!(others <= wrong, "{others} of {many}");
        }
    }
}
