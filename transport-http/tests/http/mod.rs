//! The transport and the configuration of clusters, against servers on the loopback interface.

mod bad_answers;
mod certificates;
mod client;
mod configuration;
mod credentials;
mod exchanges;
mod gates;
#[cfg(target_os = "linux")]
mod keep_alive;
mod load;
mod plugins;
mod proxies;
mod support;
#[cfg(target_os = "linux")]
mod threads;
mod tls;

use listwatch_transport_http::HttpTransport;

/// The threads of a watch.
const THREADS: usize = 1;

/// Chooses how watches are read.
fn read(transport: HttpTransport) -> HttpTransport {
    transport
}
