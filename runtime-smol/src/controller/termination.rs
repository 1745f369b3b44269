//! The request of the system that the process ends.

use async_signal::{Signal, Signals};
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use std::io;

/// Completes when the system asks the process to end: at SIGTERM or Ctrl-C on Unix, at Ctrl-C elsewhere (client-go's
/// `SetupSignalHandler`).
///
/// While one exists, the first signal does not end the process. On Unix, a second one does, at once. After the last is
/// dropped, the first one ends the process again; elsewhere, Ctrl-C stays without effect.
///
/// [`Running::run`](super::Running::run) and [`run_all`](super::run_all) wait for it by themselves. A program with its
/// own executor passes it on:
///
/// ```no_run
/// use listwatch::controller::{Running, Termination};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # fn controller() -> Running<'static> { todo!() }
///     let controller = controller();
///     let (handle, termination) = (controller.handle(), Termination::new()?);
///     let tokio = tokio::runtime::Runtime::new()?;
///     tokio.spawn(async move {
///         termination.await;
///         handle.stop();
///     });
///     Ok(tokio.block_on(controller.future())?)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Termination {
    signals: Signals,
    #[cfg(unix)]
    _listening: second::Listening,
}

impl Termination {
    /// Listens for the signals from now on.
    ///
    /// # Errors
    /// The system reports no signals.
    pub fn new() -> io::Result<Self> {
        let ends = if cfg!(unix) { &[Signal::Term, Signal::Int][..] } else { &[Signal::Int] };
        Ok(Self {
            #[cfg(unix)]
            _listening: second::Listening::begin(ends)?,
            signals: Signals::new(ends)?,
        })
    }
}

impl Future for Termination {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.signals).poll_next(cx).map(|_signal| ())
    }
}

/// The default action of a signal that comes a second time, or while nothing listens.
#[cfg(unix)]
mod second {
    use crate::mutex::Mutex;
    use async_signal::Signal;
    use signal_hook::flag::{register, register_conditional_default};
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Handlers stay registered for as long as the process lives, so there is one set of them.
    static HANDLERS: Mutex<Option<Handlers>> = Mutex::new(None);

    #[derive(Debug)]
    struct Handlers {
        /// Whether the next signal ends the process.
        is_default: Arc<AtomicBool>,
        listening: usize,
    }

    /// The first signal does not end the process while this exists.
    #[derive(Debug)]
    pub(super) struct Listening(());

    impl Listening {
        pub(super) fn begin(signals: &[Signal]) -> io::Result<Self> {
            let known = &mut *HANDLERS.lock();
            if known.is_none() {
                *known = Some(Handlers::register(signals)?);
            }
            if let Some(handlers) = known {
                handlers.listening += 1;
                handlers.is_default.store(false, Ordering::SeqCst);
            }
            Ok(Self(()))
        }
    }

    impl Drop for Listening {
        fn drop(&mut self) {
            if let Some(handlers) = &mut *HANDLERS.lock() {
                handlers.listening -= 1;
                handlers.is_default.store(handlers.listening == 0, Ordering::SeqCst);
            }
        }
    }

    impl Handlers {
        fn register(signals: &[Signal]) -> io::Result<Self> {
            let is_default = Arc::new(AtomicBool::new(true));
            for signal in signals.iter().map(|signal| *signal as i32) {
                register_conditional_default(signal, Arc::clone(&is_default))?;
                register(signal, Arc::clone(&is_default))?;
            }
            Ok(Self { is_default, listening: 0 })
        }
    }
}
