//! The last moment at which a request can be stopped.

use crate::lock::Lock;
use listwatch_core::api::SendGate;
use std::io;
use std::sync::Arc;
use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

/// The gate of the request that a connection sends now, if the request has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentGate(Arc<Lock<Option<SendGate>>>);

impl CurrentGate {
    /// The gate of the next request.
    pub(crate) fn set(&self, gate: Option<&SendGate>) {
        let before = std::mem::replace(&mut *self.0.lock(), gate.cloned());
        // Its drop is foreign code.
        drop(before);
    }

    /// Whether the request may leave now.
    fn check(&self) -> Result<(), Error> {
        let gate = self.0.lock().clone();
        gate.map_or(Ok(()), |gate| gate.check()).map_err(|refused| Error::Io(io::Error::other(refused)))
    }
}

/// Asks the gate before each piece of a request that a connection writes. It comes after proxies and TLS have shaken
/// hands.
#[derive(Debug)]
pub(crate) struct GateConnector(CurrentGate);

impl GateConnector {
    pub(crate) fn new(gate: CurrentGate) -> Self {
        Self(gate)
    }
}

impl<In: Transport> Connector<In> for GateConnector {
    type Out = GatedTransport<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, below: Option<In>) -> Result<Option<Self::Out>, Error> {
        Ok(below.map(|below| GatedTransport { below, gate: self.0.clone() }))
    }
}

/// A connection that is ready for requests.
#[derive(Debug)]
pub(crate) struct GatedTransport<In> {
    below: In,
    gate: CurrentGate,
}

impl<In: Transport> Transport for GatedTransport<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.below.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.gate.check()?;
        self.below.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.below.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.below.is_open()
    }

    fn is_tls(&self) -> bool {
        self.below.is_tls()
    }
}
