//! Requests that an informer gave up, recorded and replayed.

use crate::playback::recording::{no_file, recorder};
use crate::playback::support::{data, end, exchange, file, request, response, text};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::decode::MetadataOnly;
use listwatch_core::object::ObjectHandle;
use listwatch_core::{Driver, Event, Indexer, Informer, InformerConfig, Instant, ListerWatcher, Resource};
use listwatch_transport_file::{Pace, Playback, PlaybackConfig};

const LIST: &str =
    r#"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"#;
const HOUR: u64 = 3_600_000;

fn added(t: u64, id: u64, version: u64) -> String {
    let object = format!(r#"{{\"metadata\":{{\"name\":\"pod-{version}\",\"resourceVersion\":\"{version}\"}}}}"#);
    data(t, id, &format!(r#"{{\"type\":\"ADDED\",\"object\":{object}}}\n"#))
}

/// A server that falls silent in a list and in each of two watches.
fn silent() -> Vec<String> {
    let watch = "/api/v1/pods?watch=1";
    let mut lines = vec![request(0, 1, "/api/v1/pods"), response(1, 1), data(HOUR, 1, "never")];
    lines.extend(exchange(HOUR, 2, "/api/v1/pods", LIST));
    for id in [3, 4] {
        lines.extend([request(HOUR, id, watch), response(HOUR + 1, id), added(HOUR + 2, id, 10 * id)]);
        lines.push(added(3 * HOUR, id, 10 * id + 1));
    }
    lines.extend([request(3 * HOUR, 5, watch), response(3 * HOUR, 5), added(3 * HOUR, 5, 50)]);
    lines
}

fn config(watch_list: bool, live: bool) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = watch_list;
    config.reflector.watch_timeout = live.then_some((Duration::from_secs(60), Duration::from_secs(60)));
    config.reflector.answer_timeout = live.then_some(Duration::from_secs(60));
    config
}

type Followed<L> = Driver<MetadataOnly, L, Indexer<ObjectHandle<MetadataOnly>>>;

fn driver<L: ListerWatcher>(transport: L, config: InformerConfig) -> Followed<L> {
    Driver::new(Informer::new(Resource::new("/api/v1/pods"), config), transport)
}

/// The events until the playback is over, and the number of failures.
fn follow<L: ListerWatcher>(driver: &mut Followed<L>, is_over: fn(&L) -> bool) -> (Vec<String>, u32) {
    let (mut now, mut told, mut failed) = (Instant::ZERO, Vec::new(), 0);
    driver.informer_mut().start(now);
    loop {
        match driver.poll(now, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Event::Failed(_)) => failed += 1,
            Poll::Ready(event) => told.push(line(&event)),
            Poll::Pending if is_over(driver.transport()) => return (told, failed),
            Poll::Pending => now = driver.poll_timeout().unwrap(),
        }
    }
}

fn line(event: &Event<MetadataOnly>) -> String {
    let version = event.object().map(|object| object.meta().resource_version());
    format!("{:?} {version:?} {}", event.key(), matches!(event, Event::Added { .. }))
}

#[test]
fn what_was_recorded_while_requests_were_given_up_is_told_alike_when_it_is_replayed() {
    let path = no_file("silent.jsonl");
    let original = Playback::from_file(file(text(&silent()))).unwrap();
    let mut live = driver(recorder(&path, original), config(false, true));
    let told = follow(&mut live, |recorder| recorder.transport().is_complete());
    live.transport_mut().finish().unwrap();
    assert_eq!((told.0.len(), told.1), (4, 3), "synced and three pods, a list and two watches: {told:?}");
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.matches(r#""end":"cut","by":"client""#).count(), 3, "{written}");
    for pace in [Pace::Recorded, Pace::Immediate] {
        let copy = Playback::with_config(&path, PlaybackConfig::new().pace(pace)).unwrap();
        assert_eq!(follow(&mut driver(copy, config(false, false)), Playback::is_complete), told, "{pace:?}");
    }
}

/// A server that does not stream the initial events, though it seems to, and whose history is compacted later.
fn silent_at_first() -> Vec<String> {
    let (list, watch) = ("/api/v1/pods", "/api/v1/pods?watch=1");
    let mut lines = Vec::new();
    for id in [1, 2] {
        lines.extend([request(0, id, "/api/v1/pods?watch=1&sendInitialEvents=true"), response(1, id)]);
        lines.push(data(HOUR, id, "never"));
    }
    let expired = r#"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}}\n"#;
    lines.extend(exchange(HOUR, 3, list, LIST));
    lines.extend([request(HOUR, 4, watch), response(HOUR, 4), added(HOUR, 4, 10), data(HOUR, 4, expired)]);
    lines.push(end(HOUR, 4, "eof"));
    lines.extend(exchange(HOUR, 5, list, &LIST.replace('5', "20")));
    lines.extend([request(HOUR, 6, watch), response(HOUR, 6), added(HOUR, 6, 50)]);
    lines
}

/// The client turns to lists for good, which the playback of a failure alone would not bring about.
#[test]
fn a_vain_wait_for_a_watch_list_is_replayed_to_the_end() {
    let path = no_file("silent-at-first.jsonl");
    let original = Playback::from_file(file(text(&silent_at_first()))).unwrap();
    let mut live = driver(recorder(&path, original), config(true, true));
    let (told, _) = follow(&mut live, |recorder| recorder.transport().is_complete());
    live.transport_mut().finish().unwrap();
    assert!(told.last().unwrap().contains("pod-50"), "{told:?}");
    let mut copy = driver(Playback::from_file(&path).unwrap(), config(true, false));
    assert_eq!(follow(&mut copy, Playback::is_complete).0, told);
}
