//! An agent on a node, with kube-rs: it follows the pods of its node, keeps three fields of each, and prints every
//! change, as `runtime-smol/examples/edge-agent.rs` does. `agent NODE`; `tests/benches/agent` runs it.

use futures::{TryStreamExt, pin_mut};
use kube::api::ApiResource;
use kube::core::Object;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use serde::{Deserialize, Serialize};
use std::error::Error;

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Spec {
    #[serde(default, rename = "hostNetwork")]
    host_network: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Status {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

type Pod = Object<Spec, Status>;

// One thread is enough for one watch.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = std::env::args().nth(1).ok_or("name the node")?;
    let client = Client::try_default().await?;
    let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
    let pods = Api::<Pod>::all_with(client, &resource);
    let config = watcher::Config::default().fields(&format!("spec.nodeName={node}"));
    let events = watcher(pods, config)
        .default_backoff()
        .modify(|pod| {
            pod.managed_fields_mut().clear();
            pod.annotations_mut().clear();
        })
        .reflect(Writer::new(resource));
    pin_mut!(events);
    loop {
        match events.try_next().await {
            Ok(Some(event)) => show(&event),
            Ok(None) => return Ok(()),
            // The watcher retries.
            Err(error) => println!("{error}"),
        }
    }
}

fn show(event: &Event<Pod>) {
    match event {
        Event::InitApply(pod) => println!("+ {}", line(pod)),
        Event::Apply(pod) => println!("~ {}", line(pod)),
        Event::Delete(pod) => println!("- {}", key(pod)),
        Event::Init => {}
        Event::InitDone => println!("synced"),
    }
}

fn line(pod: &Pod) -> String {
    let network = if pod.spec.host_network { "the node's network" } else { "a network of its own" };
    let status = pod.status.as_ref();
    let (phase, ip) = (status.map(|status| &*status.phase), status.and_then(|status| status.pod_ip.as_deref()));
    format!("{} {} at {} in {network}", key(pod), phase.unwrap_or("Unknown"), ip.unwrap_or("no address"))
}

fn key(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any())
}
