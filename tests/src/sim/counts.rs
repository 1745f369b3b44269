use std::fmt::Debug;

/// What runs met: counts by name.
pub trait Counts: Copy + Debug + Default + Send {
    /// Each count by its name, to be changed.
    fn counts_mut(&mut self) -> Vec<(&'static str, &mut u64)>;

    /// Each count by its name.
    #[must_use]
    fn counts(mut self) -> Vec<(&'static str, u64)> {
        self.counts_mut().into_iter().map(|(name, count)| (name, *count)).collect()
    }

    /// Adds those of another run.
    fn add(&mut self, other: &Self) {
        self.counts_mut().into_iter().zip(other.counts()).for_each(|((_, mine), (_, theirs))| *mine += theirs);
    }
}
