use super::inbox::{Inbox, release};
use super::wakers::{Wakers, wake_each};
use super::{Lock, Shared};
use crate::queue::{Machine, Posted};
use crate::storage::Slot;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::task::{Poll, Waker};

/// The time until which a task that follows the delays can sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Until this time, or until the task is woken.
    At(Instant),
    /// Until the task is woken, because no key is delayed.
    Idle,
    /// For ever, because the queue is shut down, and [nothing is left to wait for](crate::queue::WorkQueueIn::drained).
    Closed,
}

/// A machine behind a lock of the kind `Lk`, and the wakers of those that wait for it.
///
/// A change after which a job is ready wakes all workers that sleep: the thread of one of them may compute. Wakers are
/// called after the lock is released.
#[allow(missing_debug_implementations, reason = "nobody outside of this crate has one")]
pub struct Dispatch<Q, Lk: Lock, K = Infallible> {
    state: Shared<State<Q, K>, Lk>,
    inbox: Inbox<K, Lk>,
}

struct State<Q, K> {
    machine: Q,
    /// If the inbox is not open, nothing is in it.
    inbox_is_open: bool,
    /// A change is under way. If it is when the next one begins, the last one panicked.
    is_changing: bool,
    /// Keys from the inbox that are yet to be added.
    posted: VecDeque<Posted<K>>,
    /// How many jobs are handed out before posted keys are added, although others are ready.
    turns: usize,
    workers: Wakers,
    /// Those that follow the timeouts.
    followers: Wakers,
    clock: Option<Now>,
}

/// How many posted keys are added for a job, so that the machine's memory stays small, and in the caches.
const BATCH: usize = 64;

/// How many jobs are handed out at most before posted keys are added.
const TURNS: usize = 64;

/// Returns the time.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

impl<Q: Machine, Lk: Lock> Dispatch<Q, Lk, Q::Key> {
    pub(crate) fn new(machine: Q) -> Self {
        let (workers, followers) = (Wakers::default(), Wakers::default());
        let (inbox_is_open, is_changing, posted, turns) = (false, false, VecDeque::new(), TURNS);
        let state = State { machine, inbox_is_open, is_changing, posted, turns, workers, followers, clock: None };
        Self { state: Shared::new(state), inbox: Inbox::new() }
    }

    /// Stamps each change with the time that `now` returns, if the machine wants that.
    pub(crate) fn set_clock(&self, now: impl Fn() -> Instant + Send + Sync + 'static) {
        let _last = self.state.with(|state| match state.machine.wants_time() {
            true => state.clock.replace(Box::new(now)),
            false => None,
        });
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&Q) -> R) -> R {
        let mut read = Some(read);
        let mut once = |machine: &Q| read.take().map(|read| read(machine));
        let is_behind = |state: &State<Q, Q::Key>| state.is_changing || state.has_posts();
        let answer = self.state.read(|state| if is_behind(state) { None } else { once(&state.machine) });
        if let Some(answer) = answer {
            return answer;
        }
        self.update(|_| ());
        self.state.read(|state| once(&state.machine)).expect("it is read once")
    }

    #[cfg(all(test, feature = "std"))]
    pub(super) fn read_bare<R>(&self, read: impl FnOnce(&Q) -> R) -> R {
        self.state.read(|state| read(&state.machine))
    }

    /// Changes the machine under the lock, and wakes the tasks that the change concerns after it. Posted keys are added
    /// before.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Q) -> R) -> R {
        self.update_state(|state| {
            state.collect(&self.inbox);
            change(&mut state.machine)
        })
    }

    /// As [`update`](Self::update), without posted keys: a worker that gives a job back does not wait for them.
    pub(crate) fn update_bare<R>(&self, change: impl FnOnce(&mut Q) -> R) -> R {
        self.update_state(|state| change(&mut state.machine))
    }

    /// Adds a key: in front of the lock while that is in demand and the workers are busy, and at once otherwise.
    pub(crate) fn add(&self, key: Posted<Q::Key>) {
        let mut key = Some(key);
        if self.inbox.try_add(&mut key) {
            return;
        }
        let is_taken = self.state.is_taken();
        self.update_state(|state| {
            state.collect(&self.inbox);
            key.into_iter().for_each(|key| state.machine.add(key));
            if is_taken {
                state.open(&self.inbox);
            }
        });
    }

    /// Closes the machine, and wakes everyone. Keys that were added before are ready, although no more can come.
    pub(crate) fn close(&self, close: impl FnOnce(&mut Q)) {
        self.change(|state, woken| {
            state.note_time();
            state.take_posts(&self.inbox, false);
            close(&mut state.machine);
            state.take_everyone(woken);
        });
    }

    /// Takes back what a worker gives back, which sleeps no longer.
    pub(crate) fn leave(&self, last: Option<Q::Last>, place: &mut Option<Slot>) {
        if last.is_none() && place.is_none() {
            return;
        }
        let _waker = self.update_state(|state| {
            last.into_iter().for_each(|last| _ = state.machine.take_back(last));
            state.workers.remove(place)
        });
    }

    /// Gives the machine the time, and lets the follower that keeps `place` sleep.
    pub(crate) fn poll_due(&self, waker: &Waker, now: Instant, place: &mut Option<Slot>) -> Due {
        let (due, _waker) = self.change(|state, woken| {
            if state.ends_at(now) {
                state.collect(&self.inbox);
            }
            state.machine.handle_timeout(now);
            state.take_workers(woken);
            if state.is_over() {
                woken.append(&mut state.followers.take_all());
                return (Due::Closed, state.followers.remove(place));
            }
            // Other followers sleep until the same moment, or look again then.
            let due = state.machine.poll_timeout().map_or(Due::Idle, Due::At);
            (due, state.followers.register(place, waker))
        });
        due
    }

    /// Lets the follower that keeps `place` go.
    pub(crate) fn leave_timeouts(&self, place: &mut Option<Slot>) {
        if place.is_none() {
            return;
        }
        let _waker = self.state.with(|state| state.followers.remove(place));
    }

    /// Changes the machine under the lock, and wakes the tasks that the change concerns after it.
    #[inline]
    fn update_state<R>(&self, change: impl FnOnce(&mut State<Q, Q::Key>) -> R) -> R {
        self.change(|state, woken| {
            let before = state.begin();
            let answer = change(state);
            state.conclude(before, &self.inbox, woken);
            answer
        })
    }

    /// Changes the state under the lock, and then wakes tasks. If either panics, the machine [fails](Unfinished).
    #[inline]
    fn change<R>(&self, change: impl FnOnce(&mut State<Q, Q::Key>, &mut Vec<Waker>) -> R) -> R {
        let (mut woken, mut unfinished) = (Vec::new(), None);
        let answer = self.state.with(|state| {
            unfinished = Some(Unfinished(self));
            if core::mem::replace(&mut state.is_changing, true) {
                state.fail(&self.inbox);
            }
            let answer = change(state, &mut woken);
            state.is_changing = false;
            answer
        });
        if !woken.is_empty() {
            wake_each(woken);
        }
        core::mem::forget(unfinished);
        answer
    }

    /// Takes back what the worker gives back, and hands out a job or lets the worker sleep, if it has a waker.
    pub(crate) fn poll_work(
        &self,
        waker: Option<&Waker>,
        last: &mut Option<Q::Last>,
        finished: &mut Option<Q::Finished>,
        place: &mut Option<Slot>,
    ) -> Poll<Option<(Q::Told, Q::Job)>> {
        let (mut answer, mut last_waker) = (Poll::Pending, None);
        self.update_state(|state| {
            if let Some(last) = last.take() {
                *finished = state.machine.take_back(last);
            }
            state.refill(&self.inbox);
            if let Some(work) = state.machine.take() {
                state.turns = state.turns.saturating_sub(1);
                answer = Poll::Ready(Some(work));
            } else if state.machine.is_closed() {
                answer = Poll::Ready(None);
            } else if let Some(waker) = waker {
                last_waker = state.workers.register(place, waker);
                return;
            }
            if place.is_some() {
                last_waker = state.workers.remove(place);
            }
        });
        drop(last_waker);
        answer
    }
}

/// A change whose end is not reached. If it panics, the machine fails, and everyone who waits is told.
struct Unfinished<'a, Q: Machine, Lk: Lock>(&'a Dispatch<Q, Lk, Q::Key>);

impl<Q: Machine, Lk: Lock> Drop for Unfinished<'_, Q, Lk> {
    fn drop(&mut self) {
        let Dispatch { state, inbox } = self.0;
        let mut woken = Vec::new();
        state.with(|state| {
            state.fail(inbox);
            state.is_changing = false;
            state.take_everyone(&mut woken);
        });
        wake_each(woken);
    }
}

impl<Q: Machine> State<Q, Q::Key> {
    /// What a change is compared with after it.
    fn begin(&mut self) -> (Option<Instant>, Q::Stage) {
        self.note_time();
        (self.machine.poll_timeout(), self.machine.stage())
    }

    /// Takes out the tasks that a change concerns.
    fn conclude(
        &mut self,
        before: (Option<Instant>, Q::Stage),
        inbox: &Inbox<Q::Key, impl Lock>,
        woken: &mut Vec<Waker>,
    ) {
        self.shut_if_one_sleeps(inbox);
        self.take_workers(woken);
        if self.concerns_followers(before) {
            woken.append(&mut self.followers.take_all());
        }
    }

    /// Takes out the workers that sleep, if one of them gets an answer.
    #[inline]
    fn take_workers(&mut self, woken: &mut Vec<Waker>) {
        if !self.workers.is_empty() && (self.machine.has_answer() || !self.posted.is_empty()) {
            woken.append(&mut self.workers.take_all());
        }
    }

    fn take_everyone(&mut self, woken: &mut Vec<Waker>) {
        woken.append(&mut self.followers.take_all());
        woken.append(&mut self.workers.take_all());
    }

    /// Whether keys were posted that the machine may not have.
    fn has_posts(&self) -> bool {
        self.inbox_is_open || !self.posted.is_empty()
    }

    /// Adds all keys that were posted.
    ///
    /// Not part of the callers, of which a firmware image has many.
    #[inline(never)]
    fn collect(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        self.take_posts(inbox, self.inbox_is_open);
        self.add_posted(usize::MAX);
    }

    /// Empties and closes the machine.
    #[cold]
    fn fail(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        self.take_posts(inbox, false);
        core::mem::forget(core::mem::take(&mut self.posted));
        self.machine.fail();
    }

    /// Adds the first of the keys that were taken over, `most` at most.
    #[inline(never)]
    fn add_posted(&mut self, most: usize) {
        if !self.posted.is_empty() {
            self.machine.add_posted(&mut self.posted, most);
            release(&mut self.posted);
        }
    }

    /// Adds posted keys until a job is ready. Those that are ready again at once, time after time, must not keep posted
    /// ones waiting.
    #[inline]
    fn refill(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        while self.has_posts() && (self.turns == 0 || !self.machine.has_answer()) {
            self.turns = TURNS;
            if self.posted.is_empty() {
                self.take_posts(inbox, true);
            }
            if self.posted.is_empty() {
                return;
            }
            self.add_posted(BATCH);
        }
    }

    /// Takes over the keys of the inbox, without adding them.
    #[inline(never)]
    fn take_posts(&mut self, inbox: &Inbox<Q::Key, impl Lock>, stays_open: bool) {
        if self.inbox_is_open {
            self.inbox_is_open = stays_open;
            let merged = inbox.take(&mut self.posted, stays_open);
            self.machine.note_merged(merged);
        }
    }

    /// Lets keys wait in the inbox from now on, if there is a job and no worker sleeps.
    fn open(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        let is_busy = self.workers.is_empty() && self.machine.has_answer() && !self.machine.is_closed();
        if is_busy && !self.inbox_is_open && !self.machine.wants_time() {
            inbox.open();
            self.inbox_is_open = true;
        }
    }

    /// Shuts the inbox if a worker sleeps: it is to be woken for what comes.
    #[inline]
    fn shut_if_one_sleeps(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        if self.inbox_is_open && !self.workers.is_empty() {
            self.take_posts(inbox, false);
        }
    }

    fn note_time(&mut self) {
        if let Some(now) = &self.clock {
            self.machine.note_time(now());
        }
    }

    fn is_over(&self) -> bool {
        self.posted.is_empty() && self.machine.is_over()
    }

    /// Whether the machine would count as over at `now`, although it does not have all posted keys yet.
    fn ends_at(&self, now: Instant) -> bool {
        let is_due = || self.machine.poll_timeout().is_some_and(|deadline| deadline <= now);
        !self.posted.is_empty() && self.machine.is_closed() && (self.machine.is_over() || is_due())
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
            None => deadline.is_some() || self.is_over(),
        }
    }
}
