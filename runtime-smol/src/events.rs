use crate::budget::Budget;
use crate::clock::{Clock, Outside, Sleep};
use crate::synced::{Board, Synced};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use listwatch_core::cache::Cache;
use listwatch_core::{Driver, Event, ListerWatcher, Object};
use serde::de::DeserializeOwned;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// What an informer tells, as a stream: the driver of core, with a clock to wait by.
///
/// It ends only where [`until`](Self::until) says so; a server's changes have no end. After some dozen events that were
/// ready at once it lets other tasks go on, and after each read of a transport that blocks. Simulated time does not pass
/// while such a transport asks to be read again at once.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_runtime_smol::http::ConfigError> {
/// use listwatch_runtime_smol::http::HttpTransport;
/// use listwatch_runtime_smol::decode::Raw;
/// use listwatch_runtime_smol::{Clock, Driver, Events, Executor, Informer, InformerConfig, Resource, run};
/// use smol::stream::StreamExt;
///
/// let informer = Informer::<Raw>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
/// let transport = HttpTransport::new("http://127.0.0.1:8001")?; // beside `kubectl proxy`
/// let clock = Clock::real();
/// let mut events = Events::start(Driver::new(informer, transport), clock.clone());
/// run(&clock, &Executor::new(), async {
///     while let Some(event) = events.next().await {
///         println!("{:?}", event.key());
///     }
/// });
/// # Ok(())
/// # }
/// ```
///
/// Whoever takes the events drives the informer. If the loop that takes them panics, the informer ends with it: the cache
/// stays as it is, workers go on over it, and a [`Synced`] that still waits says [`Stopped`](crate::informer::InformerStatus::Stopped).
/// So await the task of the loop, do not detach it:
///
/// ```
/// # use listwatch_runtime_smol::{Clock, Executor, run};
/// # let (clock, executor) = (Clock::simulated(), Executor::new());
/// # let events = smol::stream::iter([0]);
/// # let main_work = core::future::pending::<()>();
/// use smol::stream::StreamExt;
///
/// let follow = executor.spawn(events.for_each(|event| println!("{event:?}")));
/// // A panic of the loop is a panic of the task that awaits it.
/// run(&clock, &executor, smol::future::or(follow, main_work));
/// ```
pub struct Events<T, L, C> {
    driver: Driver<T, L, C>,
    clock: Clock,
    board: Announced,
    sleep: Option<Sleep>,
    budget: Budget,
    /// Whether simulated time stands still while the transport is pending.
    waits_outside: bool,
    /// Held while it is.
    outside: Option<Outside>,
    until: fn(&Driver<T, L, C>) -> bool,
}

impl<T: DeserializeOwned, L: ListerWatcher, C: Cache<Arc<Object<T>>>> Events<T, L, C> {
    /// Starts the driver's informer. Where its configuration names no [seed](crate::reflector::ReflectorConfig::seed), it draws one
    /// from the system, but under a simulated clock, which is to do the same each time.
    #[must_use]
    pub fn start(mut driver: Driver<T, L, C>, clock: Clock) -> Self {
        if !clock.is_simulated() {
            driver.informer_mut().seed_unless_chosen(RandomState::new().hash_one(()));
        }
        driver.informer_mut().start(clock.now());
        let board = Announced(Board::new(&clock));
        let (budget, waits_outside, outside) = (Budget::new(), false, None);
        Self { driver, clock, board, sleep: None, budget, waits_outside, outside, until: |_| false }
    }

    /// Holds a [`Clock::outside`] whenever the transport is pending, for a transport to a real server under a simulated
    /// clock. A transport whose answers wait for the same clock must not be used so: neither would ever go on.
    ///
    /// Without this, simulated time jumps to the informer's deadlines while a real server is still answering. With it, no
    /// simulated time passes while a watch is open: no sleep, delay or deadline of the clock ends before something comes
    /// from the server, or these events are dropped.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), listwatch_runtime_smol::http::ConfigError> {
    /// # use listwatch_runtime_smol::http::HttpTransport;
    /// # use listwatch_runtime_smol::decode::Raw;
    /// # use listwatch_runtime_smol::{Clock, Driver, Events, Informer, InformerConfig, Resource};
    /// let informer = Informer::<Raw>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
    /// let transport = HttpTransport::new("http://127.0.0.1:8001")?;
    /// let events = Events::start(Driver::new(informer, transport), Clock::simulated()).waiting_outside();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn waiting_outside(mut self) -> Self {
        self.waits_outside = true;
        self
    }

    /// Ends the stream when nothing is left to tell and `ended` says that nothing more will come.
    #[must_use]
    pub fn until(mut self, ended: fn(&Driver<T, L, C>) -> bool) -> Self {
        self.until = ended;
        self
    }

    /// Waits until the first state has been told and is in the cache, while these events are taken: here, or in another
    /// task. It gives up with the reason where waiting does not help before somebody does
    /// ([`FailureClass::requires_intervention`](crate::reflector::FailureClass::requires_intervention)), where the events are dropped before, or after a
    /// time ([`Synced::within`]).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), listwatch_runtime_smol::http::ConfigError> {
    /// # use listwatch_runtime_smol::http::HttpTransport;
    /// # use listwatch_runtime_smol::decode::Raw;
    /// # use listwatch_runtime_smol::{Clock, Driver, Events, Executor, Informer, InformerConfig, Resource, run};
    /// # use core::time::Duration;
    /// # use smol::stream::StreamExt;
    /// # let informer = Informer::<Raw>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
    /// # let transport = HttpTransport::new("http://127.0.0.1:8001")?;
    /// # let (clock, executor) = (Clock::real(), Executor::new());
    /// let events = Events::start(Driver::new(informer, transport), clock.clone());
    /// let synced = events.synced().within(Duration::from_secs(60));
    /// executor.spawn(events.for_each(|event| println!("{:?}", event.key()))).detach();
    /// if let Err(error) = run(&clock, &executor, synced) {
    ///     eprintln!("{error}"); // not synced: failing for 1 s: forbidden (status 403), 1 attempt, …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn synced(&self) -> Synced {
        self.board.0.wait(&self.clock)
    }

    /// Writes down how far the informer is, until there is a first state.
    fn announce(&self) {
        if !self.board.0.is_settled() {
            let (informer, now) = (self.driver.informer(), self.clock.now());
            self.board.0.note(informer.poll_synced(now), informer.status(now), now);
        }
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> &Driver<T, L, C> {
        &self.driver
    }

    /// The driver, to stop its informer, or to reach its transport.
    pub fn driver_mut(&mut self) -> &mut Driver<T, L, C> {
        &mut self.driver
    }

    /// Lets simulated time stand still if the transport waits for what runs outside of it.
    fn hold_outside(&mut self) {
        if self.waits_outside && self.driver.is_pending() {
            self.outside.get_or_insert_with(|| self.clock.outside());
        } else {
            self.outside = None;
        }
    }

    /// Sleeps until the driver wants to be polled again. Ready when that time has come.
    fn poll_sleep(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.driver.poll_timeout();
        self.clock.poll_at(&mut self.sleep, at, cx)
    }
}

impl<T: DeserializeOwned, L: ListerWatcher + Unpin, C: Cache<Arc<Object<T>>> + Unpin> Stream for Events<T, L, C> {
    type Item = Event<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<T>>> {
        let this = &mut *self;
        if this.budget.poll_spend(cx).is_pending() {
            return Poll::Pending;
        }
        let polled = this.driver.poll(this.clock.now(), cx);
        this.hold_outside();
        if let Poll::Ready(event) = polled {
            if let Event::Failed(report) = &event {
                this.board.0.note_failure(&report.failure);
            }
            if matches!(event, Event::Synced | Event::Failed(_)) {
                this.announce();
            }
            return Poll::Ready(Some(event));
        }
        this.announce();
        if (this.until)(&this.driver) {
            this.outside = None;
            return Poll::Ready(this.driver.informer_mut().poll_event());
        }
        this.budget.refill();
        if this.poll_sleep(cx).is_ready() {
            // A transport that blocks asks for the next read at once, after one that may have taken long.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// A board that says so when nobody writes on it any more.
struct Announced(Arc<Board>);

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<T, L, C> fmt::Debug for Events<T, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("clock", &self.clock).field("sleep", &self.sleep).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
