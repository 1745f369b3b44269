use super::on_panic::on_panic;
use super::wakers::{Wakers, wake_each};
use super::{Due, Lock, Shared};
use crate::storage::Slot;
use crate::time::Instant;
use alloc::boxed::Box;
use core::cell::Cell;
use core::task::{Poll, Waker};

/// A machine that hands out jobs to workers, and changes by itself when time passes.
pub(crate) trait Machine {
    /// What a worker gives back.
    type Last;
    /// The answer to it.
    type Finished: Copy;
    /// What followers of the timeouts are told of at once.
    type Stage: PartialEq;

    fn take_back(&mut self, last: Self::Last) -> Option<Self::Finished>;

    /// Whether a worker that asks now gets a job, or has to be told that none will come.
    fn has_answer(&self) -> bool;

    /// Whether a worker that finds no job can end.
    fn is_closed(&self) -> bool;

    /// Whether nothing is left to wait for.
    fn is_over(&self) -> bool;

    fn stage(&self) -> Self::Stage;

    fn handle_timeout(&mut self, now: Instant);

    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether it wants to [know the time](Self::note_time) of each change.
    fn wants_time(&self) -> bool;

    /// The next change happens at `now`.
    fn note_time(&mut self, now: Instant);
}

/// A machine whose jobs can be handed to workers.
pub(crate) trait Dispense: Machine {
    /// A job as a worker gets it.
    type Work;

    fn take(&mut self) -> Option<Self::Work>;

    /// Takes back a job that no worker has received.
    fn put_back(&mut self, work: Self::Work);
}

/// A machine behind a lock of the kind `Lk`, and the wakers of those that wait for it.
///
/// A change wakes one sleeping worker if there is a job, and that worker wakes the next one if there are more. Wakers
/// are called after the lock is released.
pub(crate) struct Dispatch<Q, Lk: Lock> {
    state: Shared<State<Q>, Lk>,
}

struct State<Q> {
    machine: Q,
    workers: Wakers,
    /// Those that follow the timeouts.
    followers: Wakers,
    clock: Option<Now>,
    wakes_all: bool,
}

/// Returns the time.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

impl<Q: Machine, Lk: Lock> Dispatch<Q, Lk> {
    pub(crate) fn new(machine: Q) -> Self {
        let (workers, followers) = (Wakers::default(), Wakers::default());
        Self { state: Shared::new(State { machine, workers, followers, clock: None, wakes_all: false }) }
    }

    /// Wakes every sleeping worker for a job, and not one: the thread of one may be busy.
    pub(crate) fn wake_all_workers(&self) {
        self.state.with(|state| state.wakes_all = true);
    }

    /// Stamps each change with the time that `now` returns, if the machine wants that.
    pub(crate) fn set_clock(&self, now: impl Fn() -> Instant + Send + Sync + 'static) {
        let _last = self.state.with(|state| match state.machine.wants_time() {
            true => state.clock.replace(Box::new(now)),
            false => None,
        });
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&Q) -> R) -> R {
        self.state.read(|state| read(&state.machine))
    }

    /// Changes the machine under the lock, and wakes the tasks that the change concerns after it.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Q) -> R) -> R {
        self.update_state(|state| change(&mut state.machine))
    }

    /// As [`update`](Self::update), and wakes everyone.
    pub(crate) fn close(&self, close: impl FnOnce(&mut Q)) {
        let close = |state: &mut State<Q>| {
            state.note_time();
            close(&mut state.machine);
        };
        self.with_repair(close, || self.wake_everyone());
        self.wake_everyone();
    }

    /// Takes back what a worker gives back, and counts on it no longer. If it was woken, another one is woken.
    pub(crate) fn leave(&self, waiting: &mut Waiting<Q::Last, Q::Finished>) {
        let Waiting { last, place, .. } = waiting;
        if last.is_none() && place.is_none() {
            return;
        }
        let last = last.take();
        let _waker = self.update_state(|state| {
            last.into_iter().for_each(|last| _ = state.machine.take_back(last));
            state.workers.remove(place)
        });
    }

    /// Gives the machine the time, and lets the follower that keeps `place` sleep.
    pub(crate) fn poll_due(&self, waker: &Waker, now: Instant, place: &mut Option<Slot>) -> Due {
        let ((due, _waker), worker) = self.state.with(|state| {
            state.machine.handle_timeout(now);
            let answer = if state.machine.is_over() {
                (Due::Closed, state.followers.remove(place))
            } else {
                let due = state.machine.poll_timeout().map_or(Due::Idle, Due::At);
                (due, state.followers.register(place, waker))
            };
            (answer, state.next_worker())
        });
        // Other followers sleep until the same moment, or look again then.
        self.wake(worker, due == Due::Closed);
        due
    }

    /// Lets the follower that keeps `place` go.
    pub(crate) fn leave_timeouts(&self, place: &mut Option<Slot>) {
        if place.is_none() {
            return;
        }
        let _waker = self.state.with(|state| state.followers.remove(place));
    }

    fn update_state<R>(&self, change: impl FnOnce(&mut State<Q>) -> R) -> R {
        let (answer, worker, concerns_followers) = self.change(change);
        self.wake(worker, concerns_followers);
        answer
    }

    /// Changes the machine under the lock, and returns the wakers to [wake](Self::wake) after it. A change that panics
    /// may have ended a job before, so then a worker is woken and the followers look again.
    fn change<R>(&self, change: impl FnOnce(&mut State<Q>) -> R) -> (R, Option<(Slot, Waker)>, bool) {
        let change = |state: &mut State<Q>| {
            state.note_time();
            let before = (state.machine.poll_timeout(), state.machine.stage());
            let answer = change(state);
            (answer, state.next_worker(), state.concerns_followers(before))
        };
        self.with_repair(change, || {
            let worker = self.state.with(State::next_worker);
            self.wake(worker, true);
        })
    }

    /// Changes the machine under the lock, and calls `repair` after it if the change panics.
    fn with_repair<R>(&self, change: impl FnOnce(&mut State<Q>) -> R, repair: impl FnOnce()) -> R {
        // A change that comes back to the lock that it is under never begins.
        let has_begun = Cell::new(false);
        let change = |state: &mut State<Q>| {
            has_begun.set(true);
            change(state)
        };
        let repair = || {
            if has_begun.get() {
                repair();
            }
        };
        on_panic(|| self.state.with(change), repair)
    }

    fn wake(&self, worker: Option<(Slot, Waker)>, concerns_followers: bool) {
        let wake_followers = || {
            if concerns_followers {
                self.wake_all(|state| &mut state.followers);
            }
        };
        let mut next = worker;
        while let Some((slot, waker)) = next {
            on_panic(|| self.wake_worker(slot, waker), wake_followers);
            next = self.state.with(State::further_worker);
        }
        wake_followers();
    }

    /// Wakes a worker; if its waker panics, the next worker.
    fn wake_worker(&self, slot: Slot, waker: Waker) {
        on_panic(|| waker.wake(), || self.update_state(|state| state.workers.give_up(slot)));
    }

    fn wake_everyone(&self) {
        on_panic(|| self.wake_all(|state| &mut state.followers), || self.wake_all(|state| &mut state.workers));
        self.wake_all(|state| &mut state.workers);
    }

    /// Wakes all that sleep now; if a waker panics, the others all the same.
    fn wake_all(&self, sleepers: fn(&mut State<Q>) -> &mut Wakers) {
        wake_each(&mut self.state.with(|state| sleepers(state).take_all()).into_iter());
    }
}

impl<Q: Dispense, Lk: Lock> Dispatch<Q, Lk> {
    /// Takes back what the worker gives back, and hands out a job or lets the worker sleep. If the waker of the next
    /// worker panics, the job is put back.
    pub(crate) fn poll_work(
        &self,
        waker: &Waker,
        waiting: &mut Waiting<Q::Last, Q::Finished>,
    ) -> Poll<Option<Q::Work>> {
        let Waiting { last, finished, place } = waiting;
        let last = last.take();
        let ((answer, _waker), worker, concerns_followers) = self.change(|state| {
            if let Some(last) = last {
                *finished = state.machine.take_back(last);
            }
            match state.machine.take() {
                Some(work) => (Poll::Ready(Some(work)), state.workers.remove(place)),
                None if state.machine.is_closed() => (Poll::Ready(None), state.workers.remove(place)),
                None => (Poll::Pending, state.workers.register(place, waker)),
            }
        });
        let mut answer = Undelivered { dispatch: self, answer };
        self.wake(worker, concerns_followers);
        core::mem::replace(&mut answer.answer, Poll::Pending)
    }
}

impl<Q: Machine> State<Q> {
    fn note_time(&mut self) {
        if let Some(now) = &self.clock {
            self.machine.note_time(now());
        }
    }

    /// The worker to wake for a job: none while another wake-up is under way, unless all are woken.
    fn next_worker(&mut self) -> Option<(Slot, Waker)> {
        let is_due = self.machine.has_answer() && (self.wakes_all || !self.workers.is_waking());
        if is_due { self.workers.take_one() } else { None }
    }

    /// The worker to wake beside one that was just woken.
    fn further_worker(&mut self) -> Option<(Slot, Waker)> {
        if self.wakes_all { self.next_worker() } else { None }
    }

    /// Whether tasks that follow the timeouts, and slept until the deadline `before`, would sleep too long or for
    /// nothing.
    fn concerns_followers(&self, before: (Option<Instant>, Q::Stage)) -> bool {
        let (deadline, stage) = before;
        if self.followers.is_empty() {
            return false;
        }
        match self.machine.poll_timeout() {
            _ if self.machine.stage() != stage => true,
            Some(next) => deadline.is_none_or(|deadline| next < deadline),
            None => deadline.is_some() || self.machine.is_over(),
        }
    }
}

/// A result that its worker has not received yet: if it is dropped, another worker gets the job.
struct Undelivered<'a, Q: Dispense, Lk: Lock> {
    dispatch: &'a Dispatch<Q, Lk>,
    answer: Poll<Option<Q::Work>>,
}

impl<Q: Dispense, Lk: Lock> Drop for Undelivered<'_, Q, Lk> {
    fn drop(&mut self) {
        if let Poll::Ready(Some(work)) = core::mem::replace(&mut self.answer, Poll::Pending) {
            self.dispatch.update(|machine| machine.put_back(work));
        }
    }
}

/// The part of a future that waits for a job. It has no reference to the machine, so that a future which has one is
/// `Send` wherever the reference is. The future [leaves](Dispatch::leave) when it is dropped.
pub(crate) struct Waiting<T, A> {
    /// What is given back first.
    last: Option<T>,
    /// The answer to it.
    pub(crate) finished: Option<A>,
    /// The place among the sleeping workers.
    pub(crate) place: Option<Slot>,
}

impl<T, A> Waiting<T, A> {
    pub(crate) fn new(last: Option<T>) -> Self {
        Self { last, finished: None, place: None }
    }
}
