/// A set of numbers that are counted from zero, in a bit each.
#[derive(Debug, Default)]
pub(super) struct NumberSet {
    words: Vec<u64>,
}

impl NumberSet {
    pub(super) fn insert(&mut self, number: u64) {
        let (word, bit) = place(number);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number / 64) as usize, 1 << (number % 64))
}
