//! How many requests are open at once, and which wait.

use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A limit of open requests. As many again may wait, the first one first.
#[derive(Debug)]
pub(crate) struct Permits {
    limit: Limit,
    state: Mutex<State>,
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
struct State {
    open: usize,
    waiting: VecDeque<Waiting>,
    last: u64,
}

/// A request in front of the limit. If this is dropped, the request is given up.
#[derive(Debug)]
struct Waiting {
    number: u64,
    grant: SyncSender<()>,
}

/// How a request stands when it is made.
#[derive(Debug)]
pub(crate) enum Entry {
    Admitted(Permit),
    Waits(Wait),
}

/// One of the open requests that the limit counts.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Permits>);

/// The wait of a request's thread.
#[derive(Debug)]
pub(crate) struct Wait {
    permits: Arc<Permits>,
    number: u64,
    granted: Receiver<()>,
}

/// The caller's part in a wait. When dropped, it ends the wait.
#[derive(Debug)]
pub(crate) struct Claim {
    permits: Arc<Permits>,
    number: u64,
}

impl Permits {
    pub(crate) fn new(limit: Limit) -> Arc<Self> {
        Arc::new(Self { limit, state: Mutex::default() })
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Reserves one of the requests that may be open at once, or a place among those that wait.
    ///
    /// # Errors
    /// If no more may wait.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<(Entry, Option<Claim>), TransportError> {
        let mut state = self.lock();
        let most = self.limit.most;
        if state.open < most {
            state.open += 1;
            return Ok((Entry::Admitted(Permit(self.clone())), None));
        }
        if self.limit.wait.is_zero() || state.waiting.len() >= most {
            let waiting = state.waiting.len();
            drop(state);
            return Err(self.limit.exhausted(format_args!("{most} {} are open, and {waiting} wait", self.limit.what)));
        }
        state.last += 1;
        let (number, (grant, granted)) = (state.last, sync_channel(1));
        state.waiting.push_back(Waiting { number, grant });
        let claim = Claim { permits: self.clone(), number };
        Ok((Entry::Waits(Wait { permits: self.clone(), number, granted }), Some(claim)))
    }

    /// Takes a request out of those that wait, if it waits still.
    fn remove(&self, number: u64) -> Option<Waiting> {
        let mut state = self.lock();
        let at = state.waiting.iter().position(|waiting| waiting.number == number)?;
        state.waiting.remove(at)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Limit {
    fn exhausted(&self, why: fmt::Arguments<'_>) -> TransportError {
        let detail = format!("{why}: raise ClusterOptions::{}", self.option);
        TransportError::new(TransportErrorKind::Exhausted, detail)
    }
}

impl Wait {
    /// Blocks until the request may be sent.
    ///
    /// # Errors
    /// If its time is over, or if its caller gave it up.
    pub(crate) fn wait(self) -> Result<Permit, TransportError> {
        let limit = &self.permits.limit;
        let granted = self.granted.recv_timeout(limit.wait).or_else(|error| match error {
            // Unless it was granted just now.
            RecvTimeoutError::Timeout if self.permits.remove(self.number).is_none() => {
                self.granted.try_recv().map_err(|_| RecvTimeoutError::Disconnected)
            }
            error => Err(error),
        });
        match granted {
            Ok(()) => Ok(Permit(self.permits.clone())),
            Err(RecvTimeoutError::Disconnected) => {
                Err(TransportError::new(TransportErrorKind::Reset, "the request was given up"))
            }
            Err(RecvTimeoutError::Timeout) => {
                let Limit { what, most, wait, .. } = limit;
                Err(limit.exhausted(format_args!("{most} other {what} were open for {wait:?}")))
            }
        }
    }
}

impl Claim {
    /// What the request waits for, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        let Limit { what, most, option, .. } = &self.permits.limit;
        let state = self.permits.lock();
        let waits = state.waiting.iter().any(|waiting| waiting.number == self.number);
        waits.then(|| format!("{most} other {what} are open, which ClusterOptions::{option} limits"))
    }
}

/// Where the thread never began, or unwound.
impl Drop for Wait {
    fn drop(&mut self) {
        if self.permits.remove(self.number).is_none() && self.granted.try_recv().is_ok() {
            drop(Permit(self.permits.clone()));
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.permits.remove(self.number);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        while let Some(next) = state.waiting.pop_front() {
            // One that has ended meanwhile does not take it.
            if next.grant.try_send(()).is_ok() {
                return;
            }
        }
        state.open -= 1;
    }
}
