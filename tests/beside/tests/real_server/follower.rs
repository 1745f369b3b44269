//! An informer over HTTP, and what its events amount to.

use crate::real_server::plane::Plane;
use core::task::{Context, Poll};
use listwatch_core::decode::Raw;
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::ObjectHandle;
use listwatch_core::reflector::FailureReport;
use listwatch_core::{Driver, Event, Informer, InformerConfig, Instant, Resource};
use listwatch_tests::told::{State, Told};
use listwatch_tests::unpark::unpark_this_thread;
use listwatch_transport_http::{Cluster, HttpTransport};
use serde::de::DeserializeOwned;
use std::thread;
use std::time::Duration;

/// How long anything may take before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(300);

/// Follows a resource on the test's own thread.
pub(crate) struct Follower<T: DeserializeOwned = Raw> {
    resource: Resource,
    driver: Driver<T, HttpTransport>,
    began: std::time::Instant,
    told: Told,
    pub(crate) events: u64,
    pub(crate) failures: Vec<FailureReport>,
}

/// As users have it, but for delays that a test would wait for.
pub(crate) fn config(watch_list: bool) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = watch_list;
    config.reflector.backoff.initial = Duration::from_millis(50);
    config.reflector.backoff.max = Duration::from_millis(500);
    config.reflector.backoff.probe = Duration::from_millis(200);
    config.reflector.reconnect_jitter = Duration::ZERO;
    config
}

impl<T: DeserializeOwned> Follower<T> {
    pub(crate) fn start(cluster: &Cluster, resource: Resource, config: InformerConfig) -> Self {
        let mut driver = Driver::new(Informer::new(resource.clone(), config), cluster.transport().unwrap());
        driver.informer_mut().start(Instant::ZERO);
        Self { resource, driver, began: now(), told: Told::default(), events: 0, failures: Vec::new() }
    }

    /// What it is doing.
    pub(crate) fn status(&self) -> InformerStatus {
        self.driver.informer().status(self.time())
    }

    /// Follows on for this long.
    pub(crate) fn follow_for(&mut self, time: Duration) {
        let end = now() + time;
        while now() < end {
            self.step();
        }
    }

    /// Follows on until `done`.
    #[track_caller]
    pub(crate) fn follow_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        let end = now() + PATIENCE;
        while !done(self) {
            assert!(now() < end, "it does not happen: {}; {:?}", self.status(), self.failures.last());
            self.step();
        }
    }

    /// Follows on until the cache has what the server has, whose controllers may still be at work.
    #[track_caller]
    pub(crate) fn catch_up(&mut self, plane: &Plane) {
        let end = now() + PATIENCE;
        loop {
            let (truth, pause) = (plane.list(&self.resource), now() + Duration::from_secs(1));
            while self.told.state != truth && now() < pause {
                self.step();
            }
            if self.told.state == truth {
                return self.told.check(self.driver.informer().cache());
            }
            assert!(now() < end, "the cache is not what the server has: {}", self.status());
        }
    }

    /// What is in the cache, which is what was told.
    pub(crate) fn state(&self) -> &State {
        self.told.check(self.driver.informer().cache());
        &self.told.state
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &ObjectHandle<T>> {
        self.driver.informer().cache().iter()
    }

    /// Takes what there is, or waits a little.
    fn step(&mut self) {
        let waker = unpark_this_thread();
        match self.driver.poll(self.time(), &mut Context::from_waker(&waker)) {
            Poll::Ready(event) => self.note(event),
            Poll::Pending => {
                let due = self.driver.poll_timeout().map(|due| due.saturating_since(self.time()));
                thread::park_timeout(due.unwrap_or(PATIENCE).min(Duration::from_millis(20)));
            }
        }
    }

    fn note(&mut self, event: Event<T>) {
        self.told.note(&event);
        self.events += u64::from(event.object().is_some());
        match event {
            Event::Failed(failed) => self.failures.push(failed),
            Event::Undecodable(undecodable) => panic!("{undecodable}"),
            _ => {}
        }
    }

    fn time(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }
}

#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
