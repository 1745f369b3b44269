use super::readiness::{Check, Readiness};
use super::running::Endpoint;
use super::site::OpsSite;
use crate::metrics::Metrics;
use core::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// An endpoint that is not started. [`Endpoint::builder`] makes one.
#[must_use = "nothing is served before `start`"]
pub struct EndpointBuilder {
    metrics: Metrics,
    address: IpAddr,
    checks: Vec<(Arc<str>, Check)>,
}

impl EndpointBuilder {
    pub(super) fn new(metrics: &Metrics) -> Self {
        Self { metrics: metrics.clone(), address: Ipv4Addr::LOCALHOST.into(), checks: Vec::new() }
    }

    /// The address to listen on; without it 127.0.0.1. The probes of a kubelet need that of the pod, or 0.0.0.0. Then
    /// whoever reaches the pod can read all answers.
    pub fn address(mut self, address: impl Into<IpAddr>) -> Self {
        self.address = address.into();
        self
    }

    /// Another condition of `/readyz` (`AddReadyzCheck` of controller-runtime). Its error is shown. While it blocks,
    /// nothing is answered; if it panics, the answer is 500.
    pub fn check(
        mut self,
        name: &str,
        check: impl Fn() -> Result<(), Box<dyn std::error::Error>> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name.into(), Box::new(check)));
        self
    }

    /// Listens, and serves on a thread of its own until the [`Endpoint`] is dropped. With port 0, the system chooses one.
    ///
    /// # Errors
    /// The address is taken or not this machine's, or there can be no further thread.
    pub fn start(self, port: u16) -> io::Result<Endpoint> {
        let address = SocketAddr::new(self.address, port);
        let site = OpsSite::new(self.metrics.clone(), Readiness::new(self.metrics, self.checks), address.ip());
        Endpoint::start(address, site)
    }
}

impl fmt::Debug for EndpointBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointBuilder").field("address", &self.address).finish_non_exhaustive()
    }
}
