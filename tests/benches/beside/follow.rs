//! Our side: follows the pods of a server, as a controller with two workers that have nothing to do.

use crate::process::{Cached, Heap, Line, Took, status};
use core::time::Duration;
use listwatch::controller::{Controller, ControllerHandle};
use listwatch::decode::{FromJson, Lz4, MetadataOnly, Packed, Raw};
use listwatch::http::ClusterOptions;
use listwatch::informer::{EventOf, Subscription, Told};
use listwatch::{
    Executor, InformerConfig, Informers, Key, Outcome, Resource, SharedWorkQueue, Store, Workers, World, kind, run,
};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;

/// Three fields, as a type of the program's own.
#[derive(Deserialize)]
#[expect(dead_code, reason = "they are decoded")]
struct Fields {
    spec: Spec,
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "they are decoded")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "they are decoded")]
struct Status {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

kind!(Fields, "v1", "pods");

/// `MODE URL VERSION... [pages]`: follows the server until the last of the versions, and prints what that took. The memory
/// at the first of two is told besides, and the peak is then the one after it.
///
/// `pages` lists in pages, and not as a stream. A program that counts what it allocates has a `counter`.
pub(crate) fn command(arguments: &[&str], counter: Option<&'static dyn Counter>) {
    match arguments {
        [mode, url, versions @ .., "pages"] => follow(mode, url, versions, true, counter),
        [mode, url, versions @ ..] => follow(mode, url, versions, false, counter),
        _ => panic!("a mode and an address are missing"),
    }
}

fn follow(mode: &str, url: &str, versions: &[&str], pages: bool, counter: Option<&'static dyn Counter>) {
    let followed = Followed { url, versions, pages, counter };
    let line = match mode {
        "meta" => followed.informer::<MetadataOnly>(),
        "fields" => followed.informer::<Fields>(),
        "raw" => followed.informer::<Raw>(),
        "packed" => followed.informer::<Packed<Lz4>>(),
        "pod" => followed.informer::<k8s_openapi::api::core::v1::Pod>(),
        "controller" => followed.controller(),
        _ => panic!("no mode {mode}"),
    };
    println!("{}", serde_json::to_string(&line).unwrap());
}

/// Counts the allocated bytes.
pub(crate) trait Counter {
    /// Those of now.
    fn live(&self) -> usize;

    /// The most since the last call of [`restart`](Self::restart).
    fn peak(&self) -> usize;

    fn restart(&self);
}

struct Followed<'a> {
    url: &'a str,
    versions: &'a [&'a str],
    pages: bool,
    counter: Option<&'static dyn Counter>,
}

impl Followed<'_> {
    fn world(&self) -> World {
        let text = format!(
            "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: me}}}}]\nclusters: [{{name: it, \
             cluster: {{server: '{}', insecure-skip-tls-verify: {}}}}}]\nusers: [{{name: me, user: {{}}}}]\n",
            self.url,
            self.url.starts_with("https"),
        );
        ClusterOptions::new().kubeconfig_text(&text).unwrap().into()
    }

    fn informer<T: FromJson + Send + Sync + 'static>(&self) -> Line {
        let (world, start) = (self.world(), Start::now(self.counter));
        let mut config = InformerConfig::default();
        config.reflector.watch_list = !self.pages;
        let informers = Informers::new(world);
        let (clock, executor) = (informers.clock().clone(), Executor::new());
        executor.spawn(informers.run()).detach();
        let pods = informers.informer_with::<T>(Resource::new("/api/v1/pods"), [""; 0], config);
        let queue = Arc::new(SharedWorkQueue::<Key>::default());
        let store = pods.store().clone();
        let workers = Workers::spawn(&executor, &queue, &clock, 2, move |key: Key| {
            core::hint::black_box(store.get(&key));
            async { Outcome::Done }
        });
        let (mut changes, mut versions, mut steady) =
            (pods.subscribe(Subscription::new()), self.versions, Steady::default());
        run(&clock, &executor, async {
            // Coalesced changes of other objects may wait behind the last one.
            while !versions.is_empty() || changes.backlog() > 0 {
                let Some(Told::Event(event)) = changes.next().await else { continue };
                if let EventOf::Failed(report) = &event {
                    assert!(self.versions.len() > 1, "{report}");
                }
                let Some(object) = event.object() else { continue };
                queue.add(object.key().clone());
                if let [next, rest @ ..] = versions
                    && object.meta().resource_version() == *next
                {
                    versions = rest;
                    if !rest.is_empty() {
                        steady = start.mark();
                    }
                }
            }
            queue.shut_down();
            workers.join().await
        });
        Line { took: start.took(steady), cached: Cached::of(&pods) }
    }

    fn controller(&self) -> Line {
        let (world, handle) = (self.world(), ControllerHandle::default());
        let start = Start::now(self.counter);
        let controller = Controller::new("pods", world);
        let pods = controller.informer::<Fields>();
        let (last, stop) = (self.versions[0], handle.clone());
        let reconcile = async |_cx, key| {
            if pods.get(&key).is_some_and(|pod| pod.meta().resource_version() == last) {
                stop.stop();
            }
            Ok(Outcome::Done)
        };
        controller.reconciles(&pods).workers(2).keys(&handle).run(reconcile).unwrap();
        Line { took: start.took(Steady::default()), cached: Cached::of(&pods) }
    }
}

impl Cached {
    fn of<T>(pods: &Store<T>) -> Self {
        let pods = pods.list();
        Self::sum(pods.iter().map(|pod| format!("{}@{}", pod.key(), pod.meta().resource_version())))
    }
}

/// Before the work.
struct Start {
    at: Instant,
    rss: u64,
    counter: Option<&'static dyn Counter>,
}

/// The memory that stays, where it is measured before the end.
#[derive(Default)]
struct Steady {
    resident: Option<u64>,
    live: Option<u64>,
}

impl Start {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn now(counter: Option<&'static dyn Counter>) -> Self {
        Self { at: Instant::now(), rss: status("VmRSS:"), counter }
    }

    /// The memory of this moment. The peaks count from it on.
    fn mark(&self) -> Steady {
        let steady = Steady { resident: Some(status("VmRSS:")), live: self.live() };
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        if let Some(counter) = self.counter {
            counter.restart();
        }
        steady
    }

    fn live(&self) -> Option<u64> {
        self.counter.map(|counter| counter.live() as u64)
    }

    fn took(self, steady: Steady) -> Took {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let heap = |counter: &dyn Counter| {
            let live = counter.live() as u64;
            Heap { live, peak: counter.peak() as u64, steady: steady.live.unwrap_or(live) }
        };
        Took {
            cpu: Duration::new(cpu.tv_sec.try_into().unwrap(), cpu.tv_nsec.try_into().unwrap()).as_secs_f64(),
            wall: self.at.elapsed().as_secs_f64(),
            before: self.rss,
            rss: status("VmRSS:"),
            peak: status("VmHWM:"),
            live: None,
            steady: steady.resident,
            heap: self.counter.map(heap),
        }
    }
}
