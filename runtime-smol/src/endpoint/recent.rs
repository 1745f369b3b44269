use crate::clock::Clock;
use core::time::Duration;
use listwatch_core::Instant;
use std::sync::{Mutex, PoisonError};

/// For how long a value answers all requests.
const SHARED: Duration = Duration::from_secs(1);

/// A value that is computed at most once a second.
pub(super) struct Recent<V>(Mutex<Option<(Instant, V)>>);

impl<V: Clone> Recent<V> {
    /// The value, which `compute` makes if the last one is too old. Its panic leaves none.
    pub(super) fn get(&self, clock: &Clock, compute: impl FnOnce() -> V) -> V {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock.now();
        if let Some((since, value)) = &*recent
            && now.saturating_since(*since) < SHARED
        {
            return value.clone();
        }
        *recent = None;
        let value = compute();
        *recent = Some((now, value.clone()));
        value
    }
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn a_value_is_computed_once_a_second() {
        let (recent, clock, computed) = (Recent::default(), Clock::simulated(), Cell::new(0));
        let get = || {
            recent.get(&clock, || {
                computed.set(computed.get() + 1);
                computed.get()
            })
        };
        assert_eq!([get(), get(), get()], [1, 1, 1]);
        crate::run(&clock, &crate::Executor::new(), clock.sleep(SHARED));
        assert_eq!([get(), get()], [2, 2]);
    }
}
