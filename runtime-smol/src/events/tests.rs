use crate::SharedWorkQueue;
use crate::decode::MetadataOnly;
use crate::events::NotSynced;
use crate::informer::InformerStatus;
use crate::reflector::{Action, FailureClass};
use crate::request::{Request, RequestId, Verb};
use crate::time::Instant;
use crate::transport::ListerWatcher;
use crate::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use crate::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Key, Outcome, Resource, Workers, run};
use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use smol::stream::{Stream, StreamExt};
use std::sync::Arc;

/// A server that answers every request with this status and this body.
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

/// The result of a wait with this time limit, while a task takes the events.
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

/// With one timeout, all watches would end, and be opened again, at the same time.
#[test]
fn informers_with_the_defaults_ask_for_different_timeouts() {
    let timeouts = timeouts(&Clock::real());
    assert!(timeouts.len() > 1, "{timeouts:?}");
}

#[test]
fn under_a_simulated_clock_each_run_asks_for_the_same_timeout() {
    assert_eq!(timeouts(&Clock::simulated()).len(), 1);
}

#[test]
fn a_wait_that_needs_manual_intervention_fails_at_once() {
    let reason = waits(403, Duration::from_secs(3600)).unwrap_err();
    let said = reason.to_string();
    let InformerStatus::Failing { class: FailureClass::Forbidden, attempts: 1, .. } = reason.status else {
        panic!("{said}");
    };
    assert!(said.starts_with("not synced: failing: forbidden (status 403), 1 attempt, next in "), "{said}");
}

#[test]
fn a_failed_wait_shows_the_message_of_the_server() {
    let body =
        r#"{"kind":"Status","reason":"Forbidden","code":403,"message":"pods is forbidden: User \"a\" cannot list"}"#;
    let error = waits_for(Answers(403, Vec::new(), body), Duration::from_secs(3600)).unwrap_err();
    let said = error.to_string();
    assert!(
        said.ends_with("; the last failure: status 403 Forbidden: pods is forbidden: User \"a\" cannot list"),
        "{said}"
    );
    assert_eq!(format!("{error:?}"), said, "`main` shows its `Err` by `Debug`");
}

#[test]
fn a_wait_that_reaches_its_deadline_fails_with_the_status_of_then() {
    let said = waits(500, Duration::from_secs(3600)).unwrap_err().to_string();
    assert!(said.starts_with("not synced: failing for 60 min: server error (status 500), "), "{said}");
    assert!(said.ends_with("; nothing listed yet; the last failure: status 500"), "{said}");
}

#[test]
fn a_wait_for_events_that_are_dropped_fails_as_stopped() {
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
fn a_wait_for_the_first_state_ends_when_it_is_in_the_cache() {
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
    assert_eq!(run(&clock, &executor, events.synced()), Ok(()), "a later wait ends at once");
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
fn a_server_outside_of_simulated_time_is_waited_for() {
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

/// A server whose bytes are always ready: an empty list, and then a watch with many events.
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

/// The keys of the flood, and then the end.
fn flood(clock: &Clock) -> impl Stream<Item = Key> + Unpin + use<> {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), config);
    let events = Events::start(Driver::new(informer, Floods::default()), clock.clone());
    events.filter_map(|event| event.key().cloned()).take(FLOOD as usize)
}

/// Takes the keys in one task, reconciles them in another, and returns how many are reconciled when all are taken.
fn reconciled_meanwhile() -> u32 {
    let done = AtomicU32::new(0);
    let (clock, executor) = (Clock::simulated(), Executor::new());
    let queue = Arc::new(SharedWorkQueue::<Key>::default());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |_| {
        done.fetch_add(1, Relaxed);
        core::future::ready(Outcome::Done)
    });
    let added = Arc::clone(&queue);
    let told = flood(&clock).for_each(move |key| added.add(key));
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

/// Without an executor: a loop that polls one future and then the other.
#[test]
fn events_that_are_always_ready_return_to_their_caller_now_and_then() {
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

/// Blocks in each read and then asks for the next one at once, so many times, and is pending then.
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
fn a_transport_that_asks_to_be_read_again_gives_others_a_turn() {
    let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
    let mut events = Events::start(Driver::new(informer, AsksAgain(10_000)), Clock::simulated());
    assert!(events.poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
    let left = events.driver().transport().0;
    assert!(left > 9_000, "{left} of 10000 reads are left when the others get their turn");
}

/// A subscriber's waker that panics.
struct Panics;

impl std::task::Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn the_event_synced_survives_a_panic_of_a_subscribers_waker() {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), config);
    let server = Answers(200, Vec::new(), r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#);
    let mut events = Events::start(Driver::new(informer, server), Clock::simulated());
    let mut synced = pin!(events.synced());
    assert!(synced.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Panics)))).is_pending());
    let mut poll = || {
        let poll = || pin!(events.next()).poll(&mut Context::from_waker(Waker::noop()));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll))
    };
    assert!(poll().is_err(), "the waker panics");
    assert_eq!(poll().ok(), Some(Poll::Ready(Some(Event::Synced))));
}

#[test]
fn a_stream_ends_by_what_its_caller_knows() {
    let clock = Clock::simulated();
    let informer = Informer::<MetadataOnly>::new(Resource::new("/pods"), InformerConfig::default());
    let events = Events::start(Driver::new(informer, Answers(403, Vec::new(), "")), clock.clone());
    let (limit, mut asked) = (3, 0);
    let events = events.until(move |_| {
        asked += 1;
        asked == limit
    });
    let events = run(&clock, &Executor::new(), events.collect::<Vec<_>>());
    assert!(events.iter().all(|event| matches!(event, Event::Failed(_))), "{events:?}");
}
