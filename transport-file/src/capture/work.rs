//! Counts the steps of a search, for tests.

#[cfg(test)]
thread_local! {
    pub(super) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

pub(super) fn step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}
