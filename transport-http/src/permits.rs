//! How many requests are open at once, and which wait.

use crate::clock;
use crate::lock::Lock;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::Duration;

/// A limit of open requests. As many again may wait, the first one first.
#[derive(Debug)]
pub(crate) struct Permits {
    limit: Limit,
    queue: Lock<Queue>,
}

/// What is limited, and how.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    /// In the plural.
    pub(crate) what: &'static str,
    pub(crate) most: usize,
    /// The option that sets `most`.
    pub(crate) option: &'static str,
    /// How long one may wait.
    pub(crate) wait: Duration,
}

#[derive(Debug, Default)]
struct Queue {
    /// How many requests are open or admitted.
    open: usize,
    /// The tickets that are called, and have not taken their permit.
    admitted: BTreeSet<u64>,
    /// The tickets that wait, each with its thread.
    waiting: VecDeque<(u64, Option<Thread>)>,
    last: u64,
}

/// One of the open requests that the limit counts.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Permits>);

/// The number of a request in the queue. Dropped, it takes no place there.
#[derive(Debug)]
pub(crate) struct Ticket {
    permits: Arc<Permits>,
    number: u64,
}

impl Permits {
    pub(crate) fn new(limit: Limit) -> Arc<Self> {
        Arc::new(Self { limit, queue: Lock::default() })
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Reserves one of the requests that may be open at once, or a place among those that wait.
    ///
    /// # Errors
    /// If no more may wait.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Arc<Ticket>, TransportError> {
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
            queue.admitted.insert(number);
        }
        Ok(Arc::new(Ticket { permits: self.clone(), number }))
    }

    /// Calls the next ticket, as a request has ended.
    fn release(&self) {
        let mut queue = self.queue.lock();
        match queue.waiting.pop_front() {
            Some((next, thread)) => {
                queue.admitted.insert(next);
                drop(queue);
                thread.iter().for_each(Thread::unpark);
            }
            None => queue.open -= 1,
        }
    }
}

impl Limit {
    fn exhausted(&self, why: fmt::Arguments<'_>) -> TransportError {
        let detail = format!("{why}: raise ClusterOptions::{}", self.option);
        TransportError::new(TransportErrorKind::Exhausted, detail)
    }
}

impl Ticket {
    /// Blocks until the request may be sent.
    ///
    /// # Errors
    /// If its time is over, or if its caller gave it up.
    pub(crate) fn wait(&self) -> Result<Permit, TransportError> {
        let limit = &self.permits.limit;
        let end = clock::steady() + limit.wait;
        loop {
            let mut queue = self.permits.queue.lock();
            if queue.admitted.remove(&self.number) {
                return Ok(Permit(self.permits.clone()));
            }
            let Some(at) = queue.waiting.iter().position(|(number, _)| *number == self.number) else {
                return Err(TransportError::new(TransportErrorKind::Reset, "the request was given up"));
            };
            let left = end.saturating_duration_since(clock::steady());
            if left.is_zero() {
                queue.waiting.remove(at);
                drop(queue);
                let Limit { what, most, wait, .. } = limit;
                return Err(limit.exhausted(format_args!("{most} other {what} were open for {wait:?}")));
            }
            queue.waiting[at].1 = Some(thread::current());
            drop(queue);
            thread::park_timeout(left);
        }
    }

    /// Ends the wait: the request is given up.
    pub(crate) fn leave(&self) {
        let mut queue = self.permits.queue.lock();
        let at = queue.waiting.iter().position(|(number, _)| *number == self.number);
        let left = at.and_then(|at| queue.waiting.remove(at));
        drop(queue);
        left.and_then(|(_, thread)| thread).iter().for_each(Thread::unpark);
    }

    /// What the request waits for, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        let Limit { what, most, option, .. } = &self.permits.limit;
        let waits = self.permits.queue.lock().waiting.iter().any(|(number, _)| *number == self.number);
        waits.then(|| format!("{most} other {what} are open, which ClusterOptions::{option} limits"))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.leave();
        // One whose thread never began, or unwound.
        let is_unused = self.permits.queue.lock().admitted.remove(&self.number);
        if is_unused {
            self.permits.release();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.release();
    }
}
