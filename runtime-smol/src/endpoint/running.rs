use super::site::OpsSite;
use crate::served::{Limits, serve};
use async_executor::Executor;
use core::time::Duration;
use smol::Async;
use smol::channel::{Receiver, Sender, bounded};
use smol::future::or;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread;

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
    #[must_use]
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
    let serving = async { match serve(listener.into(), &executor, LIMITS, site).await {} };
    let stopping = async { _ = stopped.recv().await };
    // The drop of the executor closes all connections.
    smol::block_on(executor.run(or(stopping, serving)));
}
