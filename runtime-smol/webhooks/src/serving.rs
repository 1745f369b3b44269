//! Webhooks that are served.

use super::address::Address;
use super::certificates::Certificates;
use super::keeper::Keeper;
use super::keyring::{Keyring, Tls};
use super::report::Reports;
use super::site::{HookSite, LIMITS};
use super::webhooks::Webhooks;
use async_executor::Executor;
use core::time::Duration;
use listwatch::World;
use listwatch::controller::Termination;
use listwatch::served::{Folded, serve};
use smol::channel::{Receiver, Sender, bounded};
use smol::future::or;
use smol::{Async, Timer};
use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

/// Webhooks that are served, on a thread of their own. Their drop takes no further connection, and waits for the requests
/// that are open, for five seconds at most.
#[derive(Debug)]
#[must_use = "the drop of webhooks stops them"]
pub struct Serving {
    address: SocketAddr,
    ready: Arc<OnceLock<()>>,
    /// Closed by the drop.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Webhooks {
    /// Listens, and serves until [`Serving`] is dropped. Certificates and the configuration go to the cluster of `world`,
    /// again and again while they fail.
    ///
    /// # Errors
    /// The address is taken or not this machine's, or there can be no further thread.
    pub fn start(self, world: impl Into<World>, address: &Address, certificates: Certificates) -> io::Result<Serving> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("webhooks {}: {error}", self.listen));
        let listener = Async::<TcpListener>::bind(self.listen).map_err(named)?;
        let bound = listener.get_ref().local_addr().map_err(named)?;
        let (world, keyring, ready) = (world.into(), Arc::<Keyring>::default(), Arc::default());
        let tls = Tls::new(Arc::clone(&keyring))?;
        let mut webhooks = self;
        let reports = Arc::new(Reports {
            name: webhooks.name.clone(),
            on_report: webhooks.on_report.take(),
            clock: world.clock().clone(),
            stderr: Folded::default(),
        });
        let webhooks = Arc::new(webhooks);
        let keeper = Keeper {
            world,
            webhooks: Arc::clone(&webhooks),
            address: address.clone(),
            source: certificates.0,
            keyring,
            reports: Arc::clone(&reports),
            ready: Arc::clone(&ready),
        };
        let served = Served { listener, tls, site: HookSite::new(webhooks, reports), keeper };
        let (stop, stopped) = bounded(1);
        let builder = thread::Builder::new().name("listwatch-webhooks".to_owned());
        let thread = builder.spawn(move || served.run(&stopped))?;
        Ok(Serving { address: bound, ready, stop: Some(stop), thread: Some(thread) })
    }
}

impl Serving {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a certificate is served, and the configuration was written once: for
    /// [`ready_check`](https://docs.rs/listwatch/latest/listwatch/endpoint/struct.EndpointBuilder.html#method.ready_check).
    pub fn ready_check(&self) -> impl Fn() -> Result<(), Box<dyn Error>> + Send + Sync + 'static {
        let ready = Arc::clone(&self.ready);
        move || ready.get().copied().ok_or_else(|| "no certificate, or no configuration".into())
    }

    /// Serves until the process is asked to end, as by SIGTERM: for a program that has no controller beside.
    ///
    /// # Errors
    /// The system reports no signals.
    pub fn run(self) -> io::Result<()> {
        smol::block_on(Termination::new()?);
        Ok(())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().into_iter().for_each(|thread| _ = thread.join());
    }
}

struct Served {
    listener: Async<TcpListener>,
    tls: Tls,
    site: HookSite,
    keeper: Keeper,
}

/// How long open requests have at the end.
const DRAIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

impl Served {
    fn run(self, stopped: &Receiver<()>) {
        let Self { listener, tls, site, keeper } = self;
        let (executor, open) = (Executor::new(), site.clone());
        executor.spawn(keeper.run()).detach();
        let serving = async { match serve(listener.into(), &executor, LIMITS, tls, site).await {} };
        let stopping = async { _ = stopped.recv().await };
        let drained = async {
            while open.is_busy() {
                Timer::after(LOOK).await;
            }
            // The last answer leaves.
            Timer::after(LOOK).await;
        };
        let late = async { _ = Timer::after(DRAIN).await };
        // The drop of the executor closes all connections.
        smol::block_on(executor.run(async {
            or(stopping, serving).await;
            or(drained, late).await;
        }));
    }
}
