use listwatch::prelude::*;
use listwatch::{election::Election, endpoint::Endpoint, metrics::Metrics};
use std::{net::Ipv4Addr, time::Duration};

#[derive(Clone, serde::Deserialize, serde::Serialize)]
struct ConfigMap {}

kind!(ConfigMap, "v1", "configmaps");

fn operated(world: impl Into<World>, metrics: &Metrics) -> Result<(), RunError> {
    let controller = Controller::new("printer", world);
    let maps = controller.informer::<ConfigMap>();
    let elected = controller.reconciles(&maps).lead_by(Election::new("printer"));
    let running = elected.audit_every(Duration::from_secs(3600)).calls(async move |_cx, key| {
        println!("{key}: {}", if maps.get(&key).is_some() { "there" } else { "gone" });
        Ok(Outcome::Done)
    });
    metrics.add(&running);
    running.run()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = Metrics::new();
    // All addresses of the pod, as the probes of a kubelet need it. The drop ends it.
    let _endpoint = Endpoint::builder(&metrics).address(Ipv4Addr::UNSPECIFIED).start(8080)?;
    Ok(operated(Cluster::infer()?, &metrics)?)
}
