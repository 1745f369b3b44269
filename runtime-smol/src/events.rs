use crate::clock::{Clock, Sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use listwatch_core::{Cache, Driver, Event, ListerWatcher, Object};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// What an informer tells, as a stream: the driver of core, with a clock to wait by.
///
/// It ends only where [`until`](Self::until) says so; a server's changes have no end.
///
/// ```no_run
/// use listwatch_runtime_smol::http::HttpTransport;
/// use listwatch_runtime_smol::{Clock, Driver, Events, Executor, Informer, InformerConfig, Raw, Resource, run};
/// use smol::stream::StreamExt;
///
/// let informer = Informer::<Raw>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
/// let transport = HttpTransport::new("http://127.0.0.1:8001"); // beside `kubectl proxy`
/// let clock = Clock::real();
/// let mut events = Events::start(Driver::new(informer, transport), clock.clone());
/// run(&clock, &Executor::new(), async {
///     while let Some(event) = events.next().await {
///         println!("{:?}", event.key());
///     }
/// });
/// ```
pub struct Events<T, L, C> {
    driver: Driver<T, L, C>,
    clock: Clock,
    sleep: Option<Sleep>,
    until: fn(&Driver<T, L, C>) -> bool,
}

impl<T: DeserializeOwned, L: ListerWatcher, C: Cache<Arc<Object<T>>>> Events<T, L, C> {
    /// Starts the driver's informer.
    #[must_use]
    pub fn start(mut driver: Driver<T, L, C>, clock: Clock) -> Self {
        driver.informer_mut().start(clock.now());
        Self { driver, clock, sleep: None, until: |_| false }
    }

    /// Ends the stream when nothing is left to tell and `ended` says that nothing more will come.
    #[must_use]
    pub fn until(mut self, ended: fn(&Driver<T, L, C>) -> bool) -> Self {
        self.until = ended;
        self
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

    /// Sleeps until the driver wants to be polled again. Ready when that time has come.
    fn poll_sleep(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.driver.poll_timeout() else {
            self.sleep = None;
            return Poll::Pending;
        };
        let sleep = match self.sleep.take().filter(|sleep| sleep.at() == at) {
            Some(sleep) => self.sleep.insert(sleep),
            None => self.sleep.insert(self.clock.sleep_until(at)),
        };
        let ready = Pin::new(sleep).poll(cx);
        if ready.is_ready() {
            self.sleep = None;
        }
        ready
    }
}

impl<T: DeserializeOwned, L: ListerWatcher + Unpin, C: Cache<Arc<Object<T>>> + Unpin> Stream for Events<T, L, C> {
    type Item = Event<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<T>>> {
        let this = &mut *self;
        loop {
            if let Poll::Ready(event) = this.driver.poll(this.clock.now(), cx) {
                return Poll::Ready(Some(event));
            }
            if (this.until)(&this.driver) {
                return Poll::Ready(this.driver.informer_mut().poll_event());
            }
            if this.poll_sleep(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl<T, L, C> fmt::Debug for Events<T, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("clock", &self.clock).field("sleep", &self.sleep).finish_non_exhaustive()
    }
}
