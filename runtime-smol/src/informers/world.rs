//! Where informers and calls go, and by which clock.

use crate::caught::caught_call;
use crate::client::Client;
#[cfg(feature = "metrics")]
use crate::client::Requests;
use crate::clock::Clock;
use crate::mutex::Mutex;
#[cfg(feature = "http")]
use crate::reactor::AsyncIo;
#[cfg(feature = "file")]
use crate::replay::Replay;
use crate::saved::SaveTo;
use crate::stable_hash::StableHash;
use crate::waiting::Waiting;
use core::error::Error;
use core::future::pending;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
#[cfg(feature = "file")]
pub use flight::DumpError;
#[cfg(feature = "file")]
pub(crate) use flight::{DumpCause, FlightRecorder};
use listwatch_core::text::SharedText;
use listwatch_core::{ListerWatcher, Resource};
#[cfg(feature = "testing")]
use listwatch_simulated_cluster::SimulatedCluster;
#[cfg(feature = "file")]
use listwatch_transport_file::Tape;
#[cfg(feature = "http")]
use listwatch_transport_http::{Cluster, HttpClient, HttpTransport};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;
#[cfg(feature = "file")]
use tape::StreamNames;

#[cfg(feature = "file")]
mod flight;
#[cfg(feature = "file")]
mod playback;
#[cfg(feature = "file")]
mod tape;

/// A transport of one informer, whatever it goes to.
pub(super) type AnyTransport = Box<dyn ListerWatcher + Send>;

/// What a program's informers and calls go to, and the clock of both: a cluster, a recording, or a simulated server. A
/// clone is the same world.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch::http::ConfigError> {
/// use listwatch::World;
/// use listwatch::http::Cluster;
///
/// let world = World::from(Cluster::infer()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct World {
    id: WorldId,
    clock: Clock,
    client: Client,
    /// That of elections, which the requests of others do not hold up.
    renewing: Client,
    transports: Arc<Transports>,
    end: Option<Arc<End>>,
    /// The longest time of a controller in it.
    at_most: Option<Duration>,
    on_line: Option<Arc<OnLine>>,
    /// Of all random delays, in a recording and its playback.
    seed: Option<u64>,
    /// The address of the API server, if there is one.
    server: Option<String>,
    /// A fingerprint of the authority that the server is trusted by.
    authority: Option<String>,
    /// The namespace of the program in it.
    namespace: Option<String>,
    /// Why no controller runs in it.
    refused: Option<SharedText>,
    /// Whether it plays a recording.
    is_recording: bool,
    #[cfg(feature = "file")]
    tape: Option<Tape>,
    #[cfg(feature = "file")]
    flight: Option<Arc<FlightRecorder>>,
    #[cfg(feature = "file")]
    names: Arc<StreamNames>,
    #[cfg(feature = "file")]
    replay: Option<Arc<Replay>>,
}

/// The identity of a world. No two worlds of a process have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorldId(u64);

impl WorldId {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(crate) const fn of_test(number: u64) -> Self {
        Self(number)
    }
}

/// Makes the transport of a list-and-watch, which has a name on a tape if the world has one.
type Transports = dyn Fn(&Resource, Option<&OnTape>) -> AnyTransport + Send + Sync;

/// A list-and-watch of a world that is recorded, or that replays.
#[derive(Clone)]
#[cfg_attr(not(feature = "file"), expect(dead_code, reason = "tapes are files"))]
pub(super) struct OnTape {
    pub(super) name: Arc<str>,
    /// How many changes its cache has.
    pub(super) changes: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Takes a line for operators.
type OnLine = dyn Fn(&str) + Send + Sync;

impl World {
    /// A world of these parts. `transports` makes the transport of one list-and-watch; it is called for each stream of
    /// an informer, when the stream starts.
    ///
    /// ```
    /// use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
    /// use listwatch::{Client, Clock, World};
    /// # use listwatch::transport::{Incoming, ListerWatcher, ReadContext};
    /// # use listwatch::request::{Request, RequestId};
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
    pub fn from_parts(
        clock: Clock,
        client: Client,
        transports: impl Fn(&Resource) -> Box<dyn ListerWatcher + Send> + Send + Sync + 'static,
    ) -> Self {
        Self::from_named_parts(clock, client, move |resource, _| transports(resource))
    }

    /// A world whose transports know their names on its tape.
    fn from_named_parts(
        clock: Clock,
        client: Client,
        transports: impl Fn(&Resource, Option<&OnTape>) -> AnyTransport + Send + Sync + 'static,
    ) -> Self {
        Self {
            id: WorldId::new(),
            clock,
            renewing: client.clone(),
            client,
            transports: Arc::new(transports),
            end: None,
            at_most: None,
            on_line: None,
            seed: None,
            server: None,
            authority: None,
            namespace: None,
            refused: None,
            is_recording: false,
            #[cfg(feature = "file")]
            tape: None,
            #[cfg(feature = "file")]
            flight: None,
            #[cfg(feature = "file")]
            names: Arc::default(),
            #[cfg(feature = "file")]
            replay: None,
        }
    }

    /// Ends the world with a future: the controllers that run in it are then
    /// [stopped](crate::controller::ControllerHandle::stop), and what they reconcile is drained. Without it, a world has no
    /// end. A world with several ends has the first of them. A controller of several worlds ends with the first that does.
    ///
    /// A test gives its scenario, so the function that `main` calls with a cluster runs in the test as it is. A recording
    /// ends by itself. A controller whose sources have not synced by then returns
    /// [`RunError::NotSynced`](crate::RunError::NotSynced).
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::controller::{Controller, Outcome, RunError};
    /// use listwatch::decode::MetadataOnly;
    /// use listwatch::file::Playback;
    /// use listwatch::World;
    ///
    /// fn print_pods(world: impl Into<World>) -> Result<(), RunError> {
    ///     let controller = Controller::new("pods", world);
    ///     let pods = controller.informer_of::<MetadataOnly>("v1/pods");
    ///     controller.reconciles(&pods).run(async |_cx, key| {
    ///         println!("{key}");
    ///         Ok(Outcome::Done)
    ///     })
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let world = World::from(Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz")?);
    /// let clock = world.clock().clone();
    /// print_pods(world.until(async move { clock.sleep(Duration::from_secs(10)).await }))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        self.try_until(async {
            end.await;
            Ok(())
        })
    }

    /// Ends the world with a future that may fail, as [`until`](Self::until) does. If it fails, or panics, the controllers
    /// end with [`RunError::World`](crate::RunError::World).
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::controller::{Controller, Outcome, RunError};
    /// use listwatch::testing::SimulatedCluster;
    /// use listwatch::World;
    ///
    /// let cluster = SimulatedCluster::new();
    /// let world = World::from(cluster.clone());
    /// let clock = world.clock().clone();
    /// let world = world.try_until(async move {
    ///     // Simulated time passes when nothing is left to do: the controller has settled then.
    ///     clock.sleep(Duration::from_secs(1)).await;
    ///     cluster.delete("v1/pods", "web/a")?;
    ///     Ok(())
    /// });
    /// let controller = Controller::new("pods", world);
    /// let pods = controller.informer_of::<serde_json::Value>("v1/pods");
    /// let ended = controller.reconciles(&pods).run(async |_cx, _key| Ok(Outcome::Done));
    /// let Err(RunError::World(why)) = ended else { panic!("there is no such pod") };
    /// assert!(why.contains("\"a\" not found"), "{why}");
    /// ```
    pub fn try_until(self, end: impl Future<Output = Result<(), Box<dyn Error>>> + Send + 'static) -> Self {
        let before = self.clone();
        let end = async {
            let end = end.await;
            end.map_err(|error| format!("the future that ends the world failed: {error}"))
        };
        self.until_ended(Box::pin(async move { smol::future::or(before.ended(), end).await }))
    }

    /// Ends the world after a time of its clock, which begins when a controller of it starts. Informers without a
    /// controller have no end: their program ends itself. It is [`until`](Self::until) with a sleep. A shorter limit of
    /// [`at_most`](Self::at_most) is raised.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::controller::{Controller, Outcome};
    /// use listwatch::testing::SimulatedCluster;
    /// use listwatch::World;
    ///
    /// // A simulated hour takes no time.
    /// let world = World::from(SimulatedCluster::new()).lasting(Duration::from_secs(3600));
    /// let controller = Controller::new("pods", world);
    /// let pods = controller.informer_of::<serde_json::Value>("v1/pods");
    /// controller.reconciles(&pods).run(async |_cx, _key| Ok(Outcome::Done))?;
    /// # Ok::<(), listwatch::controller::RunError>(())
    /// ```
    pub fn lasting(mut self, time: Duration) -> Self {
        let clock = self.clock.clone();
        self.at_most = self.at_most.map(|most| most.max(time.saturating_add(Duration::from_secs(1))));
        self.until(async move { clock.sleep(time).await })
    }

    /// Lets the simulated time of this world pass `speed` times as fast as real time, instead of jumping: 1 is real time.
    /// Nothing else changes. So a replay reads and writes the same at every pace, and an operator can watch what happened.
    ///
    /// If the program computes longer than the time that it has, simulated time falls behind and then catches up. A world of
    /// the machine's clock has its own pace.
    ///
    /// ```no_run
    /// use core::num::NonZeroU32;
    /// use listwatch::World;
    /// use listwatch::file::Playback;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let world = World::from(Playback::from_file("tonight.jsonl.zst")?).paced(NonZeroU32::MIN);
    /// # Ok(())
    /// # }
    /// ```
    pub fn paced(self, speed: NonZeroU32) -> Self {
        self.clock.simulation().into_iter().for_each(|time| time.pace(speed));
        self
    }

    /// Limits the time of the world's clock: a controller that still runs after it ends with
    /// [`RunError::Endless`](crate::RunError::Endless), which names the keys that are not done.
    ///
    /// So a test ends although its scenario waits for something that never comes. A
    /// `testing::SimulatedCluster` has a limit of 30 days; other worlds have none.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::controller::{Controller, Outcome, RunError};
    /// use listwatch::testing::SimulatedCluster;
    /// use listwatch::World;
    ///
    /// let world = World::from(SimulatedCluster::new()).at_most(Duration::from_secs(3600));
    /// let controller = Controller::new("pods", world);
    /// let pods = controller.informer_of::<serde_json::Value>("v1/pods");
    /// let ended = controller.reconciles(&pods).run(async |_cx, _key| Ok(Outcome::Done));
    /// assert!(matches!(ended, Err(RunError::Endless { .. })));
    /// ```
    pub fn at_most(self, time: Duration) -> Self {
        Self { at_most: Some(time), ..self }
    }

    /// A cache's file, with what it is of. `None` if the world is a recording: a replay begins as its tape does.
    pub(super) fn saved_to(&self, save: SaveTo) -> Option<SaveTo> {
        #[cfg(feature = "file")]
        if self.tape.is_some() || self.replay.is_some() {
            return None;
        }
        let Some(server) = &self.server else { return Some(save) };
        Some(save.of_server(server, self.authority.as_deref().unwrap_or_default(), Some(self.client.clone())))
    }

    /// The file that it is recorded to.
    pub(crate) fn tape_path(&self) -> Option<&Path> {
        #[cfg(feature = "file")]
        return self.tape.as_ref().filter(|tape| !tape.is_in_memory()).map(Tape::path);
        #[cfg(not(feature = "file"))]
        None
    }

    /// The namespace of the pod, or of the kubeconfig's context, if there is one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether it is the tape of a controller.
    pub(crate) fn is_replay(&self) -> bool {
        #[cfg(feature = "file")]
        return self.replay.is_some();
        #[cfg(not(feature = "file"))]
        false
    }

    /// Whether each cache has all objects: a tape has no word of a choice among them.
    #[cfg(feature = "shards")]
    pub(crate) fn keeps_all(&self) -> bool {
        #[cfg(feature = "file")]
        let is_taped = self.tape.is_some();
        #[cfg(not(feature = "file"))]
        let is_taped = false;
        is_taped || self.is_recording()
    }

    /// Whether it plays a recording, of a controller or without one.
    pub(crate) fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Why no controller runs in it, if none does.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// The longest time of a controller in it.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.at_most
    }

    /// Whether it was given an end.
    pub(crate) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    fn until_ended(mut self, ended: Ended) -> Self {
        self.end = Some(Arc::new(End::new(ended)));
        self
    }

    /// Calls `on_line` with each line that the controllers of this world would write to standard error: their
    /// [reports](crate::controller::Report), with the controller's name. Repeats are not folded. A controller with an
    /// [`on_report`](crate::controller::Reconciler::on_report) of its own calls both.
    ///
    /// A test reads what the function reports that `main` calls with a cluster.
    pub fn on_report_line(mut self, on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_line = Some(Arc::new(on_line));
        #[cfg(feature = "file")]
        self.report_tape();
        self
    }

    /// The function that gets the lines for operators, unless standard error does.
    pub(crate) fn on_line(&self) -> Option<&OnLine> {
        self.on_line.as_deref()
    }

    /// Waits until the world ends.
    pub(crate) async fn ended(&self) -> Result<(), String> {
        match &self.end {
            Some(end) => end.wait().await,
            None => pending().await,
        }
    }

    /// The clock of every wait.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The client for single requests.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// This world with another client.
    #[cfg(feature = "fleet")]
    pub(crate) fn with_client(self, client: Client) -> Self {
        Self { client, ..self }
    }

    /// The client of elections.
    pub(crate) fn renewing_client(&self) -> &Client {
        &self.renewing
    }

    /// The seed of the random delays of a controller, or of an informer, if the world is recorded or of a recording.
    pub(crate) fn seed_of(&self, name: &str) -> Option<u64> {
        let seed = self.seed?;
        // As in a simulation that is not recorded.
        Some(if seed == 0 { 0 } else { StableHash::new().number(seed).text(name).finish() })
    }

    /// Tells the clones of this world from other worlds, also from those that come when it is gone.
    pub(crate) fn id(&self) -> WorldId {
        self.id
    }

    /// Whether both are clones of one world.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }

    /// A transport for one list-and-watch of `resource`, with its name on the tape.
    pub(super) fn transport(&self, resource: &Resource, on_tape: Option<&OnTape>) -> AnyTransport {
        (self.transports)(resource, on_tape)
    }
}

listwatch_core::summary!("World" for World, |it| { clock: it.clock });

/// When a world ends, and why, if it should not.
pub(super) type Ended = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The end that all controllers of a world wait for.
pub(super) struct End {
    state: Mutex<Life>,
    /// The tasks that wait for the end; each of them polls it.
    waiting: Arc<Waiting>,
}

enum Life {
    Lives(Ended),
    Over(Result<(), String>),
}

impl End {
    pub(super) fn new(ended: Ended) -> Self {
        Self { state: Mutex::new(Life::Lives(ended)), waiting: Arc::default() }
    }

    pub(super) async fn wait(&self) -> Result<(), String> {
        self.waiting.until(|| self.poll()).await
    }

    fn poll(&self) -> Option<Result<(), String>> {
        let mut state = self.state.lock();
        let over = match &mut *state {
            Life::Over(over) => return Some(over.clone()),
            Life::Lives(ended) => {
                let waker = Waker::from(Arc::clone(&self.waiting));
                match caught_call(|| ended.as_mut().poll(&mut Context::from_waker(&waker))) {
                    Ok(Poll::Pending) => return None,
                    Ok(Poll::Ready(over)) => over,
                    Err(panic) => Err(format!("the future that ends it panicked: {panic}")),
                }
            }
        };
        let ended = core::mem::replace(&mut *state, Life::Over(over.clone()));
        drop(state);
        let _panicked = caught_call(|| drop(ended));
        self.waiting.wake_by_ref();
        Some(over)
    }
}

/// The requests to a server. Clones of a world share them.
#[cfg(feature = "metrics")]
pub(crate) struct Asked {
    /// Empty if it is no server.
    pub(crate) host: String,
    pub(crate) requests: Arc<Requests>,
}

#[cfg(feature = "metrics")]
impl World {
    /// The requests that were sent so far, and where to.
    pub(crate) fn asked(&self) -> Asked {
        let host = self.server.as_deref().map(host_of).unwrap_or_default().to_owned();
        Asked { host, requests: Arc::clone(self.client.requests()) }
    }
}

/// The host and port of a URL, without the password that an operator may have written before them.
#[cfg(feature = "metrics")]
fn host_of(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// The cluster, by the machine's clock. While its certificates cannot be used, each request fails by an error that says
/// so.
///
/// A program that is run for a replay, such as by `listwatch replay --against`, may not have taken its tape. So where
/// [`REPLAY_WRITES`](crate::controller::REPLAY_WRITES) is set, nothing is sent: each controller of the world ends with
/// [`RunError::Config`](crate::RunError::Config), and each request fails.
#[cfg(feature = "http")]
impl From<Cluster> for World {
    fn from(cluster: Cluster) -> Self {
        #[cfg(feature = "file")]
        if crate::replay::writes_path().is_some() {
            return Self::refused();
        }
        let clock = Clock::real();
        let client = Client::new(HttpClient::from(&cluster), clock.clone());
        let renewing = client.beside(HttpClient::from(&cluster).with_own_limit());
        let server = Some(cluster.server().to_owned());
        let (authority, namespace) = (cluster.authority_fingerprint(), Some(cluster.namespace().to_owned()));
        let world = Self::from_parts(clock, client, move |_| {
            Box::new(HttpTransport::from(&cluster).with_reactor(Arc::new(AsyncIo)))
        });
        Self { server, authority, namespace, renewing, ..world }
    }
}

/// A test of a controller rarely simulates more.
#[cfg(feature = "testing")]
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// The cluster, under simulated time, which goes on with the date of the cluster. So a second world of one cluster is
/// the controller after a restart. It has no end of its own: [`World::lasting`] or [`World::until`] give it one. Without
/// one, it has a limit of 30 simulated days ([`World::at_most`]).
#[cfg(feature = "testing")]
impl From<SimulatedCluster> for World {
    fn from(cluster: SimulatedCluster) -> Self {
        let clock = Clock::simulated_at(cluster.date());
        // No two processes of a cluster have one identity.
        clock.simulation().into_iter().for_each(|time| time.number_candidates_from(cluster.processes() * 100));
        let time = clock.clone();
        let cluster = cluster.on_clock(move || time.now());
        let client = Client::new(cluster.client(), clock.clone());
        let world = Self::from_parts(clock, client, move |resource| Box::new(cluster.transport_of(resource)));
        let world = world.at_most(LONGEST);
        Self { namespace: Some("default".to_owned()), ..world }
    }
}

#[cfg(test)]
mod tests {
    mod world {
        use super::super::*;
        use listwatch_core::api::{ApiFn, ApiRequest, ApiResponse};
        use std::collections::HashSet;

        #[test]
        fn a_world_that_comes_when_another_is_gone_has_an_identity_of_its_own() {
            let id = |_| {
                let clock = Clock::simulated();
                let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
                World::from_parts(clock, client, |_| unreachable!("no stream starts")).id()
            };
            assert_eq!((0..100).map(id).collect::<HashSet<_>>().len(), 100);
        }
    }

    mod end {
        use super::super::*;
        use core::future::pending;
        use core::pin::pin;

        #[test]
        fn a_dropped_wait_for_the_end_leaves_no_waker() {
            let end = End::new(Box::pin(pending()));
            for _ in 0..1000 {
                let waker = Waker::from(Arc::<Waiting>::default());
                assert!(pin!(end.wait()).as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            assert_eq!(end.waiting.len(), 0);
        }
    }

    #[cfg(feature = "metrics")]
    mod asked {
        use super::super::*;

        #[test]
        fn a_host_has_no_credential_and_no_path() {
            for (server, host) in [
                ("https://10.0.0.1:6443", "10.0.0.1:6443"),
                ("https://a:b@example.com/k8s/clusters/c-1?token=x", "example.com"),
                ("http://[::1]:8080/", "[::1]:8080"),
                ("example.com", "example.com"),
                ("", ""),
            ] {
                assert_eq!(host_of(server), host);
            }
        }
    }

    #[cfg(feature = "testing")]
    mod simulated {
        use super::super::*;

        #[test]
        fn a_simulated_world_without_an_end_has_a_longest_time() {
            assert_eq!(World::from(SimulatedCluster::new()).longest(), Some(LONGEST));
        }
    }
}
