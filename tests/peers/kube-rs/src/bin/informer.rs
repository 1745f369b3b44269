//! Follows the pods of a server without credentials with kube-rs: `informer pod|meta|controller URL VERSION`.
//! `tests/benches/peers` runs it. It ends once it has seen the object of that version, and prints a line of JSON about
//! what its cache has and what that took.
//!
//! `pod` and `meta` are a reflector alone; `controller` reconciles each pod besides, by a function that does nothing.

use futures::{StreamExt, TryStreamExt, pin_mut};
use kube::api::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

type Pod = k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, url, last] = &arguments[..] else {
        return Err("usage: informer pod|meta|controller URL VERSION".into());
    };
    let mut config = Config::new(url.parse()?);
    config.accept_invalid_certs = true;
    let client = Client::try_from(config)?;
    let run = Run { begun: Instant::now(), rss: status("VmRSS:")? };
    match &**mode {
        "pod" => run.end(&reflect::<Pod>(client, last).await?),
        "meta" => run.end(&reflect::<PartialObjectMeta<Pod>>(client, last).await?),
        "controller" => run.end(&control(client, last).await),
        other => Err(format!("no mode {other}").into()),
    }
}

/// Its store holds the last state, and nothing writes to it any more.
async fn reflect<T>(client: Client, last: &str) -> Result<Store<T>, watcher::Error>
where
    T: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let (store, writer) = reflector::store();
    let events = watcher(Api::<T>::all(client), watcher::Config::default()).reflect(writer);
    pin_mut!(events);
    // The objects of a list are in the store once the list is complete.
    let (mut is_listed, mut is_seen) = (false, false);
    while let Some(event) = events.try_next().await? {
        match event {
            Event::InitDone => is_listed = true,
            Event::InitApply(object) | Event::Apply(object) => {
                is_seen |= object.resource_version().as_deref() == Some(last);
            }
            Event::Init | Event::Delete(_) => {}
        }
        if is_listed && is_seen {
            break;
        }
    }
    Ok(store)
}

async fn control(client: Client, last: &str) -> Store<Pod> {
    let (is_over, last) = (Arc::new(Notify::new()), last.to_owned());
    let controller = Controller::new(Api::<Pod>::all(client), watcher::Config::default());
    let store = controller.store();
    let reconcile = move |pod: Arc<Pod>, is_over: Arc<Notify>| {
        if pod.resource_version() == Some(last.clone()) {
            is_over.notify_one();
        }
        async { Ok::<_, Infallible>(Action::await_change()) }
    };
    let reconciled = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::clone(&is_over));
    tokio::select! {
        () = reconciled.for_each(|_| async {}) => {}
        () = is_over.notified() => {}
    }
    store
}

struct Run {
    begun: Instant,
    /// The memory before it.
    rss: u64,
}

impl Run {
    /// Prints what the run took, and what the cache has: the digest is the sum of the objects' hashes.
    fn end<T>(self, store: &Store<T>) -> Result<(), Box<dyn Error>>
    where
        T: Resource<DynamicType = ()> + Clone + 'static,
    {
        let (wall, cpu) = (self.begun.elapsed().as_secs_f64(), clock_gettime(ClockId::ProcessCPUTime));
        let (rss, peak) = (status("VmRSS:")?, status("VmHWM:")?);
        let digest = store.state().into_iter().map(|object| {
            let (namespace, version) = (object.namespace().unwrap_or_default(), object.resource_version());
            hash(&format!("{namespace}/{}@{}", object.name_any(), version.unwrap_or_default()))
        });
        let line = json!({
            "cpu": cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            "wall": wall,
            "before": self.rss,
            "rss": rss,
            "peak": peak,
            "objects": store.len(),
            "digest": format!("{:016x}", digest.fold(0, u64::wrapping_add)),
        });
        println!("{line}");
        Ok(())
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A field of this process's status, which is in kilobytes, in bytes.
fn status(field: &str) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).ok_or(field)?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
