//! How many requests are open at once, and which wait.

use crate::clock;
use crate::lock::Lock;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::Duration;

/// A limit of open requests. As many again may wait, the first one first.
pub(crate) struct Permits {
    pub(crate) limit: Limit,
    queue: Lock<Queue>,
}

/// What is limited, and how.
#[derive(Clone)]
pub(crate) struct Limit {
    /// In the plural.
    pub(crate) what: &'static str,
    pub(crate) most: usize,
    /// The option that sets `most`.
    pub(crate) option: &'static str,
    /// How long one may wait.
    pub(crate) wait: Duration,
}

#[derive(Default)]
struct Queue {
    /// How many requests are open, or may be sent.
    open: usize,
    /// The numbers of those that wait, each with its thread.
    waiting: VecDeque<(u64, Option<Thread>)>,
    last: u64,
}

/// A request that the limit counts: one that waits, or one that is open. Dropped, it makes room.
pub(crate) struct Permit {
    permits: Arc<Permits>,
    number: u64,
    /// It waits no more, and was not let in.
    is_given_up: Lock<bool>,
}

impl Permits {
    pub(crate) fn new(limit: Limit) -> Arc<Self> {
        Arc::new(Self { limit, queue: Lock::default() })
    }

    /// Reserves one of the requests that may be open at once, or a place among those that wait.
    ///
    /// # Errors
    /// If no more may wait.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Arc<Permit>, TransportError> {
        let Limit { what, most, wait, .. } = self.limit;
        let mut queue = self.queue.lock();
        let (is_full, waiting) = (queue.open >= most, queue.waiting.len());
        if is_full && (wait.is_zero() || waiting >= most) {
            drop(queue);
            return Err(self.limit.exhausted(format_args!("{most} {what} are open, and {waiting} wait")));
        }
        queue.last += 1;
        let number = queue.last;
        if is_full {
            queue.waiting.push_back((number, None));
        } else {
            queue.open += 1;
        }
        Ok(Arc::new(Permit { permits: self.clone(), number, is_given_up: Lock::default() }))
    }

    /// Lets the next one in, as a request has ended.
    fn release(&self) {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.open -= 1;
        }
        drop(queue);
        next.and_then(|(_, thread)| thread).iter().for_each(Thread::unpark);
    }
}

impl Limit {
    fn exhausted(&self, why: fmt::Arguments<'_>) -> TransportError {
        let detail = format!("{why}: raise ClusterOptions::{}", self.option);
        TransportError::new(TransportErrorKind::Exhausted, detail)
    }
}

impl Queue {
    /// The place of one that waits.
    fn place(&self, number: u64) -> Option<usize> {
        self.waiting.iter().position(|(waiting, _)| *waiting == number)
    }
}

impl Permit {
    /// Blocks until the request may be sent.
    ///
    /// # Errors
    /// If its time is over, or if its caller gave it up.
    pub(crate) fn wait(&self) -> Result<(), TransportError> {
        let limit = &self.permits.limit;
        let end = clock::steady() + limit.wait;
        loop {
            let mut queue = self.permits.queue.lock();
            let Some(place) = queue.place(self.number) else { break };
            let left = end.saturating_duration_since(clock::steady());
            queue.waiting[place].1 = Some(thread::current());
            drop(queue);
            if left.is_zero() && self.leave() {
                let Limit { what, most, wait, .. } = limit;
                return Err(limit.exhausted(format_args!("{most} other {what} were open for {wait:?}")));
            }
            thread::park_timeout(left);
        }
        match *self.is_given_up.lock() {
            false => Ok(()),
            true => Err(TransportError::new(TransportErrorKind::Reset, "the request was given up")),
        }
    }

    /// Ends the wait: the request is given up. Returns whether it waited.
    pub(crate) fn leave(&self) -> bool {
        let mut queue = self.permits.queue.lock();
        let place = queue.place(self.number);
        let left = place.and_then(|place| queue.waiting.remove(place));
        if left.is_some() {
            *self.is_given_up.lock() = true;
        }
        drop(queue);
        left.iter().filter_map(|(_, thread)| thread.as_ref()).for_each(Thread::unpark);
        left.is_some()
    }

    /// What the request waits for, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        let Limit { what, most, option, .. } = &self.permits.limit;
        self.permits.queue.lock().place(self.number)?;
        Some(format!("{most} other {what} are open, which ClusterOptions::{option} limits"))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.leave() && !*self.is_given_up.lock() {
            self.permits.release();
        }
    }
}
