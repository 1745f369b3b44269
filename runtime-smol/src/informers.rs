//! Shared informers: one watch and one cache for any number of users.
//!
//! | question | answer | in client-go |
//! |---|---|---|
//! | Where do lists, watches and calls go, and by which clock? | to a [`World`]: a cluster, a recording, a simulated server | `rest.Config` |
//! | Which informers are there? | those of [`Informers`], which a task [runs](Informers::run) | `SharedInformerFactory` |
//! | How does a user read the cache? | by an [`InformerHandle`], which derefs to the store | listers |
//! | How is a user told changes? | by a [`Subscriber`] | `AddEventHandler` |
//! | When does a watch end? | with the last handle or subscriber, at once | – |
//! | How are several namespaces one informer? | by [`Informers::informer_in`]; [`InformerHandle::streams`] tells them apart | – |
//! | What went wrong? | [`StreamStatus`], [`Informers::with_error_handler`] | `SetWatchErrorHandler` |
//! | Does the cache have what the server has? | [`audit`] | `KUBE_WATCHLIST_INCONSISTENCY_DETECTOR` |
//! | How is one object awaited? | by [`InformerHandle::wait_for`], or by [`wait_for`] without an informer | `kubectl wait` |
//!
//! Here the world is a recording, under simulated time:
//!
//! ```
//! use core::time::Duration;
//! use listwatch::decode::MetadataOnly;
//! use listwatch::file::Playback;
//! use listwatch::{Executor, Informers, run};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recording = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
//! let resource = recording.resource().ok_or("the recording has no list")?.clone();
//! let informers = Informers::new(recording); // in a program: `Cluster::infer()?`
//! let (clock, executor) = (informers.clock().clone(), Executor::new());
//! executor.spawn(informers.run()).detach(); // or `tokio::spawn`
//!
//! let pods = informers.informer_of::<MetadataOnly>(resource.clone());
//! let same = informers.informer_of::<MetadataOnly>(resource); // of another part of the program
//! run(&clock, &executor, pods.synced().within(Duration::from_secs(60)))?;
//! assert_eq!(pods.len(), same.len());
//! # Ok(())
//! # }
//! ```
//!
//! A type chooses how much memory an object takes: a serde type, [`Raw`](crate::decode::Raw) for its text,
//! [`Packed`](crate::decode::Packed) for the text compressed, or [`MetadataOnly`](crate::decode::MetadataOnly). A packed
//! object is read by [`unpack`](crate::decode::Packed::unpack):
//!
#![cfg_attr(
    feature = "lz4",
    doc = r#"
```
use core::time::Duration;
use listwatch::decode::{Lz4, Packed};
use listwatch::file::Playback;
use listwatch::{Executor, Informers, run};

#[derive(serde::Deserialize)]
struct Pod {
    status: Status,
}

#[derive(serde::Deserialize)]
struct Status {
    phase: String,
}

# fn main() -> Result<(), Box<dyn std::error::Error>> {
let recording = Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?;
let resource = recording.resource().ok_or("the recording has no list")?.clone();
let informers = Informers::new(recording);
let (clock, executor) = (informers.clock().clone(), Executor::new());
executor.spawn(informers.run()).detach();

let pods = informers.informer_of::<Packed<Lz4>>(resource);
run(&clock, &executor, pods.synced().within(Duration::from_secs(60)))?;
for pod in pods.list() {
    assert!(pod.packed_len() < pod.text_len() / 4);
    println!("{} is {}", pod.key(), pod.unpack::<Pod>()?.status.phase);
}
# Ok(())
# }
```
"#
)]
//! Users of an informer differ in their pace and in what they are told:
//!
//! | | if it is far behind | updates that change nothing, as a relist reports them |
//! |---|---|---|
//! | a subscriber of [`Subscription::new`](listwatch_core::informer::Subscription::new) | is told one change for each key; [`wait`](listwatch_core::informer::Subscription::wait) holds the stream back | are told, as in client-go; [`quiet`](listwatch_core::informer::Subscription::quiet) leaves them out |
//! | the own kind and the owned kinds of a controller | are coalesced; their keys are not missed | are left out |
//! | a [mapper](crate::controller::Reconciler::maps) of a controller | holds the stream back, and is told every change | are left out |
//!
//! While a subscriber holds a stream back, [`InformerHandle::streams`] says so, and for how long.

pub mod audit;
mod board;
mod found;
mod handle;
mod registry;
#[cfg(feature = "file")]
mod replay;
#[cfg(feature = "shards")]
mod selection;
mod stream;
mod stream_status;
mod tasks;
mod wait;
mod world;

pub(crate) use crate::names::Collection;
pub use crate::names::StreamName;
pub(crate) use audit::Target as AuditTarget;
pub use found::Found;
pub use handle::{InformerHandle, Subscriber};
#[cfg(feature = "metrics")]
pub(crate) use registry::WeakInformers;
#[cfg(feature = "shards")]
pub(crate) use selection::Selection;
pub(crate) use stream::StreamTransport;
pub use stream_status::{StreamError, StreamStatus};
#[cfg(feature = "shards")]
pub(crate) use wait::events_of;
pub use wait::{HandleSynced, StreamsNotSynced, WaitError, WaitFailure, wait_for};
pub(crate) use wait::{WhenDenied, events_of_one};
#[cfg(feature = "metrics")]
pub(crate) use world::Asked;
#[cfg(feature = "file")]
pub(crate) use world::DumpCause;
#[cfg(feature = "file")]
pub use world::DumpError;
#[cfg(all(feature = "endpoint", feature = "file"))]
pub(crate) use world::FlightRecorder;
pub use world::World;
pub(crate) use world::WorldId;

use crate::client::Client;
use crate::clock::Clock;
use crate::saved::{SaveTo, saving};
use listwatch_core::decode::{FromJson, ToJson};
use listwatch_core::object::Kind;
use listwatch_core::{InformerConfig, Resource};
use registry::{Registry, SharedState};
use std::path::PathBuf;
use std::sync::Arc;
use stream::Saves;

/// The shared informers of a [`World`] (client-go `SharedInformerFactory`). A clone has the same informers.
///
/// Those that ask for the same resource, namespaces, selectors and type get the same watch and the same cache.
/// Informers are added and removed at any time, from any thread. Other `Informers` share nothing with these, even of
/// the same cluster.
///
/// Each stream has a connection of its own. A cluster has 1024 open watches at most, and 256 other requests, unless its
/// options say otherwise. Beyond that, streams wait, which their [status](Self::status) says, and then fail and retry.
#[derive(Clone)]
#[doc(alias = "SharedInformerFactory")]
pub struct Informers(Arc<Registry>);

impl Informers {
    /// No informers yet.
    pub fn new(world: impl Into<World>) -> Self {
        Self(Arc::new(Registry::new(world.into(), None)))
    }

    /// Calls `handler` with each failure and panic of a stream, on the thread that runs it (client-go
    /// `SetWatchErrorHandler`). Without it, [`status`](Self::status) has the last one of each stream.
    pub fn with_error_handler(
        world: impl Into<World>,
        handler: impl Fn(&StreamName, &StreamError<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Registry::new(world.into(), Some(Arc::new(handler)))))
    }

    /// The informer of all objects of a kind. It starts if it is the first one; a task has to [run](Self::run) it.
    pub fn informer<T: Kind + FromJson + Send + Sync + 'static>(&self) -> InformerHandle<T> {
        self.informer_where(|all| all)
    }

    /// The informer of some objects of a kind: `select` narrows the resource of all of them.
    ///
    /// ```
    /// # #[derive(serde::Deserialize)]
    /// # struct Deployment {}
    /// # listwatch::kind!(Deployment, "apps/v1", "deployments");
    /// use listwatch::{InformerHandle, Informers};
    ///
    /// fn of_the_shop(informers: &Informers) -> InformerHandle<Deployment> {
    ///     informers.informer_where(|all| all.in_namespace("shop").with_label_selector("app=web"))
    /// }
    /// ```
    pub fn informer_where<T: Kind + FromJson + Send + Sync + 'static>(
        &self,
        select: impl FnOnce(Resource) -> Resource,
    ) -> InformerHandle<T> {
        let handle = self.informer_of(select(Resource::of::<T>()));
        handle.set_kind(T::KIND, T::NAMESPACED);
        handle
    }

    /// The informer of `resource`, with all its namespaces unless the resource names one. `T` is any type that serde
    /// can read, or [`Packed`](crate::decode::Packed). Else it is as [`informer`](Self::informer).
    ///
    /// A resource that is given by its name does not say its kind: [`with_kind`](InformerHandle::with_kind) does, and so
    /// do [`Resource::of`] and [`informer_where`](Self::informer_where).
    pub fn informer_of<T: FromJson + Send + Sync + 'static>(&self, resource: Resource) -> InformerHandle<T> {
        self.informer_with(resource, [""; 0], InformerConfig::default())
    }

    /// The informer of `resource` in these namespaces, each with a list-and-watch of its own. The cache has the objects
    /// of all of them. Where the server denies one namespace, the others go on.
    ///
    /// A controller starts when every namespace has synced, or its error names those that are denied. With
    /// [`Source::start_without_denied`](crate::controller::Source::start_without_denied) it starts without them.
    ///
    /// Without a namespace it is as [`informer_of`](Self::informer_of). The namespace `""` stands for all.
    ///
    /// ```
    /// # #[derive(serde::Deserialize)]
    /// # struct Deployment {}
    /// # listwatch::kind!(Deployment, "apps/v1", "deployments");
    /// use listwatch::{InformerHandle, Informers, Resource};
    ///
    /// fn of_two_teams(informers: &Informers) -> InformerHandle<Deployment> {
    ///     informers.informer_in(Resource::of::<Deployment>(), ["shop", "pay"])
    /// }
    /// ```
    pub fn informer_in<T: FromJson + Send + Sync + 'static>(
        &self,
        resource: Resource,
        namespaces: impl IntoIterator<Item: Into<String>>,
    ) -> InformerHandle<T> {
        self.informer_with(resource, namespaces, InformerConfig::default())
    }

    /// The same with a configuration. Informers of different configurations share nothing.
    pub fn informer_with<T: FromJson + Send + Sync + 'static>(
        &self,
        resource: Resource,
        namespaces: impl IntoIterator<Item: Into<String>>,
        config: InformerConfig,
    ) -> InformerHandle<T> {
        self.start(resource, namespaces.into_iter().map(Into::into).collect(), config, None)
    }

    /// The informer of `resource`, whose cache is saved to a file, and restored from it at the next start:
    /// [`saved`](crate::saved) has the details. It counts as synced with the restored state. Else it is as
    /// [`informer_of`](Self::informer_of).
    ///
    /// Server, authority and client are those of the world. In a world that is recorded, or is a recording, nothing is
    /// saved: a replay begins as its tape does.
    ///
    /// ```
    /// use listwatch::decode::Raw;
    /// use listwatch::saved::SaveTo;
    /// use listwatch::{InformerHandle, Informers, Resource};
    ///
    /// fn of_this_node(informers: &Informers, node: &str) -> InformerHandle<Raw> {
    ///     let pods = Resource::new("/api/v1/pods").with_field_selector(&format!("spec.nodeName={node}"));
    ///     informers.informer_saved_to(pods, SaveTo::new("/var/lib/agent/pods.json"))
    /// }
    /// ```
    pub fn informer_saved_to<T>(&self, resource: Resource, save: SaveTo) -> InformerHandle<T>
    where
        T: FromJson + ToJson + Send + Sync + 'static,
    {
        let saved = self.0.world.saved_to(save).map(|save| (save.path().to_owned(), saving(save)));
        self.start(resource, Vec::new(), InformerConfig::default(), saved)
    }

    fn start<T: FromJson + Send + Sync + 'static>(
        &self,
        resource: Resource,
        namespaces: Vec<String>,
        config: InformerConfig,
        saved: Option<(PathBuf, Saves<T>)>,
    ) -> InformerHandle<T> {
        let kind = resource.kind().zip(resource.is_namespaced());
        let handle = InformerHandle::new(SharedState::of(&self.0, resource, namespaces, config, saved));
        kind.into_iter().for_each(|(kind, is_namespaced)| handle.set_kind(kind, is_namespaced));
        handle
    }

    /// Runs all informers, also those that are added later, on any executor. It is done when the last clone of these
    /// `Informers` and the last handle are dropped.
    ///
    /// One call is enough; a second one runs the streams on two threads. A future that is kept and not polled, or whose
    /// thread is blocked, holds up no other one. If the last one is dropped, the streams rest with their connections
    /// open, until another call or the drop of their handles.
    pub fn run(&self) -> impl Future<Output = ()> + Send + use<> {
        let (closed, running) = (self.0.closed(), self.0.tasks.run());
        async move { smol::future::or(closed, running).await }
    }

    /// What each stream of each informer does now, in the order of their start.
    pub fn status(&self) -> Vec<StreamStatus> {
        self.0.status()
    }

    /// The informers that a handle is among.
    pub(crate) fn of<T>(handle: &InformerHandle<T>) -> Self {
        Self(Arc::clone(handle.registry()))
    }

    /// Whether both are the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.0.world
    }

    /// The clock of every wait.
    pub fn clock(&self) -> &Clock {
        self.0.world.clock()
    }

    /// The client of the same world.
    pub fn client(&self) -> &Client {
        self.0.world.client()
    }
}

/// The informers of a world of their own.
impl<W: Into<World>> From<W> for Informers {
    fn from(world: W) -> Self {
        Self::new(world)
    }
}

impl From<&Self> for Informers {
    fn from(informers: &Self) -> Self {
        informers.clone()
    }
}

listwatch_core::summary!("Informers" for Informers, |it| { status: it.status() });

#[cfg(test)]
mod tests;
