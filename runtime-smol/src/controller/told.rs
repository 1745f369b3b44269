//! What an operator is told once.

use super::settled::hash_of;
use core::hash::Hash;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The hashes of what was told last.
#[derive(Default)]
pub(super) struct Told(Mutex<VecDeque<u64>>);

/// What was told before these may be told again.
const MOST: usize = 256;

impl Told {
    /// Whether this was not told before. From now on it was.
    pub(super) fn is_new(&self, what: &impl Hash) -> bool {
        let hash = hash_of(what);
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.contains(&hash) {
            return false;
        }
        if told.len() == MOST {
            told.pop_front();
        }
        told.push_back(hash);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_told_once_and_few_are_kept() {
        let told = Told::default();
        assert!(told.is_new(&"a") && !told.is_new(&"a"));
        assert!((0..10 * MOST).all(|number| told.is_new(&number)));
        assert_eq!(told.0.lock().unwrap().len(), MOST);
    }
}
