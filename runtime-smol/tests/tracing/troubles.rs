//! Subscribers that panic or block, and none.

use crate::stage::Stage;
use core::fmt;
use core::time::Duration;
use listwatch::controller::{Error, Outcome};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Panics in one of its functions.
struct Panics(&'static str);

impl Panics {
    fn at(&self, function: &str) {
        assert_ne!(self.0, function, "a subscriber panics");
    }
}

impl Subscriber for Panics {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        self.at("enabled");
        true
    }

    /// A panic here would be one under the lock of the crate `tracing`.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.at("new_span");
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.at("event");
    }

    fn enter(&self, _: &Id) {
        self.at("enter");
    }

    fn exit(&self, _: &Id) {
        self.at("exit");
    }

    fn try_close(&self, _: Id) -> bool {
        self.at("try_close");
        true
    }
}

#[test]
fn a_controller_goes_on_whatever_its_subscriber_does() {
    for function in ["enabled", "new_span", "event", "enter", "exit", "try_close"] {
        let (stage, log) = (Stage::new(&["a", "b", "panics"]), Arc::new(Mutex::new(Vec::new())));
        let (controller, _maps) = stage.controller();
        let noted = Arc::clone(&log);
        let controller = controller.park_after(2).on_report(|_, _| {}).calls(async move |cx, key| {
            noted.lock().unwrap().push(key.name().to_owned());
            cx.clock().sleep(Duration::from_millis(1)).await;
            assert_ne!(key.name(), "panics", "a reconcile panics");
            Ok(Outcome::Done)
        });
        let ended = tracing::subscriber::with_default(Panics(function), || controller.run());
        assert_eq!(ended, Ok(()), "{function}");
        assert_eq!(*log.lock().unwrap(), ["a", "b", "panics", "panics"], "{function}");
    }
}

/// Counts how often its text is written.
#[derive(Clone, Debug, Default)]
struct Counted(Arc<AtomicUsize>);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fetch_add(1, Ordering::Relaxed);
        f.write_str("no")
    }
}

impl std::error::Error for Counted {}

#[test]
fn without_a_subscriber_nothing_is_written() {
    let (stage, error) = (Stage::new(&["a"]), Counted::default());
    let (controller, _maps) = stage.controller();
    let fails = error.clone();
    let controller = controller.park_after(3).on_report(|_, _| {});
    controller.run(async move |_cx, _key| Err(Error::new(fails.clone()))).unwrap();
    assert_eq!(error.0.load(Ordering::Relaxed), 0);
}

#[test]
fn workers_on_threads_tell_a_global_subscriber_alone() {
    let (stage, collector) = (Stage::new(&["a"]), crate::collector::Collector::default());
    let (controller, _maps) = stage.controller();
    let outside = collector.clone();
    let controller = controller.calls(async move |_cx, _key| {
        // The subscriber of one thread is not that of others.
        let other = std::thread::spawn(|| tracing::info!(target: "program", "elsewhere"));
        other.join().unwrap();
        tracing::info!(target: "program", "here");
        Ok(Outcome::Done)
    });
    collector.around(|| controller.run()).unwrap();
    assert_eq!(outside.events("program").len(), 1);
}
