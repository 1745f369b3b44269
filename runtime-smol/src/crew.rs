use crate::caught::Overseer;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The workers of one [`Workers`](crate::Workers): which keys they have, and whether their time is over.
#[derive(Debug)]
pub(crate) struct Crew<K>(Mutex<State<K>>);

#[derive(Debug)]
struct State<K> {
    desks: Vec<Desk<K>>,
    is_over: bool,
    dropped: Vec<K>,
    /// Whoever waits for the end.
    waiting: Option<Waker>,
}

#[derive(Debug)]
struct Desk<K> {
    key: Option<K>,
    /// Its reconcile is being polled now.
    is_in_step: bool,
    has_left: bool,
    waker: Option<Waker>,
}

/// What became of the workers; see [`Workers::ended`](crate::Workers::ended).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended<K> {
    /// The keys whose reconcile was not done when the time to drain was over. It was dropped, with its requests.
    pub dropped: Vec<K>,
    /// The keys whose reconcile had a thread at that moment. It cannot be dropped before it gives that thread back, which
    /// one that blocks does late or never.
    pub blocked: Vec<K>,
}

impl<K> Crew<K> {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let desk = |_| Desk { key: None, is_in_step: false, has_left: false, waker: None };
        let desks = (0..count).map(desk).collect();
        Arc::new(Self(Mutex::new(State { desks, is_over: false, dropped: Vec::new(), waiting: None })))
    }

    /// A worker's own place. It has left when this is dropped.
    pub(crate) fn seat(self: &Arc<Self>, number: usize) -> Seat<K> {
        Seat { crew: Arc::clone(self), number }
    }

    /// The time to drain is over: what runs is to be dropped.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        let mut wakers: Vec<Waker> = state.desks.iter_mut().filter_map(|desk| desk.waker.take()).collect();
        wakers.extend(state.waiting.take());
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ready when all have left, or the time is over and those who have not cannot be stopped.
    pub(crate) fn poll_ended(&self, cx: &Context<'_>) -> Poll<Ended<K>> {
        let mut state = self.state();
        let is_over = state.is_over;
        if !state.desks.iter().all(|desk| desk.has_left || is_over && desk.is_in_step) {
            state.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let blocked = state.desks.iter_mut().filter_map(|desk| desk.key.take()).collect();
        Poll::Ready(Ended { dropped: core::mem::take(&mut state.dropped), blocked })
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker's place in its crew.
#[derive(Debug)]
pub(crate) struct Seat<K> {
    crew: Arc<Crew<K>>,
    number: usize,
}

impl<K> Seat<K> {
    /// The worker has this key from now on.
    pub(crate) fn take(&self, key: K) {
        self.with(|state, number| state.desks[number].key = Some(key));
    }

    /// The worker is done with its key.
    pub(crate) fn put_down(&self) {
        let _key = self.with(|state, number| state.desks[number].key.take());
    }

    /// The worker's reconcile was dropped.
    pub(crate) fn give_up(&self) {
        self.with(|state, number| {
            let key = state.desks[number].key.take();
            state.dropped.extend(key);
        });
    }

    fn with<R>(&self, change: impl FnOnce(&mut State<K>, usize) -> R) -> R {
        change(&mut self.crew.state(), self.number)
    }
}

impl<K> Overseer for Seat<K> {
    fn begins_step(&self, cx: &Context<'_>) -> bool {
        let waker = cx.waker();
        let (goes_on, _last) = self.with(|state, number| {
            let desk = &mut state.desks[number];
            desk.is_in_step = !state.is_over;
            let is_known = desk.waker.as_ref().is_some_and(|known| known.will_wake(waker));
            (!state.is_over, if is_known { None } else { desk.waker.replace(waker.clone()) })
        });
        goes_on
    }

    fn ends_step(&self) -> bool {
        self.with(|state, number| {
            state.desks[number].is_in_step = false;
            !state.is_over
        })
    }
}

impl<K> Drop for Seat<K> {
    fn drop(&mut self) {
        let (waiting, _key, _waker) = self.with(|state, number| {
            let desk = &mut state.desks[number];
            desk.has_left = true;
            (state.waiting.take(), desk.key.take(), desk.waker.take())
        });
        waiting.into_iter().for_each(Waker::wake);
    }
}
