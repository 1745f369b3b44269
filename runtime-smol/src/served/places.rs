//! The places of connections. When all are taken, the connection that has waited longest for a request leaves.

use crate::mutex::Mutex;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// So many places. A clone has the same.
#[derive(Clone)]
pub(super) struct Places {
    most: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    /// The connections by their numbers.
    places: BTreeMap<u64, Connected>,
    /// Counts the connections and the ends of their answers.
    last: u64,
    /// Waits for a place.
    waiting: Option<Waker>,
}

struct Connected {
    /// Since when it waits for a request, as a count; `None` while it is answered.
    idle_since: Option<u64>,
    has_asked: bool,
    is_to_leave: bool,
    /// Waits until it is to leave.
    waiting: Option<Waker>,
}

/// The place of one connection, which is free when this is dropped.
pub(super) struct Place {
    places: Places,
    number: u64,
}

/// One answer, which ends when this is dropped.
pub(super) struct Answering(Arc<Place>);

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Takes a place. If none is free, the connection that has been idle longest is told to leave.
    pub(super) async fn take(&self) -> Place {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut taken = self.taken.lock();
            if taken.places.len() < self.most {
                let number = taken.count();
                let place = Connected { idle_since: Some(number), has_asked: false, is_to_leave: false, waiting: None };
                taken.places.insert(number, place);
                return Poll::Ready(Place { places: self.clone(), number });
            }
            let last = taken.waiting.replace(waker);
            let leaving = taken.make_room();
            // The drop of a waker may drop another connection.
            drop(taken);
            drop(last);
            leaving.into_iter().for_each(Waker::wake);
            Poll::Pending
        })
        .await
    }

    /// Changes the place of a connection, and looks for room again.
    fn change<T>(&self, change: impl FnOnce(&mut Taken) -> T) -> T {
        let mut taken = self.taken.lock();
        let changed = change(&mut taken);
        let waiting = taken.waiting.take();
        drop(taken);
        waiting.into_iter().for_each(Waker::wake);
        changed
    }
}

impl Taken {
    fn count(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Tells the connection that has been idle longest to leave, unless another is about to.
    fn make_room(&mut self) -> Option<Waker> {
        if self.places.values().any(|place| place.is_to_leave) {
            return None;
        }
        let idle = self.places.values_mut().filter(|place| place.idle_since.is_some());
        let longest = idle.min_by_key(|place| place.idle_since)?;
        longest.is_to_leave = true;
        longest.waiting.take()
    }
}

impl Place {
    /// Waits until the connection is to leave.
    pub(super) async fn left(&self) {
        poll_fn(|cx| {
            let mut waker = Some(cx.waker().clone());
            let mut taken = self.places.taken.lock();
            let polled = match taken.places.get_mut(&self.number) {
                Some(place) if !place.is_to_leave => {
                    mem::swap(&mut place.waiting, &mut waker);
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            };
            drop(taken);
            drop(waker);
            polled
        })
        .await;
    }

    /// Whether the head of a request has come.
    pub(super) fn has_asked(&self) -> bool {
        self.places.taken.lock().places.get(&self.number).is_some_and(|place| place.has_asked)
    }

    /// The head of a request has come.
    pub(super) fn asked(&self) {
        self.change(|place, _| place.has_asked = true);
    }

    /// A request has come whole, and is answered from now on.
    pub(super) fn answering(self: &Arc<Self>) -> Answering {
        self.change(|place, _| {
            (place.idle_since, place.is_to_leave) = (None, false);
        });
        Answering(Arc::clone(self))
    }

    fn change(&self, change: impl FnOnce(&mut Connected, u64)) {
        self.places.change(|taken| {
            let count = taken.count();
            if let Some(place) = taken.places.get_mut(&self.number) {
                change(place, count);
            }
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _waker = self.places.change(|taken| taken.places.remove(&self.number));
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.change(|place, count| place.idle_since = Some(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_tests::wait::{in_time, waker_with_drop};
    use smol::block_on;
    use smol::future::{FutureExt, poll_once};
    use std::task::Context;

    fn is_to_leave(place: &Place) -> bool {
        block_on(poll_once(place.left().boxed_local())).is_some()
    }

    fn take(places: &Places) -> Arc<Place> {
        Arc::new(block_on(places.take()))
    }

    #[test]
    fn connections_without_a_request_make_room_for_other_clients() {
        let places = Places::new(3);
        let [answered, first, second] = [(); 3].map(|()| take(&places));
        let _answering = answered.answering();
        // It had a request since, so it has not been idle for as long as the second.
        drop(first.answering());
        let mut third = places.take().boxed_local();
        assert!(block_on(poll_once(&mut third)).is_none());
        assert_eq!([&answered, &first, &second].map(|place| is_to_leave(place)), [false, false, true]);
        drop(second);
        assert!(block_on(poll_once(&mut third)).is_some());
    }

    #[test]
    fn a_waker_that_comes_back_to_the_places_where_it_is_dropped_does_not_wait_for_ever() {
        in_time(|| {
            let places = Places::new(1);
            let asks = || {
                let places = places.clone();
                waker_with_drop(move || drop(places.taken.lock()))
            };
            let place = take(&places);
            let (mut left, mut next) = (Box::pin(place.left()), Box::pin(places.take()));
            for _ in 0..2 {
                assert!(left.as_mut().poll(&mut Context::from_waker(&asks())).is_pending());
            }
            let answering = place.answering();
            for _ in 0..2 {
                assert!(next.as_mut().poll(&mut Context::from_waker(&asks())).is_pending());
            }
            drop(left);
            drop((answering, place));
            assert!(next.as_mut().poll(&mut Context::from_waker(&asks())).is_ready());
        });
    }

    #[test]
    fn a_client_waits_while_every_connection_is_answered() {
        let places = Places::new(1);
        let answered = take(&places);
        let answering = answered.answering();
        let mut next = places.take().boxed_local();
        assert!(block_on(poll_once(&mut next)).is_none() && !is_to_leave(&answered));
        drop(answering);
        assert!(block_on(poll_once(&mut next)).is_none() && is_to_leave(&answered));
        drop(answered);
        assert!(block_on(poll_once(&mut next)).is_some());
    }
}
