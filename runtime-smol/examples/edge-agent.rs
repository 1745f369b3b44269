//! An agent on a node: it follows the pods of its node, keeps three fields of each, and prints every change.
//!
//! The server selects the pods, and of each only these fields and the metadata are decoded. There is no queue and no
//! worker. There are two threads, the program's and that of async-io, and a third one while it connects. As a DaemonSet, the agent gets `NODE_NAME` from the field
//! `spec.nodeName` of its pod. It ends at SIGTERM or Ctrl-C:
//!
//! ```sh
//! cargo run -p listwatch --example edge-agent -- NODE
//! ```
//!
//! With a path in `STATE_FILE`, the agent saves what it knows to that file. If it starts while its server is out of reach,
//! it begins with that.
//!
//! With 100 pods over TLS, it takes 4.4 MB of memory and a binary of 2.4 MB, if its release is built for size:
//!
//! ```toml
//! [profile.release]
//! opt-level = "s"
//! lto = "fat"
//! codegen-units = 1
//! panic = "abort"
//! strip = true
//! ```

use listwatch::controller::Termination;
use listwatch::http::Cluster;
use listwatch::reactor::AsyncIo;
use listwatch::saved::SaveTo;
use listwatch::transport::ListerWatcher;
use listwatch::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Resource, kind, run};
use std::env;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

// What is saved is read again, so a type does both.
#[derive(serde::Deserialize, serde::Serialize)]
pub(crate) struct Pod {
    spec: Spec,
    status: Status,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Spec {
    #[serde(default, rename = "hostNetwork")]
    host_network: bool,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Status {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

kind!(Pod, "v1", "pods");

impl fmt::Display for Pod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = if self.spec.host_network { "the node's network" } else { "a network of its own" };
        write!(f, "{} at {} in {network}", self.status.phase, self.status.pod_ip.as_deref().unwrap_or("no address"))
    }
}

/// One line for each event.
pub(crate) fn describe(event: &Event<Pod>) -> String {
    match event {
        Event::Added { object, .. } => format!("+ {} {}", object.key(), **object),
        Event::Updated { new, .. } | Event::Recreated { new, .. } => format!("~ {} {}", new.key(), **new),
        Event::Deleted { object, .. } => format!("- {}", object.key()),
        Event::Synced => "synced".into(),
        Event::Failed(report) => report.to_string(), // the informer retries
        Event::Undecodable(error) => error.to_string(),
        event => format!("{event:?}"),
    }
}

/// Shows each change of the pods of `node`, until `end`.
pub(crate) fn follow(
    node: &str,
    cluster: impl ListerWatcher,
    save: Option<SaveTo>,
    clock: &Clock,
    mut show: impl FnMut(&Event<Pod>),
    end: impl Future<Output = ()>,
) {
    let pods = Resource::of::<Pod>().with_field_selector(&format!("spec.nodeName={node}"));
    let informer = Informer::<Pod>::new(pods, InformerConfig::default());
    let driver = Driver::new(informer, cluster);
    let mut events = match save {
        Some(save) => Events::start_saved(driver, clock.clone(), save),
        None => Events::start(driver, clock.clone()),
    };
    let changes = async {
        while let Some(event) = events.next().await {
            show(&event);
        }
    };
    run(clock, &Executor::new(), smol::future::or(end, changes));
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let node = env::var("NODE_NAME").ok().or_else(|| env::args().nth(1));
    let node = node.ok_or("name the node in NODE_NAME, or as the argument")?;
    let show = |event: &Event<Pod>| println!("{}", describe(event));
    let (cluster, clock) = (Cluster::infer()?, Clock::real());
    let save = env::var_os("STATE_FILE").map(|path| SaveTo::new(path).of(&cluster, &clock));
    // The task reads the watch by itself, instead of a thread.
    let transport = cluster.transport()?.with_reactor(Arc::new(AsyncIo));
    follow(&node, transport, save, &clock, show, Termination::new()?);
    Ok(())
}
