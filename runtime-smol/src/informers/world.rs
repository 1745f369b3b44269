//! Where informers and calls go, and by which clock.

use crate::client::Client;
use crate::clock::Clock;
use core::fmt;
use listwatch_core::{ListerWatcher, Resource};
use std::sync::Arc;

#[cfg(feature = "file")]
mod recording;
#[cfg(feature = "http")]
mod server;

/// A transport of one informer, whatever it goes to.
pub(super) type AnyTransport = Box<dyn ListerWatcher + Send>;

/// What a program's informers and calls go to, and the clock of both: a cluster, a recording, or a simulated server. A
/// clone is the same world.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_runtime_smol::http::ConfigError> {
/// use listwatch_runtime_smol::World;
/// use listwatch_runtime_smol::http::Cluster;
///
/// let world = World::from(Cluster::infer()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct World {
    clock: Clock,
    client: Client,
    transports: Arc<dyn Fn(&Resource) -> AnyTransport + Send + Sync>,
}

impl World {
    /// A world of these parts. `transports` makes the transport of one list-and-watch; it is called for each stream of
    /// an informer, when the stream starts.
    ///
    /// ```
    /// use listwatch_runtime_smol::api::{ApiFn, ApiRequest, ApiResponse};
    /// use listwatch_runtime_smol::{Client, Clock, World};
    /// # use listwatch_runtime_smol::transport::{Incoming, ListerWatcher, ReadContext};
    /// # use listwatch_runtime_smol::request::{Request, RequestId};
    /// # struct Simulated;
    /// # impl ListerWatcher for Simulated {
    /// #     fn open(&mut self, _: RequestId, _: &Request) {}
    /// #     fn poll_read(&mut self, _: ReadContext<'_, '_>, _: &mut [u8]) -> core::task::Poll<Incoming> {
    /// #         core::task::Poll::Pending
    /// #     }
    /// #     fn abort(&mut self, _: RequestId) {}
    /// # }
    ///
    /// let clock = Clock::simulated();
    /// let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
    /// let world = World::from_parts(clock, client, |_resource| Box::new(Simulated));
    /// ```
    #[must_use]
    pub fn from_parts(
        clock: Clock,
        client: Client,
        transports: impl Fn(&Resource) -> Box<dyn ListerWatcher + Send> + Send + Sync + 'static,
    ) -> Self {
        Self { clock, client, transports: Arc::new(transports) }
    }

    /// The clock of every wait.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The client for single requests.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A transport for one list-and-watch of `resource`.
    pub(super) fn transport(&self, resource: &Resource) -> AnyTransport {
        (self.transports)(resource)
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("clock", &self.clock).finish_non_exhaustive()
    }
}
