//! Requests that an informer gave up, recorded and replayed.

use crate::recording::{no_file, recorder};
use crate::support::{data, exchange, file, request, response, text};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::{
    Driver, Event, Indexer, Informer, InformerConfig, Instant, ListerWatcher, MetadataOnly, Object, Resource,
};
use listwatch_transport_file::{Pace, Playback, PlaybackConfig};
use std::sync::Arc;

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

fn config(live: bool) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    config.reflector.watch_timeout = live.then_some((Duration::from_secs(60), Duration::from_secs(60)));
    config.reflector.answer_timeout = live.then_some(Duration::from_secs(60));
    config
}

type Followed<L> = Driver<MetadataOnly, L, Indexer<Arc<Object<MetadataOnly>>>>;

fn driver<L: ListerWatcher>(transport: L, config: InformerConfig) -> Followed<L> {
    Driver::new(Informer::new(Resource::new("/api/v1/pods"), config), transport)
}

/// What is told until the playback is over, and how many failures beside.
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
    let version = event.object().map(|object| object.meta.resource_version());
    format!("{:?} {version:?} {}", event.key(), matches!(event, Event::Added { .. }))
}

#[test]
fn what_was_recorded_while_requests_were_given_up_is_told_alike_when_it_is_replayed() {
    let path = no_file("silent.jsonl");
    let original = Playback::from_file(file(text(&silent()))).unwrap();
    let mut live = driver(recorder(&path, original), config(true));
    let told = follow(&mut live, |recorder| recorder.transport().is_complete());
    live.transport_mut().finish().unwrap();
    assert_eq!((told.0.len(), told.1), (4, 3), "synced and three pods, a list and two watches: {told:?}");
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.matches(r#""end":"cut","by":"client""#).count(), 3, "{written}");
    for pace in [Pace::Recorded, Pace::Immediate] {
        let copy = Playback::with_config(&path, PlaybackConfig::new().pace(pace)).unwrap();
        assert_eq!(follow(&mut driver(copy, config(false)), Playback::is_complete), told, "{pace:?}");
    }
}
