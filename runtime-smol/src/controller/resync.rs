//! When a controller resyncs: if the keys of an event are lost, all keys of the own kind are reconciled.

use core::time::Duration;
use listwatch_core::Instant;

/// The first resync comes so long after a loss. Each further one waits twice as long, and at most the second time.
const AFTER_LOSS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// The resyncs of a controller. They are apart, so that a mapper that always panics does not keep the controller busy.
#[derive(Default)]
pub(super) struct Resync {
    /// When the last one was due, or the next one is.
    due: Option<Instant>,
    /// The delay before it.
    delay: Duration,
}

impl Resync {
    /// When the resync is due that a loss needs; none if one is to come anyway.
    pub(super) fn on_loss(&mut self, now: Instant) -> Option<Instant> {
        let [first, longest] = AFTER_LOSS;
        self.delay = match self.due {
            Some(due) if now < due => return None,
            Some(due) if now.saturating_since(due) <= longest => longest.min(self.delay * 2),
            _ => first,
        };
        self.due = Some(now + self.delay);
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resyncs_are_further_and_further_apart_until_no_key_is_lost_for_a_while() {
        let (mut resync, second) = (Resync::default(), Duration::from_secs(1));
        let mut now = Instant::ZERO;
        let delays = [(); 8].map(|()| {
            let due = resync.on_loss(now).unwrap();
            assert_eq!(resync.on_loss(now), None, "one is to come");
            let delay = due.saturating_since(now).as_secs();
            now = due;
            delay
        });
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
        now = now + 61 * second;
        assert_eq!(resync.on_loss(now), Some(now + second));
    }
}
