use super::*;
use crate::{Executor, run};
use listwatch_core::api::{Api, ApiFn, ApiRequest, ApiResponse, Method, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::{ReadContext, TransportError, TransportErrorKind};
use listwatch_core::{Instant, Resource};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

fn pods() -> Api<Value> {
    Api::new(&Resource::new("/api/v1/namespaces/web/pods"))
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A server on which another client is quicker, so many times.
struct Contended(AtomicU32);

impl ApiClient for Contended {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        let quicker = || self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        Ok(match request.method {
            Method::Put if quicker() => ApiResponse::new(409, br#"{"kind":"Status","reason":"Conflict","code":409}"#),
            _ => ApiResponse::new(200, br#"{"metadata":{"name":"a","resourceVersion":"7"}}"#),
        })
    }
}

async fn replace(client: &Client) -> Result<Value, ApiError> {
    let pods = &pods();
    let change = || async {
        let mut pod = client.call(pods.get("a")).await?;
        pod["metadata"]["labels"] = json!({ "seen": "yes" });
        client.call(pods.replace("a", &pod)).await
    };
    client.retry_on_conflict(ConflictRetry::new(1), change).await
}

#[test]
fn a_change_that_meets_a_conflict_is_made_again_but_not_for_ever() {
    for clock in [Clock::real(), Clock::simulated()] {
        let replaced = |conflicts: u32| {
            let client = Client::from_blocking(Contended(conflicts.into()), clock.clone());
            run(&clock, &Executor::new(), replace(&client))
        };
        assert_eq!(replaced(0).unwrap()["metadata"]["name"], "a");
        assert_eq!(replaced(4).unwrap()["metadata"]["name"], "a");
        assert!(replaced(5).is_err_and(|error| error.is_conflict()));
    }
}

/// A client that blocks until the test lets it go on.
struct Held(smol::channel::Receiver<()>);

impl ApiClient for Held {
    fn send(&self, _: &ApiRequest) -> Result<ApiResponse, TransportError> {
        self.0.recv_blocking().unwrap();
        Ok(ApiResponse::new(200, *b"{}"))
    }
}

#[test]
fn a_call_on_another_thread_takes_no_simulated_time_and_no_task_thinks_that_nothing_can_go_on() {
    let clock = Clock::simulated();
    let (go, held) = smol::channel::bounded(1);
    let client = Client::from_blocking(Held(held), clock.clone());
    let executor = Executor::new();
    let asks = executor.spawn({
        let clock = clock.clone();
        async move { (client.call(pods().get("a")).await, clock.now()) }
    });
    // Nothing else can go on for a while, then the thread is let go; only then an hour may pass.
    std::thread::spawn(move || go.send_blocking(()).unwrap());
    let slept = run(&clock, &executor, async {
        clock.sleep(Duration::from_secs(3600)).await;
        clock.now()
    });
    let (answer, answered) = run(&clock, &executor, asks);
    assert_eq!((answer, answered, slept), (Ok(json!({})), at(0), at(3_600_000)));
}

/// Answers after this delay on the caller's clock, and counts the aborted calls.
#[derive(Clone)]
struct Delayed {
    delay: Duration,
    due: BTreeMap<RequestId, Instant>,
    given_up: Arc<AtomicU32>,
}

impl Delayed {
    fn by(delay: Duration) -> Self {
        Self { delay, due: BTreeMap::new(), given_up: Arc::default() }
    }

    fn given_up(&self) -> u32 {
        self.given_up.load(Ordering::Relaxed)
    }
}

impl ApiTransport for Delayed {
    fn open(&mut self, _: RequestId, _: &ApiRequest) {}

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let due = *self.due.entry(id).or_insert(turn.now + self.delay);
        Poll::Ready(match turn.now < due {
            true => Reply::Idle { until: Some(due) },
            false => Reply::Answered(ApiResponse::new(200, *b"{}")),
        })
    }

    fn abort(&mut self, _: RequestId) {
        self.given_up.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn calls_of_many_tasks_are_open_at_once_and_each_waits_for_its_own_answer() {
    let clock = Clock::simulated();
    let server = Delayed::by(Duration::from_secs(2));
    let client = Client::new(server.clone(), clock.clone());
    let executor = Executor::new();
    let tasks: Vec<_> = (0..50).map(|_| executor.spawn(async { client.call(pods().get("a")).await })).collect();
    run(&clock, &executor, async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!((clock.now(), server.given_up()), (at(2_000), 0), "50 answers, all after 2 s");
}

#[test]
fn a_call_ends_at_its_own_deadline_or_that_of_its_client_or_after_half_a_minute() {
    let ended = |client_has: Option<u64>, call_has: Option<u64>| {
        let clock = Clock::simulated();
        let server = Delayed::by(Duration::from_secs(1_000));
        let mut client = Client::new(server.clone(), clock.clone());
        if let Some(seconds) = client_has {
            client = client.with_timeout(Duration::from_secs(seconds));
        }
        let call = pods().get("a");
        let call = match call_has {
            Some(seconds) => call.with_timeout(Duration::from_secs(seconds)),
            None => call,
        };
        let error = run(&clock, &Executor::new(), client.call(call)).unwrap_err();
        let ApiError::Transport(error) = error else { panic!("{error}") };
        assert_eq!((error.kind, server.given_up()), (TransportErrorKind::Timeout, 1));
        clock.now()
    };
    assert_eq!(ended(None, None), at(30_000));
    assert_eq!(ended(Some(5), None), at(5_000));
    assert_eq!(ended(Some(5), Some(70)), at(70_000));
}

#[test]
fn a_call_whose_future_is_dropped_is_given_up_and_one_that_was_answered_is_not() {
    let clock = Clock::simulated();
    let server = Delayed::by(Duration::from_secs(2));
    let client = Client::new(server.clone(), clock.clone());
    run(&clock, &Executor::new(), async {
        let impatient = async {
            clock.sleep(Duration::from_secs(1)).await;
            Err(ApiError::Unreadable("too late".into()))
        };
        assert!(smol::future::or(client.call(pods().get("a")), impatient).await.is_err());
        assert_eq!(server.given_up(), 1);
        client.call(pods().get("a")).await.unwrap();
    });
    assert_eq!(server.given_up(), 1);
}

#[test]
fn a_call_that_is_given_up_lets_simulated_time_go_on() {
    let clock = Clock::simulated();
    let (_go, held) = smol::channel::bounded(1);
    let client = Client::from_blocking(Held(held.clone()), clock.clone());
    run(&clock, &Executor::new(), async {
        let mut call = Box::pin(client.call(pods().get("a")));
        assert!(smol::future::poll_once(&mut call).await.is_none());
        drop(call);
        clock.sleep(Duration::from_secs(60)).await;
    });
    assert_eq!(clock.now(), at(60_000));
    held.close();
}

#[test]
fn a_lease_is_renewed_on_time_while_a_call_is_pending() {
    let clock = Clock::simulated();
    let slow = Client::new(Delayed::by(Duration::from_secs(25)), clock.clone());
    let quick = Client::new(Delayed::by(Duration::from_millis(10)), clock.clone());
    let executor = Executor::new();
    let call = executor.spawn(async { slow.call(pods().get("a")).await });
    let renewed = run(&clock, &executor, async {
        let mut renewed = Vec::new();
        while !call.is_finished() {
            clock.sleep(Duration::from_secs(10)).await;
            quick.call(pods().get("lease")).await.unwrap();
            renewed.push(clock.now());
        }
        renewed
    });
    assert_eq!(renewed, [at(10_010), at(20_020), at(30_030)]);
}

/// Panics for one pod, and answers for the others.
fn fragile() -> impl FnMut(&ApiRequest) -> Result<ApiResponse, TransportError> + Send + Sync + Copy + 'static {
    |request: &ApiRequest| match request.path.ends_with("/bad") {
        true => panic!("there is no {}", request.path),
        false => Ok(ApiResponse::new(200, *b"{}")),
    }
}

#[test]
fn an_answer_that_panics_fails_its_call_and_no_other() {
    struct Sends;
    impl ApiClient for Sends {
        fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
            fragile()(request)
        }
    }
    let clock = Clock::simulated();
    for client in [Client::new(ApiFn::new(fragile()), clock.clone()), Client::from_blocking(Sends, clock.clone())] {
        run(&clock, &Executor::new(), async {
            let error = client.call(pods().get("bad")).await.unwrap_err().to_string();
            let path = "/api/v1/namespaces/web/pods/bad";
            assert_eq!(error, format!("GET {path}: failed: the transport panicked: there is no {path}"));
            assert_eq!(client.call(pods().get("a")).await, Ok(json!({})));
        });
        assert!(client.calls.lock().is_empty(), "nothing is left open");
    }
}

#[test]
fn a_transport_that_panics_when_it_is_opened_or_given_up_leaves_the_client_usable() {
    /// Panics where its path says so.
    struct Clumsy(Option<String>);
    impl ApiTransport for Clumsy {
        fn open(&mut self, _: RequestId, request: &ApiRequest) {
            assert!(!request.path.ends_with("/open"), "open");
            self.0 = Some(request.path.clone());
        }
        fn poll_response(&mut self, _: RequestId, _: ReadContext<'_, '_>) -> Poll<Reply> {
            match self.0.as_deref().is_some_and(|path| path.ends_with("/abort")) {
                true => Poll::Ready(Reply::Idle { until: None }),
                false => Poll::Ready(Reply::Answered(ApiResponse::new(200, *b"{}"))),
            }
        }
        fn abort(&mut self, _: RequestId) {
            panic!("abort");
        }
    }
    let clock = Clock::simulated();
    let client = Client::new(Clumsy(None), clock.clone());
    run(&clock, &Executor::new(), async {
        for (name, detail) in [("open", "the transport panicked: open"), ("abort", "the transport panicked: abort")] {
            let error = client.call(pods().get(name)).await.unwrap_err().to_string();
            assert!(error.starts_with("GET /") && error.ends_with(&format!("/{name}: failed: {detail}")), "{error}");
            assert_eq!(client.call(pods().get("a")).await, Ok(json!({})));
        }
    });
    assert!(client.calls.lock().is_empty(), "nothing is left open");
}

#[test]
fn a_request_whose_open_panics_is_aborted() {
    /// Counts the open requests, and panics then.
    struct Flawed(Arc<AtomicU32>);
    impl ApiTransport for Flawed {
        fn open(&mut self, _: RequestId, _: &ApiRequest) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("open");
        }
        fn poll_response(&mut self, _: RequestId, _: ReadContext<'_, '_>) -> Poll<Reply> {
            Poll::Pending
        }
        fn abort(&mut self, _: RequestId) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let (clock, open) = (Clock::simulated(), Arc::default());
    let client = Client::new(Flawed(Arc::clone(&open)), clock.clone());
    assert!(run(&clock, &Executor::new(), client.call(pods().get("a"))).is_err());
    assert_eq!(open.load(Ordering::Relaxed), 0);
}

#[test]
fn a_transport_that_asks_to_be_polled_again_gives_others_a_turn() {
    /// Does so as often as this says, and is pending then.
    struct AsksAgain(Arc<AtomicU32>);
    impl ApiTransport for AsksAgain {
        fn open(&mut self, _: RequestId, _: &ApiRequest) {}
        fn poll_response(&mut self, _: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
                Ok(_) => Poll::Ready(Reply::Idle { until: Some(turn.now) }),
                Err(_) => Poll::Pending,
            }
        }
        fn abort(&mut self, _: RequestId) {}
    }
    let left = Arc::new(AtomicU32::new(10_000));
    let client = Client::new(AsksAgain(Arc::clone(&left)), Clock::simulated());
    let mut call = Box::pin(client.call(pods().get("a")));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let left = left.load(Ordering::Relaxed);
    assert!(left > 9_000, "{left} of 10000 polls are left when the others get their turn");
}
