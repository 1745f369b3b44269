//! One capture through the whole machine: playback, framer, decoder, reflector, queue, cache, events, work queue,
//! worker.

use crate::captures::expected::{ByKey, Notification};
use core::task::{Context, Waker};
use core::time::Duration;
use listwatch_core::decode::FromJson;
use listwatch_core::fifo::Order;
use listwatch_core::informer::Pumped;
use listwatch_core::object::ObjectHandle;
use listwatch_core::{Driver, Event, Indexer, Informer, InformerConfig, Instant, Key, ListerWatcher, WorkQueue};
use listwatch_transport_file::{Chunks, Pace, Playback, PlaybackConfig};
use std::collections::BTreeMap;
use std::path::Path;

/// When the consumer takes events out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Drain {
    EveryEvent,
    EveryHundred,
    WhenTheStreamWaits,
}

/// How fast time goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Speed {
    /// Virtual time: from one deadline exactly to the next.
    One,
    /// Virtual time with a timer as coarse as a real one of 10 ms is at ten times the speed: every deadline is late.
    Ten,
    /// Answers come at once; time passes for back-offs only.
    Max,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) chunks: Chunks,
    pub(crate) drain: Drain,
    pub(crate) speed: Speed,
    pub(crate) order: Order,
}

/// What came out.
pub(crate) struct Played<T> {
    pub(crate) notifications: ByKey,
    pub(crate) store: Vec<String>,
    pub(crate) objects: Vec<ObjectHandle<T>>,
}

/// A transport that brings the answers of a playback.
pub(crate) trait Plays: ListerWatcher {
    fn playback(&self) -> &Playback;
}

impl Plays for Playback {
    fn playback(&self) -> &Playback {
        self
    }
}

pub(crate) fn play<T: FromJson>(path: &Path, case: Case) -> Played<T> {
    play_through(path, case, |playback| playback)
}

/// The same through another transport.
pub(crate) fn play_through<T: FromJson, L: Plays>(path: &Path, case: Case, make: impl Fn(Playback) -> L) -> Played<T> {
    let mut player = Player::<T, L>::new(path, case, make);
    player.run();
    player.finish()
}

struct Player<T: FromJson, L> {
    driver: Driver<T, L, Indexer<ObjectHandle<T>>>,
    case: Case,
    now: Instant,
    notifications: ByKey,
    events: u64,
    synced: u32,
    queue: WorkQueue<Key>,
    /// What a worker saw of each key when it last had it.
    worked: BTreeMap<Key, Option<String>>,
}

impl<T: FromJson, L: Plays> Player<T, L> {
    fn new(path: &Path, case: Case, make: impl Fn(Playback) -> L) -> Self {
        let pace = if matches!(case.speed, Speed::Max) { Pace::Immediate } else { Pace::Recorded };
        let config = PlaybackConfig::new().pace(pace).chunks(case.chunks);
        let playback = Playback::with_config(path, config).unwrap();
        let mut config = InformerConfig::default();
        config.reflector.watch_timeout = None;
        config.reflector.answer_timeout = None;
        config.order = case.order;
        let mut informer = Informer::new(playback.resource().unwrap().clone(), config);
        informer.start(Instant::ZERO);
        Self {
            driver: Driver::new(informer, make(playback)),
            case,
            now: Instant::ZERO,
            notifications: ByKey::new(),
            events: 0,
            synced: 0,
            queue: WorkQueue::default(),
            worked: BTreeMap::new(),
        }
    }

    fn run(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match self.driver.pump(self.now, &mut cx) {
                Pumped::Progress if self.drains() => self.drain(),
                Pumped::Progress => {}
                Pumped::Backpressure => self.drain(),
                Pumped::Waiting => {
                    self.drain();
                    self.work();
                    if self.driver.transport().playback().is_complete() {
                        return;
                    }
                    self.wait();
                }
            }
        }
    }

    fn drains(&self) -> bool {
        match self.case.drain {
            Drain::EveryEvent => true,
            Drain::EveryHundred => self.driver.informer().queued() >= 100,
            Drain::WhenTheStreamWaits => false,
        }
    }

    fn wait(&mut self) {
        let deadline = self.driver.poll_timeout().expect("the playback goes on, so somebody waits for a time");
        assert!(deadline > self.now, "a deadline that was handled lies behind: {deadline:?} at {:?}", self.now);
        self.now = match self.case.speed {
            Speed::One | Speed::Max => deadline,
            Speed::Ten => {
                let tick = Duration::from_millis(100).as_nanos() as u64;
                Instant::from_nanos(deadline.as_nanos().div_ceil(tick) * tick + tick)
            }
        };
    }

    fn drain(&mut self) {
        while let Some(event) = self.driver.informer_mut().poll_event() {
            if let Event::Synced = event {
                self.synced += 1;
            }
            assert!(!matches!(event, Event::Undecodable(_)), "{event_key:?}", event_key = event.key());
            self.note(&event);
        }
    }

    fn note(&mut self, event: &Event<T>) {
        let Some(notification) = notification(event) else { return };
        let key = event.key().unwrap().clone();
        self.check_cache(event, &key);
        self.events += 1;
        self.notifications.entry(notification.key.clone()).or_default().push(notification);
        self.queue.add(key);
    }

    /// The cache is as new as the event.
    fn check_cache(&self, event: &Event<T>, key: &Key) {
        let cached = self.driver.informer().cache().get(key);
        let told = event.object().filter(|_| !matches!(event, Event::Deleted { .. }));
        assert_eq!(cached.map(|o| o.meta().resource_version()), told.map(|o| o.meta().resource_version()), "{key}");
    }

    /// What the workers do: each key that is ready, once, with the newest object.
    fn work(&mut self) {
        while let Some(job) = self.queue.poll_job() {
            let key = self.queue.key(&job).clone();
            let newest = self.driver.informer().cache().get(&key);
            self.worked.insert(key, newest.map(|object| object.meta().resource_version().to_owned()));
            self.queue.done(job);
        }
    }

    fn finish(self) -> Played<T> {
        let stats = self.queue.stats();
        assert_eq!((stats.adds + stats.merged, self.synced), (self.events, 1));
        let cache = self.driver.informer().cache();
        let mut store: Vec<String> = cache.iter().map(entry).collect();
        store.sort();
        let seen = self.worked.iter().filter_map(|(key, seen)| Some(format!("{key} {}", seen.as_ref()?)));
        assert_eq!(seen.collect::<Vec<_>>(), store, "a worker saw the last state of every key");
        Played { notifications: self.notifications, store, objects: cache.iter().cloned().collect() }
    }
}

fn entry<T>(object: &ObjectHandle<T>) -> String {
    format!("{} {}", object.key(), object.meta().resource_version())
}

/// An event as client-go would have told it: it knows no recreation.
fn notification<T>(event: &Event<T>) -> Option<Notification> {
    let object = event.object()?;
    let mut notification = Notification {
        event: "update".into(),
        key: object.key().to_string(),
        rv: object.meta().resource_version().into(),
        old_rv: None,
        initial: None,
        final_state_unknown: None,
    };
    match event {
        Event::Added { initial, .. } => {
            notification.event = "add".into();
            notification.initial = Some(*initial);
        }
        Event::Deleted { final_state_known, .. } => {
            notification.event = "delete".into();
            notification.final_state_unknown = Some(!final_state_known);
        }
        Event::Updated { old, .. } | Event::Recreated { old, .. } => {
            notification.old_rv = Some(old.meta().resource_version().into());
        }
        _ => return None,
    }
    Some(notification)
}
