//! The watches that are open.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The watches that are open, and which of them have told everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Audience(Arc<Mutex<Seats>>);

#[derive(Debug, Default)]
struct Seats {
    /// Whether each watch has told everything, by its number.
    watches: BTreeMap<u64, bool>,
    last: u64,
    waiting: Option<Waker>,
}

/// The place of one watch, which leaves when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    audience: Audience,
    number: u64,
}

impl Audience {
    /// A watch opens.
    pub(super) fn join(&self) -> Seat {
        let number = self.change(|seats| {
            seats.last += 1;
            seats.watches.insert(seats.last, false);
            seats.last
        });
        Seat { audience: self.clone(), number }
    }

    /// There is something new to tell.
    pub(super) fn has_news(&self) {
        self.change(|seats| seats.watches.values_mut().for_each(|has_told| *has_told = false));
    }

    /// Waits until a watch is open.
    pub(super) async fn present(&self) {
        self.until(|watches| !watches.is_empty()).await;
    }

    /// Waits until no watch is open.
    pub(super) async fn absent(&self) {
        self.until(BTreeMap::is_empty).await;
    }

    /// Waits until every open watch has told everything.
    pub(super) async fn informed(&self) {
        self.until(|watches| watches.values().all(|has_told| *has_told)).await;
    }

    async fn until(&self, holds: impl Fn(&BTreeMap<u64, bool>) -> bool) {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut seats = self.seats();
            if holds(&seats.watches) {
                return Poll::Ready(());
            }
            let last = seats.waiting.replace(waker);
            // The drop of a waker may drop a watch.
            drop(seats);
            drop(last);
            Poll::Pending
        })
        .await;
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seats) -> T) -> T {
        let mut seats = self.seats();
        let changed = change(&mut seats);
        let waiting = seats.waiting.take();
        drop(seats);
        waiting.into_iter().for_each(Waker::wake);
        changed
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// The watch has told everything.
    pub(super) fn has_told_everything(&self) {
        self.audience.change(|seats| seats.watches.insert(self.number, true));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.audience.change(|seats| seats.watches.remove(&self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_tests::wait::{in_time, waker_with_drop};
    use std::task::Context;

    #[test]
    fn a_waker_that_asks_for_the_audience_where_it_is_dropped_does_not_wait_for_ever() {
        in_time(|| {
            let audience = Audience::default();
            let asks = || {
                let audience = audience.clone();
                waker_with_drop(move || drop(audience.seats()))
            };
            let (seat, mut absent) = (audience.join(), Box::pin(audience.absent()));
            for _ in 0..2 {
                assert!(absent.as_mut().poll(&mut Context::from_waker(&asks())).is_pending());
            }
            drop(seat);
            assert!(absent.as_mut().poll(&mut Context::from_waker(&asks())).is_ready());
        });
    }
}
