//! What a program does outside of the cluster.

use crate::wire::{Effect, Wire};
use core::fmt;
use core::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// What is outside of the cluster, such as a bucket or a database: a value of the test, which outlives the processes of a
/// run. It is read through [`Deref`], and changed by [`call`](Self::call), where a process may be killed, or the call fail.
///
/// What a program changes past it is not seen, and never disturbed between two requests.
pub struct Outside<S> {
    value: Arc<S>,
    ledger: Arc<Mutex<Vec<String>>>,
    wire: Option<Arc<Wire>>,
}

/// A call outside of the cluster got no answer. It may have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer(String);

impl<S> Outside<S> {
    pub(crate) fn new(value: S) -> Self {
        Self { value: Arc::new(value), ledger: Arc::default(), wire: None }
    }

    /// As a process has it.
    pub(crate) fn of(&self, wire: &Arc<Wire>) -> Self {
        Self { wire: Some(Arc::clone(wire)), ..self.clone() }
    }

    /// Changes something, under a name such as `s3.delete backup-1`. The name is that of a place, so it has no random part.
    ///
    /// # Errors
    /// [`NoAnswer`] if the plan of the run lets it fail, before or after it is made, and when the process is dead.
    pub fn call<R>(&self, name: &str, act: impl FnOnce(&S) -> R) -> Result<R, NoAnswer> {
        let noted = || {
            self.ledger.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
            act(&self.value)
        };
        let (effect, done) = match &self.wire {
            Some(wire) => wire.on_call(name, noted),
            None => (Effect::Told, Some(noted())),
        };
        done.filter(|_| effect == Effect::Told).ok_or_else(|| NoAnswer(name.to_owned()))
    }

    /// The names of the calls that were made, by all processes of the run, oldest first.
    #[must_use]
    pub fn ledger(&self) -> Vec<String> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<S> Deref for Outside<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.value
    }
}

impl<S> Clone for Outside<S> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value), ledger: Arc::clone(&self.ledger), wire: self.wire.clone() }
    }
}

impl<S> fmt::Debug for Outside<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("ledger", &self.ledger()).finish_non_exhaustive()
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer to the call {:?}", self.0)
    }
}

impl core::error::Error for NoAnswer {}
