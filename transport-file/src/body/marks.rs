//! Some of the events of a log, by their numbers.

/// A bit for each event up to the last one that is marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// Marks the event that has so many before it.
    pub(crate) fn set(&mut self, event: u64) {
        let Ok(place) = usize::try_from(event / 64) else { return };
        if self.0.len() <= place {
            self.0.resize(place + 1, 0);
        }
        self.0[place] |= 1 << (event % 64);
    }

    pub(crate) fn has(&self, event: u64) -> bool {
        let bits = usize::try_from(event / 64).ok().and_then(|place| self.0.get(place));
        bits.is_some_and(|bits| bits & (1 << (event % 64)) > 0)
    }

    /// How many are marked.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_marked_by_its_number() {
        let mut marks = Marks::default();
        [0, 63, 64, 1000].into_iter().for_each(|event| marks.set(event));
        let marked: Vec<u64> = (0..2000).filter(|event| marks.has(*event)).collect();
        assert_eq!((marked, marks.count()), (vec![0, 63, 64, 1000], 4));
    }
}
