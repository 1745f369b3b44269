//! The events of an informer as a stream, and the wait for its first state.

mod synced;

pub use listwatch_core::informer::NotSynced;
pub use synced::Synced;

use crate::budget::Budget;
use crate::caught::caught_call;
use crate::clock::{Clock, Outside, Sleep};
use crate::saved::{SaveTo, Saving, saving};
use crate::traced::StreamTrace;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use listwatch_core::cache::{Cache, StoreWriter};
use listwatch_core::decode::{Decode, FromJson, Json, ToJson};
use listwatch_core::informer::{DriverIn, EventOf, SyncTracker};
use listwatch_core::object::ObjectHandle;
use listwatch_core::storage::Heap;
use listwatch_core::sync::StdLock;
use listwatch_core::{Indexer, ListerWatcher};
use std::hash::{BuildHasher, RandomState};

/// The events of an informer as a [`Stream`]: a [driver](DriverIn), and a [`Clock`] for its deadlines. Use it as
/// [`Events`].
///
/// `Events` needs no executor of a certain make. [`next`](Self::next) and the stream register the waker of the task
/// that polls them, as any future does; the [clock](Clock#under-other-executors) brings its own timer.
///
/// The stream ends only if [`until`](Self::until) ends it, because a watch has no end. After 64 events that were ready
/// at once, the stream returns [`Poll::Pending`] and wakes its task, so that other tasks run. It does the same after
/// each read of a transport that blocks. While such a transport requests another read at once, simulated time does not
/// pass.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch::http::ConfigError> {
/// use listwatch::http::HttpTransport;
/// use listwatch::decode::Raw;
/// use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, Resource, run};
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
/// The task that takes the events drives the informer. If that task panics, the informer stops with it. The cache keeps
/// its last state, and workers continue over it. A pending [`Synced`] fails with
/// [`Stopped`](crate::informer::InformerStatus::Stopped). So await the task instead of detaching it:
///
/// ```
/// # use listwatch::{Clock, Executor, run};
/// # let (clock, executor) = (Clock::simulated(), Executor::new());
/// # let events = smol::stream::iter([0]);
/// # let main_work = core::future::pending::<()>();
/// use smol::stream::StreamExt;
///
/// let follow = executor.spawn(events.for_each(|event| println!("{event:?}")));
/// // A panic of the spawned task is a panic of the task that awaits it.
/// run(&clock, &executor, smol::future::or(follow, main_work));
/// ```
pub struct EventsIn<D: Decode, L, C: Cache<D::Object> = Indexer<<D as Decode>::Object>> {
    driver: DriverIn<D, L, C, Heap>,
    clock: Clock,
    tracker: SyncTracker<StdLock>,
    sleep: Option<Sleep>,
    budget: Budget,
    /// Whether simulated time stands still while the transport is pending.
    waits_outside: bool,
    /// Held while the transport is pending.
    outside: Option<Outside>,
    /// The event that was polled, held while wakers are called: a panic of one does not lose it.
    polled: Option<EventOf<D::Object>>,
    saving: Option<Box<dyn Saving<D, C>>>,
    trace: StreamTrace,
    until: Until<D, L, C>,
}

/// Whether the stream ends, asked when no event is left.
type Until<D, L, C> = Box<dyn FnMut(&DriverIn<D, L, C, Heap>) -> bool + Send>;

/// [`EventsIn`] of an [`Informer`](crate::Informer) of `T`.
pub type Events<T, L, C = Indexer<ObjectHandle<T>>> = EventsIn<Json<T>, L, C>;

/// [`Events`] of a [`SharedInformer`](crate::informer::SharedInformer), whose cache other tasks and threads read.
pub type SharedEvents<T, L> = Events<T, L, StoreWriter<T>>;

impl<D: Decode, L: ListerWatcher, C: Cache<D::Object>> EventsIn<D, L, C> {
    /// Starts the driver's informer. If its configuration has no [seed](crate::reflector::ReflectorConfig::seed), the
    /// informer of a real clock draws one from the system. Under a simulated clock it draws none, so that each run is
    /// the same.
    #[must_use]
    pub fn start(driver: DriverIn<D, L, C, Heap>, clock: Clock) -> Self {
        Self::start_with(driver, clock, None)
    }

    /// The same, with a cache that is saved, where one is.
    pub(crate) fn start_with(
        mut driver: DriverIn<D, L, C, Heap>,
        clock: Clock,
        mut saving: Option<Box<dyn Saving<D, C>>>,
    ) -> Self {
        if !clock.is_simulated() {
            driver.informer_mut().seed_unless_chosen(RandomState::new().hash_one(()));
        }
        saving.iter_mut().for_each(|saving| saving.begin(driver.informer_mut(), &clock));
        driver.informer_mut().start(clock.now());
        let tracker = SyncTracker::new(clock.now());
        let (budget, waits_outside, outside) = (Budget::new(), false, None);
        let (polled, until) = (None, Box::new(|_: &_| false));
        let trace = StreamTrace::default();
        Self { driver, clock, tracker, sleep: None, budget, waits_outside, outside, polled, saving, trace, until }
    }

    /// Holds a [`Clock::outside`] while the transport is pending. Use it for a transport to a real server under a
    /// simulated clock; if the transport's answers wait for the same clock, neither ever continues.
    ///
    /// Without it, simulated time jumps to the informer's deadlines while a real server is still answering. With it, no
    /// simulated time passes while a watch is open. No sleep, delay or deadline of the clock ends before the server
    /// sends something, or these events are dropped.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), listwatch::http::ConfigError> {
    /// # use listwatch::http::HttpTransport;
    /// # use listwatch::decode::Raw;
    /// # use listwatch::{Clock, Driver, Events, Informer, InformerConfig, Resource};
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

    /// Ends the stream when no event is left and `ended` returns true for the driver.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use listwatch::file::Playback;
    /// use listwatch::decode::MetadataOnly;
    /// use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, run};
    ///
    /// let capture = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
    /// let pods = capture.resource().ok_or("the capture has no list")?.clone();
    /// let informer = Informer::<MetadataOnly>::new(pods, InformerConfig::default());
    /// let clock = Clock::simulated();
    /// let events = Events::start(Driver::new(informer, capture), clock.clone());
    /// let mut events = events.until(|driver| driver.transport().is_complete());
    /// run(&clock, &Executor::new(), async { while events.next().await.is_some() {} });
    /// assert_eq!(events.driver().informer().cache().len(), 45);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn until(mut self, ended: impl FnMut(&DriverIn<D, L, C, Heap>) -> bool + Send + 'static) -> Self {
        self.until = Box::new(ended);
        self
    }

    /// Waits until the first list, or watch-list, has been delivered and is in the cache: client-go's
    /// `WaitForCacheSync`. Meanwhile a task, this or another, has to take the events.
    ///
    /// The wait fails with the reason if the informer needs manual intervention
    /// ([`FailureClass::requires_intervention`](crate::reflector::FailureClass::requires_intervention)), if the events
    /// are dropped first, or at a deadline ([`Synced::within`]).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), listwatch::http::ConfigError> {
    /// # use listwatch::http::HttpTransport;
    /// # use listwatch::decode::Raw;
    /// # use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, Resource, run};
    /// # use core::time::Duration;
    /// # let informer = Informer::<Raw>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
    /// # let transport = HttpTransport::new("http://127.0.0.1:8001")?;
    /// # let (clock, executor) = (Clock::real(), Executor::new());
    /// let mut events = Events::start(Driver::new(informer, transport), clock.clone());
    /// let synced = events.synced().within(Duration::from_secs(60));
    /// let follow = async move { while events.next().await.is_some() {} };
    /// executor.spawn(follow).detach();
    /// if let Err(error) = run(&clock, &executor, synced) {
    ///     eprintln!("{error}"); // not synced: failing: forbidden (status 403), 1 attempt, …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn synced(&self) -> Synced {
        Synced::new(self.tracker.subscribe(), self.clock.clone())
    }

    /// Updates the tracker with the event that was polled.
    fn track(&self) {
        if let Some(EventOf::Failed(report)) = &self.polled {
            self.tracker.note_failure(&report.failure);
        }
        if matches!(self.polled, Some(EventOf::Synced | EventOf::Failed(_))) {
            self.announce();
        }
    }

    /// Tells the program's subscriber of failures and states.
    fn trace(&mut self) {
        let Self { driver, clock, polled, trace, .. } = self;
        let informer = driver.informer();
        match polled {
            Some(EventOf::Failed(report)) => trace.failed(informer.resource(), report),
            Some(event) if event.key().is_some() => return,
            _ => {}
        }
        trace.note(informer.resource(), || informer.status(clock.now()));
    }

    /// Updates the tracker, until the first state is there.
    fn announce(&self) {
        if !self.tracker.has_synced() {
            let (informer, now) = (self.driver.informer(), self.clock.now());
            self.tracker.update(now, informer.poll_synced(now), informer.status(now));
        }
    }

    /// The driver.
    pub fn driver(&self) -> &DriverIn<D, L, C, Heap> {
        &self.driver
    }

    /// The driver, for a caller that stops the informer or changes the transport.
    pub fn driver_mut(&mut self) -> &mut DriverIn<D, L, C, Heap> {
        &mut self.driver
    }

    /// Stops simulated time while the transport waits for a peer outside of it.
    fn hold_outside(&mut self) {
        if self.waits_outside && self.driver.is_pending() {
            self.outside.get_or_insert_with(|| self.clock.outside());
        } else {
            self.outside = None;
        }
    }

    /// Lets the cache be saved.
    fn poll_saving(&mut self, cx: &mut Context<'_>) {
        if let Some(saving) = &mut self.saving {
            saving.poll(self.driver.informer_mut(), &self.clock, cx);
        }
    }

    /// Sleeps until the driver's next deadline; ready when it has come.
    fn poll_sleep(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let at = self.driver.poll_timeout();
        self.clock.poll_at(&mut self.sleep, at, cx)
    }
}

/// Nothing in it is pinned.
impl<D: Decode, L, C: Cache<D::Object>> Unpin for EventsIn<D, L, C> {}

impl<D: Decode, L: ListerWatcher, C: Cache<D::Object>> EventsIn<D, L, C> {
    /// The next event; `None` after [`until`](Self::until) has ended the stream. It is the stream's `next`, without an
    /// extension trait to import.
    ///
    /// No event is lost if the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<EventOf<D::Object>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<D: Decode, L: ListerWatcher, C: Cache<D::Object>> Stream for EventsIn<D, L, C> {
    type Item = EventOf<D::Object>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EventOf<D::Object>>> {
        let this = &mut *self;
        if this.budget.poll_spend(cx).is_pending() {
            return Poll::Pending;
        }
        if let Some(event) = this.polled.take() {
            return Poll::Ready(Some(event));
        }
        this.poll_saving(cx);
        let polled = this.driver.poll(this.clock.now(), cx);
        this.hold_outside();
        if let Poll::Ready(event) = polled {
            this.polled = Some(event);
            this.track();
            this.trace();
            return Poll::Ready(this.polled.take());
        }
        this.announce();
        this.trace();
        if (this.until)(&this.driver) {
            this.outside = None;
            return Poll::Ready(this.driver.informer_mut().poll_event());
        }
        this.budget.refill();
        this.poll_saving(cx);
        if this.poll_sleep(cx).is_ready() {
            // A transport that blocks requests the next read at once. Other tasks run first: the last read may have
            // been long.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<T, L, C> Events<T, L, C>
where
    T: FromJson + ToJson + Send + Sync + 'static,
    L: ListerWatcher,
    C: Cache<ObjectHandle<T>, Mem = Heap>,
{
    /// Restores the cache from a file, and [starts](Self::start) the driver's informer. From then on the cache is saved to
    /// the file, until the events are dropped; [`saved`](crate::saved) has the details.
    ///
    /// The file is read before this returns.
    #[must_use]
    pub fn start_saved(driver: DriverIn<Json<T>, L, C, Heap>, clock: Clock, save: SaveTo) -> Self {
        Self::start_with(driver, clock, Some(saving(save)))
    }
}

/// Saves the cache, if it is one that is saved.
impl<D: Decode, L, C: Cache<D::Object>> Drop for EventsIn<D, L, C> {
    fn drop(&mut self) {
        let Self { driver, clock, saving: Some(saving), .. } = self else { return };
        // A type's own code may panic, and a drop must not.
        let _ = caught_call(|| saving.end(driver.informer(), clock));
    }
}

listwatch_core::summary!(impl[D: Decode, L, C: Cache<D::Object>] "Events" for EventsIn<D, L, C>, |it| {
    clock: it.clock, sleep: it.sleep,
});

#[cfg(test)]
mod tests;
