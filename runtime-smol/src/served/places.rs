//! The places of connections. When all are taken, the connection that has waited longest for a request leaves.

use crate::mutex::Mutex;
use crate::waiting::Waiting;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Wake;

/// So many places. A clone has the same.
#[derive(Clone)]
pub(super) struct Places(Arc<Shared>);

struct Shared {
    most: usize,
    taken: Mutex<Taken>,
    /// Waits for a place.
    next: Arc<Waiting>,
    /// The connections, each of which waits until it is to leave.
    connected: Arc<Waiting>,
}

#[derive(Default)]
struct Taken {
    /// The connections by their numbers.
    places: BTreeMap<u64, Connected>,
    /// Counts the connections and the ends of their answers.
    last: u64,
}

struct Connected {
    /// Since when it waits for a request, as a count; `None` while it is answered.
    idle_since: Option<u64>,
    has_asked: bool,
    is_to_leave: bool,
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
        Self(Arc::new(Shared { most, taken: Mutex::default(), next: Arc::default(), connected: Arc::default() }))
    }

    /// Takes a place. If none is free, the connection that has been idle longest is told to leave.
    pub(super) async fn take(&self) -> Place {
        let number = self.0.next.until(|| self.try_take()).await;
        Place { places: self.clone(), number }
    }

    fn try_take(&self) -> Option<u64> {
        let mut taken = self.0.taken.lock();
        if taken.places.len() < self.0.most {
            let number = taken.count();
            let place = Connected { idle_since: Some(number), has_asked: false, is_to_leave: false };
            taken.places.insert(number, place);
            return Some(number);
        }
        let is_told = taken.make_room();
        drop(taken);
        if is_told {
            self.0.connected.wake_by_ref();
        }
        None
    }

    /// Changes the place of a connection, and looks for room again.
    fn change(&self, change: impl FnOnce(&mut Taken)) {
        change(&mut self.0.taken.lock());
        self.0.next.wake_by_ref();
    }
}

impl Taken {
    fn count(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Tells the connection that has been idle longest to leave, unless another is about to.
    fn make_room(&mut self) -> bool {
        if self.places.values().any(|place| place.is_to_leave) {
            return false;
        }
        let idle = self.places.values_mut().filter(|place| place.idle_since.is_some());
        idle.min_by_key(|place| place.idle_since).map(|longest| longest.is_to_leave = true).is_some()
    }
}

impl Place {
    /// Waits until the connection is to leave.
    pub(super) async fn left(&self) {
        self.places.0.connected.until(|| self.read(|place| place.is_to_leave).then_some(())).await;
    }

    /// Whether the head of a request has come.
    pub(super) fn has_asked(&self) -> bool {
        self.read(|place| place.has_asked)
    }

    /// The head of a request has come.
    pub(super) fn asked(&self) {
        self.change(|place, _| place.has_asked = true);
    }

    /// A request has an answer, which is sent from now on.
    pub(super) fn answering(self: &Arc<Self>) -> Answering {
        self.change(|place, _| (place.idle_since, place.is_to_leave) = (None, false));
        Answering(Arc::clone(self))
    }

    fn read(&self, read: impl FnOnce(&Connected) -> bool) -> bool {
        self.places.0.taken.lock().places.get(&self.number).is_some_and(read)
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
        self.places.change(|taken| _ = taken.places.remove(&self.number));
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
                waker_with_drop(move || drop(places.0.taken.lock()))
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
