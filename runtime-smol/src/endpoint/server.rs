use super::probes::Checks;
use super::site::OpsSite;
use crate::metrics::Metrics;
use crate::served::{Limits, Plain, serve};
use async_executor::Executor;
use core::time::Duration;
use smol::Async;
use smol::channel::{Receiver, Sender, bounded};
use smol::future::or;
use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

/// An endpoint that is not started. [`Endpoint::builder`] makes one.
#[must_use = "nothing is served before `start`"]
pub struct EndpointBuilder {
    metrics: Metrics,
    address: IpAddr,
    health: Checks,
    readiness: Checks,
}

impl Endpoint {
    /// An endpoint of the controllers and informers that are measured, also of those that are added later.
    pub fn builder(metrics: &Metrics) -> EndpointBuilder {
        let address = Ipv4Addr::LOCALHOST.into();
        EndpointBuilder { metrics: metrics.clone(), address, health: Checks::default(), readiness: Checks::default() }
    }
}

impl EndpointBuilder {
    /// The address to listen on; without it 127.0.0.1. The probes of a kubelet need that of the pod, or 0.0.0.0. Then
    /// every client that reaches the pod can read all answers.
    pub fn address(mut self, address: impl Into<IpAddr>) -> Self {
        self.address = address.into();
        self
    }

    /// Another condition of `/healthz` (`AddHealthzCheck` of controller-runtime): while it fails, a kubelet restarts the
    /// container. As a [ready check](Self::ready_check) otherwise.
    #[doc(alias("AddHealthzCheck", "livenessProbe"))]
    pub fn health_check(
        mut self,
        name: &str,
        check: impl Fn() -> Result<(), Box<dyn Error>> + Send + Sync + 'static,
    ) -> Self {
        self.health.add(name, Arc::new(check));
        self
    }

    /// Another condition of `/readyz` (`AddReadyzCheck` of controller-runtime).
    ///
    /// The answer shows the first 1,000 characters of its error. It may block: an answer waits for ten seconds, and other
    /// requests wait with it, or get a result of the last second. A panic is an error without its message.
    #[doc(alias("AddReadyzCheck", "readinessProbe"))]
    pub fn ready_check(
        mut self,
        name: &str,
        check: impl Fn() -> Result<(), Box<dyn Error>> + Send + Sync + 'static,
    ) -> Self {
        self.readiness.add(name, Arc::new(check));
        self
    }

    /// Listens, and serves on a thread of its own until the [`Endpoint`] is dropped. With port 0, the system chooses one.
    ///
    /// # Errors
    /// The address is taken or not this machine's, or there can be no further thread. The error names the address.
    pub fn start(self, port: u16) -> io::Result<Endpoint> {
        let address = SocketAddr::new(self.address, port);
        let site = OpsSite::new(self.metrics, self.health, self.readiness, address.ip());
        let named = |error: io::Error| io::Error::new(error.kind(), format!("endpoint {address}: {error}"));
        Endpoint::start(address, site).map_err(named)
    }
}

listwatch_core::summary!("EndpointBuilder" for EndpointBuilder, |it| { address: it.address });

const LIMITS: Limits = Limits {
    connections: 64,
    head: 16 * 1024,
    first_head: Duration::from_secs(5),
    // Longer than the usual interval between two scrapes.
    idle: Duration::from_secs(90),
    stalled: Duration::from_secs(10),
};

/// A server for operators; [`endpoint`](super) says what it answers. Its drop stops it: the port is closed soon after,
/// and so are all connections.
#[derive(Debug)]
#[must_use = "the drop of an endpoint stops it"]
pub struct Endpoint {
    address: SocketAddr,
    /// Closed by its drop.
    _stop: Sender<()>,
}

impl Endpoint {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn start(address: SocketAddr, site: OpsSite) -> io::Result<Self> {
        let listener = Async::<TcpListener>::bind(address)?;
        let address = listener.get_ref().local_addr()?;
        let (stop, stopped) = bounded(1);
        thread::Builder::new().name("listwatch-ops".to_owned()).spawn(move || run(listener, site, &stopped))?;
        Ok(Self { address, _stop: stop })
    }
}

/// Serves until the end of the handle.
fn run(listener: Async<TcpListener>, site: OpsSite, stopped: &Receiver<()>) {
    let executor = Executor::new();
    let serving = async { match serve(listener.into(), &executor, LIMITS, Plain, site).await {} };
    let stopping = async { _ = stopped.recv().await };
    // The drop of the executor closes all connections.
    smol::block_on(executor.run(or(stopping, serving)));
}
