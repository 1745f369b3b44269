//! What is told of streams that fail.

use crate::informers::support::{Answers, SOON, WIDGETS, resource, widgets, with_informers, world};
use core::task::Poll;
use core::time::Duration;
use listwatch::decode::{MetadataOnly, Raw};
use listwatch::informer::{InformerStatus, Subscription};
use listwatch::request::{Request, RequestId};
use listwatch::transport::{Incoming, ListerWatcher, ReadContext};
use listwatch::{Clock, Executor, Informers, Key, Resource, run};
use listwatch_tests::bomb::Bomb;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// What is told of errors, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn a_denial_ends_the_wait_by_the_servers_sentence_and_the_command_that_checks_the_rules() {
    let clock = Clock::simulated();
    let told = Told::default();
    let lines = told.clone();
    let informers = Informers::with_error_handler(world(&clock, |_| Answers::denied("web")), move |name, error| {
        lines.push(format!("{name}: {error}"));
    });
    let widgets = informers.informer_of::<Raw>(resource());
    let error = with_informers(&informers, widgets.synced().within(SOON)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not synced: widgets.example.com in namespace web: failing: forbidden (status 403), 1 attempt, next in 1 s; \
         nothing listed yet; the last failure: status 403 Forbidden: widgets is forbidden: User \"me\" cannot list resource \"widgets\" in \
         \"web\"; check with `kubectl auth can-i watch widgets.example.com -n web`"
    );
    assert_eq!(told.lines().len(), 1, "{:?}", told.lines());
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn a_wait_without_a_task_that_runs_the_informers_says_so_at_its_deadline() {
    let clock = Clock::simulated();
    let (world, _server, counts) = widgets(&clock);
    let informers = Informers::new(world);
    let widgets = informers.informer_of::<Raw>(resource());
    let error = run(&clock, &Executor::new(), widgets.synced().within(SOON)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not synced: widgets.example.com in namespace web: not started; no task runs the informers: spawn `Informers::run`"
    );
    assert_eq!(counts.made(), 0);
}

#[test]
fn a_wait_for_an_object_says_that_no_task_runs_the_informers() {
    let clock = Clock::simulated();
    let (world, _server, _) = widgets(&clock);
    let informers = Informers::new(world);
    let widgets = informers.informer_of::<Raw>(resource());
    let wait = || run(&clock, &Executor::new(), widgets.wait_for(&Key::from("web/a"), |_| false, SOON)).unwrap_err();
    assert_eq!(
        wait().to_string(),
        "the condition did not hold within 10s; widgets.example.com in namespace web: not started; \
         no task runs the informers: spawn `Informers::run`"
    );
    let _running = informers.run();
    assert!(wait().to_string().ends_with("web: not started"), "a task has it, and has not polled it");
}

#[test]
fn a_stream_tells_for_how_long_a_subscriber_holds_it_back() {
    let clock = Clock::simulated();
    let (world, server, _) = widgets(&clock);
    let informers = Informers::new(world);
    let widgets = informers.informer_of::<Raw>(resource());
    let mut waiting = widgets.subscribe(Subscription::new().wait());
    with_informers(&informers, async {
        widgets.synced().within(SOON).await.unwrap();
        assert_eq!(widgets.streams()[0].held_back, None);
        // More than the log has room for.
        for number in 0..3_000 {
            server.with(|inside| inside.store.put(clock.now(), "a", json!({ "wanted": number })));
        }
        clock.sleep(SOON).await;
        let held = widgets.streams()[0].held_back.unwrap();
        assert!(held <= SOON, "{held:?}");
        clock.sleep(Duration::from_secs(300)).await;
        let status = informers.status().remove(0);
        assert_eq!(status.held_back, Some(held + Duration::from_secs(300)));
        assert!(status.to_string().ends_with("; held back by a subscriber for 5 min"), "{status}");
        // It is held back again at once.
        let _one = waiting.next().await;
        clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(widgets.streams()[0].held_back, Some(held + Duration::from_secs(301)));
        let read = async { while waiting.next().await.is_some() {} };
        smol::future::or(read, clock.sleep(SOON)).await;
        let status = informers.status().remove(0);
        assert!(status.held_back.is_none() && !status.to_string().contains("held back"), "{status}");
    });
}

#[test]
fn a_wait_that_outlives_the_last_handle_ends() {
    let clock = Clock::simulated();
    let informers = Informers::new(world(&clock, |_| Answers::denied("web")));
    let widgets = informers.informer_of::<Raw>(resource());
    let synced = widgets.synced();
    drop(widgets);
    let error = with_informers(&informers, synced).unwrap_err();
    assert!(error.to_string().ends_with("web: stopped"), "{error}");
}

/// Panics at the object of this name.
#[derive(Debug)]
struct Flawed;

impl<'de> Deserialize<'de> for Flawed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        assert_ne!(value["metadata"]["name"], "b", "not this one");
        Ok(Self)
    }
}

#[test]
fn a_decoder_that_panics_is_reported_and_its_stream_and_the_others_go_on() {
    let clock = Clock::simulated();
    let (world, server, counts) = widgets(&clock);
    let told = Told::default();
    let lines = told.clone();
    let informers = Informers::with_error_handler(world, move |name, error| lines.push(format!("{name}: {error}")));
    let flawed = informers.informer_of::<Flawed>(resource());
    let sound = informers.informer_of::<MetadataOnly>(resource());
    with_informers(&informers, async {
        sound.synced().within(SOON).await.unwrap();
        flawed.synced().within(SOON).await.unwrap();
        server.with(|inside| inside.store.put(clock.now(), "c", serde_json::json!({})));
        clock.sleep(SOON).await;
    });
    assert_eq!((flawed.len(), sound.len(), counts.made()), (2, 3, 2));
    let [status] = &flawed.streams()[..] else { panic!("one stream") };
    assert_eq!((status.panics, status.undecodable), (1, 1));
    assert!(status.panic.as_ref().is_some_and(|message| message.contains("not this one")), "{status}");
    assert!(status.to_string().contains("; 1 object could not be decoded; 1 panic, the last: "), "{status}");
    let lines: Vec<String> = told.lines().into_iter().filter(|line| !line.contains("status 422")).collect();
    assert!(lines[0].starts_with("widgets.example.com in namespace web: panicked: "), "{lines:?}");
    assert_eq!(lines.len(), 2, "the panic, and the object: {lines:?}");
    assert_eq!(sound.streams()[0].panics, 0);
}

#[test]
fn an_object_that_panics_in_its_drop_ends_no_informer() {
    let clock = Clock::simulated();
    let (world, server, _counts) = widgets(&clock);
    let told = Told::default();
    let lines = told.clone();
    let informers = Informers::with_error_handler(world, move |name, error| lines.push(format!("{name}: {error}")));
    let bombs = informers.informer_of::<Bomb>(resource());
    with_informers(&informers, async {
        bombs.synced().within(SOON).await.unwrap();
        Bomb::arm(true);
        server.with(|inside| inside.store.put(clock.now(), "a", serde_json::json!({})));
        clock.sleep(SOON).await;
        Bomb::arm(false);
        server.with(|inside| inside.store.put(clock.now(), "c", serde_json::json!({})));
        clock.sleep(SOON).await;
    });
    assert_eq!((bombs.len(), bombs.streams()[0].panics), (3, 1));
    let lines: Vec<String> = told.lines().into_iter().filter(|line| !line.contains("status 422")).collect();
    assert_eq!(lines, ["widgets.example.com in namespace web: panicked: in drop"]);
}

/// Panics in its first polls.
struct Clumsy<L>(L, u32);

impl<L: ListerWatcher> ListerWatcher for Clumsy<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.0.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        self.1 = self.1.saturating_sub(1);
        assert_eq!(self.1, 0, "in a poll");
        self.0.poll_read(context, buf)
    }

    fn abort(&mut self, id: RequestId) {
        self.0.abort(id);
    }
}

impl<L> Drop for Clumsy<L> {
    fn drop(&mut self) {
        panic!("in the drop");
    }
}

#[test]
fn after_a_panic_a_stream_waits_longer_each_time_and_a_panic_of_its_drop_is_reported_too() {
    let clock = Clock::simulated();
    let (told, when) = (Told::default(), clock.clone());
    let lines = told.clone();
    let informers =
        Informers::with_error_handler(world(&clock, |_| Clumsy(Answers::list(&["a"]), 5)), move |_, error| {
            lines.push(format!("{} s: {error}", when.now().saturating_since(Default::default()).as_secs()));
        });
    let widgets = informers.informer_of::<Raw>(resource());
    with_informers(&informers, async {
        widgets.synced().within(Duration::from_secs(60)).await.unwrap();
        drop(widgets);
    });
    let lines = told.lines();
    let panics: Vec<&str> = lines.iter().filter_map(|line| line.split_once(" s: panicked").map(|(at, _)| at)).collect();
    assert_eq!(panics, ["0", "1", "3", "7", "15"], "{lines:?}");
    assert!(lines.last().unwrap().ends_with("in the drop"), "{lines:?}");
}

#[test]
fn a_function_that_panics_instead_of_making_a_transport_is_called_again() {
    let clock = Clock::simulated();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let informers = Informers::new(world(&clock, move |_| {
        assert_ne!(counted.fetch_add(1, Ordering::Relaxed), 0, "the first time");
        Answers::list(&["a"])
    }));
    let widgets = informers.informer_of::<Raw>(resource());
    with_informers(&informers, widgets.synced().within(Duration::from_secs(600))).unwrap();
    assert_eq!((calls.load(Ordering::Relaxed), widgets.len()), (2, 1));
    assert_eq!(widgets.streams()[0].panics, 1);
}

#[test]
fn a_callback_that_panics_stops_nothing() {
    let clock = Clock::simulated();
    let informers =
        Informers::with_error_handler(world(&clock, |_| Clumsy(Answers::list(&["a"]), 2)), |_, _| panic!("again"));
    let widgets = informers.informer_of::<Raw>(resource());
    with_informers(&informers, widgets.synced().within(SOON)).unwrap();
}

#[test]
fn the_status_of_all_streams_is_in_the_order_of_their_start() {
    let clock = Clock::simulated();
    let informers = Informers::new(world(&clock, |resource| match resource.path() {
        WIDGETS => Answers::list(&["a"]),
        _ => Answers::denied("all"),
    }));
    let _widgets = informers.informer_of::<Raw>(resource());
    let _pods = informers.informer_of::<Raw>(Resource::named("v1/pods").unwrap());
    with_informers(&informers, clock.sleep(Duration::from_secs(1)));
    let status = informers.status();
    let names: Vec<String> = status.iter().map(|stream| stream.name.to_string()).collect();
    assert_eq!(names, ["widgets.example.com in namespace web", "pods"]);
    assert!(matches!(status[0].status, InformerStatus::Synced { .. }), "{status:?}");
    assert!(matches!(status[1].status, InformerStatus::Failing { .. }), "{status:?}");
    assert!(status[1].help().is_some() && status[0].help().is_none());
}
