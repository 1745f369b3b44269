use super::inbox::{Inbox, release};
use super::on_panic::on_panic;
use super::wakers::{Wakers, wake_each};
use super::{Due, Lock, Shared};
use crate::queue::Posted;
use crate::storage::Slot;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::convert::Infallible;
use core::task::{Poll, Waker};

/// A machine that hands out jobs to workers, and changes by itself when time passes.
pub(crate) trait Machine {
    /// What a worker gives back.
    type Last;
    /// The answer to it.
    type Finished: Copy;
    /// What followers of the timeouts are told of at once.
    type Stage: PartialEq;
    /// A key that can wait in front of the lock.
    type Key: Eq;

    /// Whether keys may wait in front of the lock. A machine that stamps them, or whose additions run code that may
    /// panic, has to have them at once.
    fn allows_posts(&self) -> bool;

    /// Adds a key, unless the machine is closed.
    fn add(&mut self, key: Posted<Self::Key>);

    /// Adds the last ones of these keys, `most` at most. They came before the machine was closed. Each is out of
    /// `posted` before it is added: its `Eq` may panic.
    fn add_posted(&mut self, posted: &mut Vec<Posted<Self::Key>>, most: usize);

    /// Counts additions of keys that were posted already.
    fn note_merged(&mut self, merged: u64);

    fn take_back(&mut self, last: Self::Last) -> Option<Self::Finished>;

    /// How many workers that ask now get a job, or have to be told that none will come.
    fn answers(&self) -> usize;

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
/// For each job that is ready, a change wakes a sleeping worker, unless one that was woken is yet to come for it. Wakers
/// are called after the lock is released.
pub(crate) struct Dispatch<Q, Lk: Lock, K = Infallible> {
    state: Shared<State<Q, K>, Lk>,
    inbox: Inbox<K, Lk>,
}

struct State<Q, K> {
    machine: Q,
    /// If the inbox is not open, nothing is in it.
    inbox_is_open: bool,
    /// Posted keys are being added. It stays so where one panics.
    is_adding: bool,
    /// Keys from the inbox that are yet to be added, from the last one on.
    posted: Vec<Posted<K>>,
    /// How many jobs are handed out before posted keys are added, although others are ready.
    turns: usize,
    workers: Wakers,
    /// Those that follow the timeouts.
    followers: Wakers,
    clock: Option<Now>,
    wakes_all: bool,
}

/// The tasks to wake after a change, when the lock is released.
#[derive(Default)]
struct Concerned {
    worker: Option<(Slot, Waker)>,
    followers: bool,
}

/// How many posted keys are added for a job, so that the machine's memory stays small, and in the caches.
const BATCH: usize = 64;

/// How many are added under one lock, while workers wait for it.
const UNDER_ONE_LOCK: usize = 4096;

/// How many jobs are handed out at most before posted keys are added.
const TURNS: usize = 64;

/// Returns the time.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

impl<Q: Machine, Lk: Lock> Dispatch<Q, Lk, Q::Key> {
    pub(crate) fn new(machine: Q) -> Self {
        let (workers, followers) = (Wakers::default(), Wakers::default());
        let (inbox_is_open, is_adding, posted, turns) = (false, false, Vec::new(), TURNS);
        let state = State {
            machine,
            inbox_is_open,
            is_adding,
            posted,
            turns,
            workers,
            followers,
            clock: None,
            wakes_all: false,
        };
        Self { state: Shared::new(state), inbox: Inbox::new() }
    }

    /// Wakes every sleeping worker for a job, and not one: the thread of one may compute.
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
        let mut read = Some(read);
        let mut once = |machine: &Q| read.take().map(|read| read(machine));
        let answer = self.state.read(|state| if state.has_posts() { None } else { once(&state.machine) });
        if let Some(answer) = answer {
            return answer;
        }
        self.update(|_| ());
        self.state.read(|state| once(&state.machine)).expect("it is read once")
    }

    /// Changes the machine under the lock, and wakes the tasks that the change concerns after it. Posted keys are added
    /// before. Workers get the lock in between, if there are many.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Q) -> R) -> R {
        let (mut change, mut has_taken) = (Some(change), false);
        loop {
            let answer = self.update_state(|state| {
                let has_all = !state.has_posts() || state.collect_some(&self.inbox, &mut has_taken);
                let change = if has_all { change.take() } else { None };
                change.map(|change| change(&mut state.machine))
            });
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// As [`update`](Self::update), without posted keys. Where a worker gives its job back, one that panics would keep
    /// the job.
    pub(crate) fn update_bare<R>(&self, change: impl FnOnce(&mut Q) -> R) -> R {
        self.update_state(|state| change(&mut state.machine))
    }

    /// Whether a posted key has panicked where it was added, since the last call.
    pub(crate) fn take_lost_post(&self) -> bool {
        self.state.with(|state| core::mem::take(&mut state.is_adding))
    }

    /// Leaves a key in front of the lock while the workers are busy, and adds it at once while one sleeps.
    pub(crate) fn post(&self, key: Posted<Q::Key>) {
        let mut key = Some(key);
        if self.inbox.try_post(&mut key) {
            return;
        }
        self.update_state(|state| {
            state.collect(&self.inbox);
            key.into_iter().for_each(|key| state.machine.add(key));
            state.open(&self.inbox);
        });
    }

    /// As [`update`](Self::update), and wakes everyone.
    pub(crate) fn close(&self, close: impl FnOnce(&mut Q)) {
        let repair = Repair::new(self, Whom::Everyone);
        self.state.with(|state| {
            repair.has_begun.set(true);
            state.note_time();
            // Keys that were posted before are ready, although no more can be added.
            state.take_posts(&self.inbox, false);
            close(&mut state.machine);
        });
        core::mem::forget(repair);
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
            if state.ends_at(now) {
                state.collect(&self.inbox);
            }
            state.machine.handle_timeout(now);
            let answer = if state.is_over() {
                (Due::Closed, state.followers.remove(place))
            } else {
                let due = state.machine.poll_timeout().map_or(Due::Idle, Due::At);
                (due, state.followers.register(place, waker))
            };
            (answer, state.next_worker())
        });
        // Other followers sleep until the same moment, or look again then.
        self.wake(Concerned { worker, followers: due == Due::Closed });
        due
    }

    /// Lets the follower that keeps `place` go.
    pub(crate) fn leave_timeouts(&self, place: &mut Option<Slot>) {
        if place.is_none() {
            return;
        }
        let _waker = self.state.with(|state| state.followers.remove(place));
    }

    fn update_state<R>(&self, change: impl FnOnce(&mut State<Q, Q::Key>) -> R) -> R {
        let mut concerned = Concerned::default();
        let answer = self.change(&mut concerned, change);
        self.wake(concerned);
        answer
    }

    /// Changes the machine under the lock, and notes the tasks to [wake](Self::wake) after it.
    #[inline]
    fn change<R>(&self, concerned: &mut Concerned, change: impl FnOnce(&mut State<Q, Q::Key>) -> R) -> R {
        let repair = Repair::new(self, Whom::Next);
        let answer = self.state.with(|state| {
            repair.has_begun.set(true);
            let before = state.begin();
            let answer = change(state);
            state.conclude(before, &self.inbox, concerned);
            answer
        });
        core::mem::forget(repair);
        answer
    }

    #[inline]
    fn wake(&self, concerned: Concerned) {
        if concerned.worker.is_some() || concerned.followers {
            self.wake_concerned(concerned);
        }
    }

    #[inline(never)]
    fn wake_concerned(&self, concerned: Concerned) {
        let wake_followers = || {
            if concerned.followers {
                self.wake_all(|state| &mut state.followers);
            }
        };
        let mut next = concerned.worker;
        while let Some((slot, waker)) = next {
            on_panic(|| self.wake_worker(slot, waker), wake_followers);
            next = self.state.with(State::next_worker);
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
    fn wake_all(&self, sleepers: fn(&mut State<Q, Q::Key>) -> &mut Wakers) {
        wake_each(&mut self.state.with(|state| sleepers(state).take_all()).into_iter());
    }
}

impl<Q: Dispense, Lk: Lock> Dispatch<Q, Lk, Q::Key> {
    /// Takes back what the worker gives back, and hands out a job or lets the worker sleep, if it has a waker. If the
    /// waker of the next worker panics, the job is put back.
    pub(crate) fn poll_work(
        &self,
        waker: Option<&Waker>,
        waiting: &mut Waiting<Q::Last, Q::Finished>,
    ) -> Poll<Option<Q::Work>> {
        let Waiting { last, finished, place } = waiting;
        let mut undelivered = Undelivered { dispatch: self, answer: Poll::Pending };
        let (mut concerned, mut last_waker) = (Concerned::default(), None);
        self.change(&mut concerned, |state| {
            if let Some(last) = last.take() {
                *finished = state.machine.take_back(last);
            }
            state.refill(&self.inbox);
            if let Some(work) = state.machine.take() {
                state.turns = state.turns.saturating_sub(1);
                state.workers.note_served(*place);
                undelivered.answer = Poll::Ready(Some(work));
            } else if state.machine.is_closed() {
                undelivered.answer = Poll::Ready(None);
            } else if let Some(waker) = waker {
                last_waker = state.workers.register(place, waker);
                return;
            }
            if place.is_some() {
                last_waker = state.workers.remove(place);
            }
        });
        self.wake(concerned);
        drop(last_waker);
        core::mem::replace(&mut undelivered.answer, Poll::Pending)
    }
}

/// Wakes tasks if it is dropped: a change that panics may have ended a job, or closed the machine, before.
struct Repair<'a, Q: Machine, Lk: Lock> {
    dispatch: &'a Dispatch<Q, Lk, Q::Key>,
    /// A change that comes back to the lock that it is under never begins.
    has_begun: Cell<bool>,
    whom: Whom,
}

/// The tasks that a [`Repair`] wakes.
enum Whom {
    /// One worker, and the followers.
    Next,
    Everyone,
}

impl<'a, Q: Machine, Lk: Lock> Repair<'a, Q, Lk> {
    #[inline]
    fn new(dispatch: &'a Dispatch<Q, Lk, Q::Key>, whom: Whom) -> Self {
        Self { dispatch, has_begun: Cell::new(false), whom }
    }
}

impl<Q: Machine, Lk: Lock> Drop for Repair<'_, Q, Lk> {
    fn drop(&mut self) {
        let Self { dispatch, has_begun, whom } = self;
        match whom {
            _ if !has_begun.get() => {}
            Whom::Next => {
                let worker = dispatch.state.with(State::next_worker);
                dispatch.wake(Concerned { worker, followers: true });
            }
            Whom::Everyone => dispatch.wake_everyone(),
        }
    }
}

impl<Q: Machine> State<Q, Q::Key> {
    /// What a change is compared with after it.
    fn begin(&mut self) -> (Option<Instant>, Q::Stage) {
        self.note_time();
        (self.machine.poll_timeout(), self.machine.stage())
    }

    /// Notes the tasks that a change concerns.
    fn conclude(
        &mut self,
        before: (Option<Instant>, Q::Stage),
        inbox: &Inbox<Q::Key, impl Lock>,
        concerned: &mut Concerned,
    ) {
        self.shut_if_one_sleeps(inbox);
        // Written when there is one, and no more: the write would be waited for.
        if let Some(worker) = self.next_worker() {
            concerned.worker = Some(worker);
        }
        concerned.followers = self.concerns_followers(before);
    }

    /// Whether keys were posted that the machine may not have.
    fn has_posts(&self) -> bool {
        self.inbox_is_open || !self.posted.is_empty()
    }

    /// Adds all keys that were posted.
    fn collect(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        let mut has_taken = false;
        while !self.collect_some(inbox, &mut has_taken) {}
    }

    /// Adds [`UNDER_ONE_LOCK`] of the keys that were posted before the first call. Returns whether these were all.
    ///
    /// Not part of the callers, of which a firmware image has many.
    #[inline(never)]
    fn collect_some(&mut self, inbox: &Inbox<Q::Key, impl Lock>, has_taken: &mut bool) -> bool {
        if !core::mem::replace(has_taken, true) {
            self.take_posts(inbox, self.inbox_is_open);
        }
        self.add_posted(UNDER_ONE_LOCK);
        self.posted.is_empty()
    }

    /// Adds the first of the keys that were taken over, `most` at most.
    #[inline(never)]
    fn add_posted(&mut self, most: usize) {
        if !self.posted.is_empty() {
            self.is_adding = true;
            self.machine.add_posted(&mut self.posted, most);
            self.is_adding = false;
            release(&mut self.posted);
        }
    }

    /// Adds posted keys until a job is ready. Those that are ready again at once, time after time, must not keep posted
    /// ones waiting. If many posted keys make no job, as those that back off, the next worker goes on.
    #[inline]
    fn refill(&mut self, inbox: &Inbox<Q::Key, impl Lock>) {
        for _ in 0..UNDER_ONE_LOCK / BATCH {
            if !self.has_posts() || (self.turns > 0 && self.machine.answers() > 0) {
                return;
            }
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
        let is_busy = self.workers.is_empty() && self.machine.answers() > 0 && !self.machine.is_closed();
        if is_busy && !self.inbox_is_open && self.machine.allows_posts() {
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

    /// The next worker to wake: none while as many are yet to come as jobs are ready, unless all are woken.
    fn next_worker(&mut self) -> Option<(Slot, Waker)> {
        if self.workers.is_empty() {
            return None;
        }
        let jobs = self.machine.answers().saturating_add(self.posted.len());
        let yet_to_come = if self.wakes_all { 0 } else { self.workers.expected() };
        if jobs > yet_to_come { self.workers.take_one() } else { None }
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

/// A result that its worker has not received yet: if it is dropped, another worker gets the job.
struct Undelivered<'a, Q: Dispense, Lk: Lock> {
    dispatch: &'a Dispatch<Q, Lk, Q::Key>,
    answer: Poll<Option<Q::Work>>,
}

impl<Q: Dispense, Lk: Lock> Drop for Undelivered<'_, Q, Lk> {
    fn drop(&mut self) {
        if let Poll::Ready(Some(work)) = core::mem::replace(&mut self.answer, Poll::Pending) {
            self.dispatch.update_bare(|machine| machine.put_back(work));
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
