use super::handle::ControllerHandle;
use super::run_error::RunError;
use super::threads::{Threads, named, no_thread};
use crate::clock::Clock;
use async_executor::Executor;
use core::fmt;
use smol::channel::{Receiver, Sender, bounded};
use smol::future::or;

/// A controller that runs on threads of its own. Dropped, it ends at once: reconciles are dropped with their requests.
#[must_use = "dropping it ends the controller"]
pub struct Started {
    handle: ControllerHandle,
    end: Receiver<Result<(), RunError>>,
    /// Closed by the drop, before the threads are waited for.
    abort: Sender<()>,
    _threads: Threads,
}

impl Started {
    pub(super) fn new(
        name: &str,
        clock: Clock,
        handle: ControllerHandle,
        controller: impl Future<Output = Result<(), RunError>> + Send + 'static,
    ) -> Result<Self, RunError> {
        let ((ended, end), (abort, aborted)) = (bounded(1), bounded::<()>(1));
        let mut threads = Threads::default();
        let main = move || {
            let aborted = async {
                let _closed = aborted.recv().await;
                None
            };
            let end = or(async { Some(controller.await) }, aborted);
            if let Some(end) = crate::run(&clock, &Executor::new(), end) {
                _ = ended.try_send(end);
            }
        };
        threads.spawn(named(name, "streams"), main).map_err(no_thread)?;
        Ok(Self { handle, end, abort, _threads: threads })
    }

    /// Reaches the controller.
    #[must_use]
    pub fn handle(&self) -> ControllerHandle {
        self.handle.clone()
    }

    /// Waits until the controller has ended; its [handle](Self::handle) stops it.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn join(self) -> Result<(), RunError> {
        smol::block_on(self.end.recv())
            .unwrap_or_else(|_| Err(RunError::Panicked("the controller's thread panicked".into())))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.abort.close();
    }
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("handle", &self.handle).finish_non_exhaustive()
    }
}
