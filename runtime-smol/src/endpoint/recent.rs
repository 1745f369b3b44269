use crate::clock::Clock;
use core::time::Duration;
use hyper::body::Bytes;
use listwatch_core::Instant;
use std::sync::{Mutex, PoisonError};

/// For how long a text answers all who ask.
const SHARED: Duration = Duration::from_secs(1);

/// A text that is computed at most once a second.
#[derive(Default)]
pub(super) struct Recent(Mutex<Option<(Instant, Bytes)>>);

impl Recent {
    /// The text, which `compute` makes if the last one is too old. Its panic leaves none.
    pub(super) fn get(&self, clock: &Clock, compute: impl FnOnce() -> String) -> Bytes {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock.now();
        if let Some((since, text)) = &*recent
            && now.saturating_since(*since) < SHARED
        {
            return text.clone();
        }
        *recent = None;
        let text = Bytes::from(compute());
        *recent = Some((now, text.clone()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn a_text_is_computed_once_a_second() {
        let (recent, clock, computed) = (Recent::default(), Clock::simulated(), Cell::new(0));
        let get = || {
            recent.get(&clock, || {
                computed.set(computed.get() + 1);
                computed.get().to_string()
            })
        };
        assert_eq!([get(), get(), get()], ["1", "1", "1"]);
        crate::run(&clock, &crate::Executor::new(), clock.sleep(SHARED));
        assert_eq!([get(), get()], ["2", "2"]);
    }
}
