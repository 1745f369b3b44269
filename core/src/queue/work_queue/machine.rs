//! A queue as a machine that tasks share: it hands out jobs, and takes keys that were hashed before they came.

use super::{Closing, WorkQueueIn};
use crate::queue::discipline::Records;
use crate::queue::{Discipline, Finished, Job, Outcome, RateLimiter, WorkQueue};
use crate::storage::sealed::{Empty, HeapOnly};
use crate::storage::{Heap, Timers, never_full};
use crate::time::Instant;
use alloc::collections::VecDeque;
use core::hash::Hash;

/// A machine that hands out jobs to workers, and changes by itself when time passes.
pub trait Machine {
    /// What a worker has.
    type Job;
    /// What it is told of its job.
    type Told;
    /// What a worker gives back.
    type Last;
    /// The answer to it.
    type Finished: Copy;
    /// What followers of the timeouts are told of at once.
    type Stage: PartialEq;
    /// A key that can wait in front of the lock.
    type Key: Eq;

    /// Adds a key, unless the machine is closed.
    fn add(&mut self, key: Posted<Self::Key>);

    /// Adds the first of these keys, `most` at most. They came before the machine was closed.
    fn add_posted(&mut self, posted: &mut VecDeque<Posted<Self::Key>>, most: usize);

    /// Counts additions of keys that were posted already.
    fn note_merged(&mut self, merged: u64);

    /// Hands out the next job.
    fn take(&mut self) -> Option<(Self::Told, Self::Job)>;

    fn take_back(&mut self, last: Self::Last) -> Option<Self::Finished>;

    /// What a worker gives back that drops its job.
    fn given_up(job: Self::Job) -> Self::Last;

    /// Whether a worker that asks now gets a job, or is told that none will come.
    fn has_answer(&self) -> bool;

    /// Whether a worker that finds no job can end.
    fn is_closed(&self) -> bool;

    /// Whether nothing is left to wait for.
    fn is_over(&self) -> bool;

    fn stage(&self) -> Self::Stage;

    fn handle_timeout(&mut self, now: Instant);

    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether it wants to [know the time](Self::note_time) of each change. If it does, no key waits in front of the lock.
    fn wants_time(&self) -> bool;

    /// The next change happens at `now`.
    fn note_time(&mut self, now: Instant);

    /// A panic left a change unfinished: the machine is empty and closed from now on. None of the program's code runs.
    fn fail(&mut self);
}

/// A key that is to be added, with its hash in the table of records.
#[derive(Debug)]
pub struct Posted<K> {
    pub(crate) key: K,
    pub(crate) hash: u32,
}

/// The number of keys that are looked for together, so that the processor waits for the memory of all of them at once.
const TOGETHER: usize = 16;

impl<K: Hash + Eq> Posted<K> {
    /// A key for a queue with that [`seed`](WorkQueueIn::seed).
    pub(crate) fn new(key: K, seed: u64) -> Self {
        let hash = Records::<K, (), Heap>::hash_with(seed, &key);
        Self { key, hash }
    }
}

impl<K: Hash + Eq, L: RateLimiter, D: Discipline<K>> WorkQueueIn<K, L, Heap, D> {
    pub(crate) fn seed(&self) -> u64 {
        self.records.seed()
    }

    fn mark_hashed(&mut self, Posted { key, hash }: Posted<K>) {
        let slot = never_full(self.try_record_hashed(key, hash));
        self.mark_now(slot);
    }
}

impl<K: Hash + Eq + Clone, L: RateLimiter, D: Discipline<K>> Machine for WorkQueue<K, L, D> {
    type Job = Job;
    type Told = K;
    /// Without an outcome if the work was given up, else with its end.
    type Last = (Job, Option<(Instant, Outcome)>);
    type Finished = Finished;
    /// The timeouts tell all that concerns a follower.
    type Stage = ();
    type Key = K;

    fn add(&mut self, key: Posted<K>) {
        if self.is_shutting_down() {
            self.refuse();
        } else {
            self.mark_hashed(key);
        }
    }

    fn add_posted(&mut self, posted: &mut VecDeque<Posted<K>>, most: usize) {
        let mut left = most.min(posted.len());
        while left > 0 {
            let together = left.min(TOGETHER);
            let mut ahead = posted.iter().take(together);
            self.records.look_ahead(&[(); TOGETHER].map(|()| ahead.next().map(|posted| posted.hash)));
            posted.drain(..together).for_each(|posted| self.mark_hashed(posted));
            left -= together;
        }
    }

    fn note_merged(&mut self, merged: u64) {
        self.stats.merged += merged;
    }

    fn take(&mut self) -> Option<(K, Job)> {
        let job = self.poll_job()?;
        Some((self.key(&job).clone(), job))
    }

    fn take_back(&mut self, (job, outcome): Self::Last) -> Option<Finished> {
        match outcome {
            Some((now, outcome)) => Some(self.finish(now, job, outcome)),
            None => {
                self.done(job);
                None
            }
        }
    }

    fn given_up(job: Job) -> Self::Last {
        (job, None)
    }

    fn has_answer(&self) -> bool {
        !self.is_empty()
    }

    fn is_closed(&self) -> bool {
        self.is_shutting_down()
    }

    fn is_over(&self) -> bool {
        self.drained().is_some()
    }

    fn stage(&self) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn wants_time(&self) -> bool {
        self.stopwatch.get().is_some_and(Option::is_some)
    }

    fn note_time(&mut self, now: Instant) {
        self.note_time(now);
    }

    fn fail(&mut self) {
        let records = Records::<_, _, Heap>::with_seed(self.records.seed());
        core::mem::forget(core::mem::replace(&mut self.records, records));
        (self.ready, self.delays) = (<D::Ready<Heap> as Empty>::EMPTY, Timers::EMPTY);
        (self.running, self.stats.held, self.deferred, self.stats.parked) = (0, 0, 0, 0);
        self.closing = Closing::Failed;
    }
}
