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
}

/// Returns the time.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

impl<Q: Machine, Lk: Lock> Dispatch<Q, Lk> {
    pub(crate) fn new(machine: Q) -> Self {
        let (workers, followers) = (Wakers::default(), Wakers::default());
        Self { state: Shared::new(State { machine, workers, followers, clock: None }) }
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

    /// Takes `last` back, and no longer counts on the worker that keeps `place`.
    fn leave(&self, last: Option<Q::Last>, place: &mut Option<Slot>) {
        let _waker = self.update_state(|state| {
            last.into_iter().for_each(|last| _ = state.machine.take_back(last));
            state.workers.remove(place)
        });
    }

    /// Gives the machine the time, and lets the follower that keeps `place` sleep.
    pub(super) fn poll_due(&self, waker: &Waker, now: Instant, place: &mut Option<Slot>) -> Due {
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

    fn leave_timeouts(&self, place: &mut Option<Slot>) {
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
        if let Some((slot, waker)) = worker {
            on_panic(|| self.wake_worker(slot, waker), wake_followers);
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
    /// Takes `last` back and hands out a job, or lets the worker that keeps `place` sleep. If the waker of the next
    /// worker panics, the job is put back.
    fn poll_work(
        &self,
        waker: &Waker,
        last: Option<Q::Last>,
        finished: &mut Option<Q::Finished>,
        place: &mut Option<Slot>,
    ) -> Poll<Option<Q::Work>> {
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

    /// The worker to wake for a job: none while another wake-up is under way.
    fn next_worker(&mut self) -> Option<(Slot, Waker)> {
        if self.machine.has_answer() && !self.workers.is_waking() { self.workers.take_one() } else { None }
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

/// A type that shares a machine with workers.
///
/// What borrows it can be sent if the type itself can be shared, which a caller of any lock can require.
pub(crate) trait Shares {
    type Machine: Machine;
    type Lock: Lock;

    fn dispatch(&self) -> &Dispatch<Self::Machine, Self::Lock>;
}

/// A worker that waits for a job. It can be dropped at any time: if it was woken, the next worker is woken.
pub(crate) struct Waiting<'a, S: Shares> {
    shared: &'a S,
    /// What is given back first.
    last: Option<<S::Machine as Machine>::Last>,
    /// The answer to what was given back first.
    pub(crate) finished: Option<<S::Machine as Machine>::Finished>,
    /// The place among the sleeping workers.
    place: Option<Slot>,
}

impl<'a, S: Shares> Waiting<'a, S> {
    pub(crate) fn new(shared: &'a S, last: Option<<S::Machine as Machine>::Last>) -> Self {
        Self { shared, last, finished: None, place: None }
    }

    pub(crate) fn shared(&self) -> &'a S {
        self.shared
    }

    pub(crate) fn place(&self) -> Option<Slot> {
        self.place
    }
}

impl<S: Shares<Machine: Dispense>> Waiting<'_, S> {
    /// The next job; `None` when none will come.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Option<<S::Machine as Dispense>::Work>> {
        self.shared.dispatch().poll_work(waker, self.last.take(), &mut self.finished, &mut self.place)
    }
}

impl<S: Shares> Drop for Waiting<'_, S> {
    fn drop(&mut self) {
        if self.last.is_some() || self.place.is_some() {
            self.shared.dispatch().leave(self.last.take(), &mut self.place);
        }
    }
}

/// A task that follows a machine's timeouts.
pub(crate) struct Following<'a, S: Shares> {
    shared: &'a S,
    /// The place among the sleepers.
    place: Option<Slot>,
}

impl<'a, S: Shares> Following<'a, S> {
    pub(crate) fn new(shared: &'a S) -> Self {
        Self { shared, place: None }
    }

    pub(crate) fn place(&self) -> Option<Slot> {
        self.place
    }

    /// Gives the machine the time, and registers the task's waker.
    pub(crate) fn poll_due(&mut self, waker: &Waker, now: Instant) -> Due {
        self.shared.dispatch().poll_due(waker, now, &mut self.place)
    }
}

impl<S: Shares> Drop for Following<'_, S> {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.shared.dispatch().leave_timeouts(&mut self.place);
        }
    }
}
