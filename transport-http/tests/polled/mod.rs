//! The suite of `http`, over transports whose watches the task reads, and what holds for those alone.
#![expect(dead_code, reason = "the suite's helpers serve modules that send no watches too")]

#[path = "../http/bad_answers.rs"]
mod bad_answers;
#[path = "../http/certificates.rs"]
mod certificates;
#[path = "../http/configuration.rs"]
mod configuration;
#[path = "../http/credentials.rs"]
mod credentials;
#[path = "../http/exchanges.rs"]
mod exchanges;
#[cfg(target_os = "linux")]
#[path = "../http/keep_alive.rs"]
mod keep_alive;
#[path = "../http/load.rs"]
mod load;
#[path = "../http/proxies.rs"]
mod proxies;
/// The reactor of the runtime. Its source is included, because the runtime depends on this crate.
#[expect(unreachable_pub, reason = "it is public in the runtime")]
#[path = "../../../runtime-smol/src/reactor.rs"]
mod reactor;
#[path = "../http/support.rs"]
mod support;
mod tasks;
#[path = "../http/tls.rs"]
mod tls;

use listwatch_transport_http::HttpTransport;
use std::sync::Arc;

/// The threads of a watch.
const THREADS: usize = 0;

/// Chooses how watches are read.
fn read(transport: HttpTransport) -> HttpTransport {
    transport.with_reactor(Arc::new(reactor::AsyncIo))
}
