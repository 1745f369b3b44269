//! The process: without an argument it runs the operator, and `crd` prints the definition of the kind.

use listwatch::endpoint::Endpoint;
use listwatch::http::Cluster;
use listwatch::metrics::Metrics;
use std::error::Error;
use std::net::SocketAddr;

use widget_operator::{controller, definition};

/// Metrics and probes, unless `ENDPOINT` names another address, as in `deploy/operator.yaml`.
const ENDPOINT: &str = "127.0.0.1:8080";

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        None => operate(),
        Some("crd") => {
            print!("{}", definition::crd());
            Ok(())
        }
        Some(other) => Err(format!("{other:?} is no command; there is `crd`").into()),
    }
}

/// Runs on the cluster of `$KUBECONFIG`, `~/.kube/config` or the pod, until SIGTERM or Ctrl-C.
fn operate() -> Result<(), Box<dyn Error>> {
    let address = std::env::var("ENDPOINT").unwrap_or_else(|_| ENDPOINT.to_owned());
    let address: SocketAddr = address.parse()?;
    let metrics = Metrics::new();
    // The drop stops it.
    let _endpoint = Endpoint::builder(&metrics)
        .address(address.ip())
        .start(address.port())?;
    Ok(controller::run(Cluster::infer()?, &metrics)?)
}
