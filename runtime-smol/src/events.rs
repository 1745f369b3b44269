use crate::budget::Budget;
use crate::clock::{Clock, Outside, Sleep};
use crate::synced::Synced;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use listwatch_core::cache::Cache;
use listwatch_core::sync::{StdLock, SyncTracker};
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
    tracker: SyncTracker<StdLock>,
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
        let tracker = SyncTracker::new(clock.now());
        let (budget, waits_outside, outside) = (Budget::new(), false, None);
        Self { driver, clock, tracker, sleep: None, budget, waits_outside, outside, until: |_| false }
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
        Synced::new(self.tracker.subscribe(), self.clock.clone())
    }

    /// Writes down how far the informer is, until there is a first state.
    fn announce(&self) {
        if !self.tracker.has_synced() {
            let (informer, now) = (self.driver.informer(), self.clock.now());
            self.tracker.update(now, informer.poll_synced(now), informer.status(now));
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
                this.tracker.note_failure(&report.failure);
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

impl<T, L, C> fmt::Debug for Events<T, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("clock", &self.clock).field("sleep", &self.sleep).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::NotSynced;
    use crate::decode::MetadataOnly;
    use crate::informer::InformerStatus;
    use crate::reflector::{Action, FailureClass};
    use crate::request::{Request, RequestId, Verb};
    use crate::sync::{SharedWorkQueue, StdLock};
    use crate::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
    use crate::{
        Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Instant, Key, ListerWatcher, Outcome,
        Resource, Workers, run,
    };
    use core::pin::pin;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use core::task::{Context, Poll, Waker, ready};
    use core::time::Duration;
    use smol::stream::{Stream, StreamExt};
    use std::sync::Arc;

    /// A server that answers everything with this status, and by default with an empty body.
    struct Answers(u16, Vec<Incoming>, &'static str);

    impl ListerWatcher for Answers {
        fn open(&mut self, id: RequestId, _: &Request) {
            let head = ResponseHead { status: self.0, ..ResponseHead::default() };
            let data = (!self.2.is_empty()).then_some(Incoming::Data { id, len: self.2.len() });
            self.1 = [Incoming::End { id }].into_iter().chain(data).chain([Incoming::Head { id, head }]).collect();
        }

        fn poll_read(&mut self, _: ReadContext<'_, '_>, space: &mut [u8]) -> Poll<Incoming> {
            space[..self.2.len()].copy_from_slice(self.2.as_bytes());
            Poll::Ready(self.1.pop().unwrap_or(Incoming::Idle { until: None }))
        }

        fn abort(&mut self, _: RequestId) {}
    }

    /// What comes of waiting for so long, while somebody else takes the events.
    fn waits(status: u16, time: Duration) -> Result<(), NotSynced> {
        waits_for(Answers(status, Vec::new(), ""), time)
    }

    fn waits_for(server: Answers, time: Duration) -> Result<(), NotSynced> {
        let (clock, executor) = (Clock::simulated(), Executor::new());
        let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
        let events = Events::start(Driver::new(informer, server), clock.clone());
        let synced = events.synced().within(time);
        executor.spawn(events.for_each(|_| {})).detach();
        run(&clock, &executor, synced)
    }

    /// The timeouts that informers with the defaults ask for.
    fn timeouts(clock: &Clock) -> Vec<Duration> {
        let timeout = |_| {
            let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
            let mut events = Events::start(Driver::new(informer, Answers(200, Vec::new(), "")), clock.clone());
            match events.driver_mut().informer_mut().poll_action() {
                Some(Action::Open(_, Request { verb: Verb::Watch { timeout: Some(timeout), .. }, .. })) => timeout,
                other => panic!("{other:?}"),
            }
        };
        let mut timeouts: Vec<Duration> = (0..8).map(timeout).collect();
        timeouts.dedup();
        timeouts
    }

    /// They broke and came back at the same nanosecond, too.
    #[test]
    fn informers_with_the_defaults_asked_for_the_same_timeout() {
        let timeouts = timeouts(&Clock::real());
        assert!(timeouts.len() > 1, "{timeouts:?}");
    }

    #[test]
    fn under_a_simulated_clock_each_run_asks_for_the_same_timeout() {
        assert_eq!(timeouts(&Clock::simulated()).len(), 1);
    }

    #[test]
    fn who_waits_is_told_at_once_where_waiting_does_not_help() {
        let reason = waits(403, Duration::from_secs(3600)).unwrap_err();
        let said = reason.to_string();
        let InformerStatus::Failing { class: FailureClass::Forbidden, attempts: 1, .. } = reason.status else {
            panic!("{said}");
        };
        assert!(said.starts_with("not synced: failing: forbidden (status 403), 1 attempt, next in "), "{said}");
    }

    #[test]
    fn who_waits_was_not_told_what_the_server_said() {
        let body = r#"{"kind":"Status","reason":"Forbidden","code":403,"message":"pods is forbidden: User \"a\" cannot list"}"#;
        let error = waits_for(Answers(403, Vec::new(), body), Duration::from_secs(3600)).unwrap_err();
        let said = error.to_string();
        assert!(
            said.ends_with("; the last failure: status 403 Forbidden: pods is forbidden: User \"a\" cannot list"),
            "{said}"
        );
        assert_eq!(format!("{error:?}"), said, "`main` shows what is behind its `Err` by `Debug`");
    }

    #[test]
    fn who_waits_for_a_time_is_told_what_is_going_on_then() {
        let said = waits(500, Duration::from_secs(3600)).unwrap_err().to_string();
        assert!(said.starts_with("not synced: failing for 60 min: server error (status 500), "), "{said}");
        assert!(said.ends_with("; nothing listed yet; the last failure: status 500"), "{said}");
    }

    #[test]
    fn who_waits_for_events_that_nobody_takes_any_more_is_told_so() {
        let clock = Clock::simulated();
        let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
        let events = Events::start(Driver::new(informer, Answers(200, Vec::new(), "")), clock.clone());
        let synced = events.synced();
        drop(events);
        let error = run(&clock, &Executor::new(), synced).unwrap_err();
        assert_eq!((error.status, error.failure), (InformerStatus::Stopped, None));
    }

    #[cfg(feature = "file")]
    #[test]
    fn who_waits_for_a_state_that_comes_goes_on_when_it_is_in_the_cache() {
        use crate::file::Playback;
        let (clock, executor) = (Clock::simulated(), Executor::new());
        let capture = Playback::from_file("../tests/data/captures/gap.jsonl.gz").unwrap();
        let informer = Informer::<MetadataOnly>::new(capture.resource().unwrap().clone(), InformerConfig::default());
        let mut events = Events::start(Driver::new(informer, capture), clock.clone());
        let synced = events.synced();
        run(&clock, &executor, async {
            let taken = async { while events.next().await.is_some() {} };
            let synced = async { assert_eq!(synced.await, Ok(())) };
            smol::future::or(taken, synced).await;
        });
        assert!(!events.driver().informer().cache().is_empty());
        assert_eq!(run(&clock, &executor, events.synced()), Ok(()), "and who asks later goes on at once");
    }

    /// Refuses a request when something else is over, and is pending until then.
    struct Refuses<F>(Option<RequestId>, F);

    impl<F: Future + Unpin> ListerWatcher for Refuses<F> {
        fn open(&mut self, id: RequestId, _: &Request) {
            self.0 = Some(id);
        }

        fn poll_read(&mut self, turn: ReadContext<'_, '_>, _: &mut [u8]) -> Poll<Incoming> {
            let Some(id) = self.0 else { return Poll::Ready(Incoming::Idle { until: None }) };
            ready!(pin!(&mut self.1).poll(turn.cx));
            self.0 = None;
            let error = TransportError::new(TransportErrorKind::Credentials, "");
            Poll::Ready(Incoming::Failed { id, error })
        }

        fn abort(&mut self, _: RequestId) {
            self.0 = None;
        }
    }

    #[test]
    fn a_server_outside_of_simulated_time_was_given_up_at_once() {
        let (clock, (go, gone)) = (Clock::simulated(), smol::channel::bounded::<()>(1));
        let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
        let server = Box::pin(smol::unblock(move || gone.recv_blocking()));
        let events = Events::start(Driver::new(informer, Refuses(None, server)), clock.clone());
        let mut events = events.waiting_outside();
        let (event, ()) = run(&clock, &Executor::new(), async {
            // While a task goes on, no time passes in any case.
            let go = async { go.send(()).await.unwrap() };
            smol::future::zip(events.next(), go).await
        });
        assert!(matches!(event, Some(Event::Failed(_))), "{event:?}");
        assert_eq!(clock.now(), Instant::ZERO);
    }

    #[test]
    fn a_server_in_simulated_time_answers_by_it_though_its_transport_is_pending() {
        let clock = Clock::simulated();
        let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
        let server = clock.sleep(Duration::from_secs(5));
        let mut events = Events::start(Driver::new(informer, Refuses(None, server)), clock.clone());
        let event = run(&clock, &Executor::new(), events.next());
        assert!(matches!(event, Some(Event::Failed(_))), "{event:?}");
        assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(5));
    }

    /// A server that never lets anybody wait: an empty list, and then a watch with many events.
    #[derive(Default)]
    struct Floods {
        opened: u32,
        id: Option<RequestId>,
        /// Pieces of the answer that were taken.
        taken: u32,
    }

    const FLOOD: u32 = 50_000;

    impl ListerWatcher for Floods {
        fn open(&mut self, id: RequestId, _: &Request) {
            *self = Self { opened: self.opened + 1, id: Some(id), taken: 0 };
        }

        fn poll_read(&mut self, _: ReadContext<'_, '_>, space: &mut [u8]) -> Poll<Incoming> {
            let Some(id) = self.id else { return Poll::Pending };
            let n = self.taken;
            self.taken += 1;
            let text = match (self.opened, n) {
                (_, 0) => {
                    return Poll::Ready(Incoming::Head {
                        id,
                        head: ResponseHead { status: 200, ..ResponseHead::default() },
                    });
                }
                (1, 1) => r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#.to_owned(),
                (1, _) => return Poll::Ready(Incoming::End { id }),
                (_, n) if n > FLOOD => return Poll::Ready(Incoming::Idle { until: None }),
                _ => {
                    let meta = format!(r#"{{"name":"pod-{n}","resourceVersion":"{}"}}"#, n + 1);
                    format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{meta}}}}}\n")
                }
            };
            space[..text.len()].copy_from_slice(text.as_bytes());
            Poll::Ready(Incoming::Data { id, len: text.len() })
        }

        fn abort(&mut self, _: RequestId) {}
    }

    /// The keys that the flood tells of, and then the end.
    fn flood(clock: &Clock) -> impl Stream<Item = Key> + Unpin + use<> {
        let mut config = InformerConfig::default();
        config.reflector.watch_list = false;
        let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), config);
        let events = Events::start(Driver::new(informer, Floods::default()), clock.clone());
        events.filter_map(|event| event.key().cloned()).take(FLOOD as usize)
    }

    /// Takes the keys in a task beside one that reconciles, and says how many are reconciled when all are taken.
    fn reconciled_meanwhile() -> u32 {
        let done = AtomicU32::new(0);
        let (clock, executor) = (Clock::simulated(), Executor::new());
        let queue = Arc::new(SharedWorkQueue::<Key, StdLock>::default());
        let workers = Workers::spawn(&executor, &queue, &clock, 1, |_| {
            done.fetch_add(1, Relaxed);
            core::future::ready(Outcome::Done)
        });
        let added = Arc::clone(&queue);
        let told = flood(&clock).for_each(move |key| _ = added.add(key));
        let told = executor.spawn(async {
            told.await;
            done.load(Relaxed)
        });
        let meanwhile = run(&clock, &executor, told);
        drop(workers);
        meanwhile
    }

    #[test]
    fn events_that_are_always_ready_let_reconciles_run() {
        let meanwhile = reconciled_meanwhile();
        assert!(meanwhile > FLOOD / 2, "{meanwhile} of {FLOOD} keys are reconciled when all are told");
    }

    /// No executor: a loop that polls one future and then the other.
    #[test]
    fn events_that_are_always_ready_return_to_whoever_polls_them() {
        let clock = Clock::simulated();
        let (mut events, mut told, mut turns) = (flood(&clock), 0, 0);
        let mut cx = Context::from_waker(Waker::noop());
        while told < FLOOD {
            while let Poll::Ready(Some(_)) = events.poll_next(&mut cx) {
                told += 1;
            }
            turns += 1;
        }
        assert!(turns > 100, "{turns} turns for the others in {told} events");
    }

    /// Waits for its peer in each read and then asks for the next one at once, so many times, and is pending then.
    struct AsksAgain(u32);

    impl ListerWatcher for AsksAgain {
        fn open(&mut self, _: RequestId, _: &Request) {}

        fn poll_read(&mut self, turn: ReadContext<'_, '_>, _: &mut [u8]) -> Poll<Incoming> {
            let Some(left) = self.0.checked_sub(1) else { return Poll::Pending };
            self.0 = left;
            Poll::Ready(Incoming::Idle { until: Some(turn.now) })
        }

        fn abort(&mut self, _: RequestId) {}
    }

    #[test]
    fn a_transport_that_asked_to_be_read_again_at_once_kept_the_thread() {
        let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
        let mut events = Events::start(Driver::new(informer, AsksAgain(10_000)), Clock::simulated());
        assert!(events.poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
        let left = events.driver().transport().0;
        assert!(left > 9_000, "{left} of 10000 reads are left when the others get their turn");
    }
}
