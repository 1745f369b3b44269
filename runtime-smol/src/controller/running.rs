//! A controller that can run, and one that runs on threads of its own.

use super::context::field_manager;
use super::definitions::Definitions;
use super::election::Elected;
use super::error::RunError;
use super::events::recorder;
use super::feed::{Feed, Reads, all_of};
use super::handle::ControllerHandle;
use super::lifecycle::{Ending, Streams, audits};
use super::loops::Loops;
use super::memory::{Memory, Told};
use super::owners::{Followed, OwnKind};
use super::settings::Settings;
use super::sharded::{self, Member, Sharded};
use super::source::{Sources, worlds};
use super::state::{ControllerState, Obstacles};
use super::tally::Tally;
use super::termination::Termination;
use super::threads::{Crew, Threads, named, no_thread, on_one_thread};
use super::worker::Reconcile;
use super::writes::Awaiting;
use crate::clock::Clock;
use crate::election::Candidate;
use crate::informers::{Informers, World};
use crate::mutex::Mutex;
use crate::stderr::Folded;
use crate::task_group::TaskGroup;
use async_executor::{Executor, LocalExecutor};
use smol::channel::{Receiver, Sender, bounded};
use smol::future::{or, pending};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, Scope};

/// A controller that can run: its sources, and the function that reconciles.
///
/// | | streams and mappers | workers | ends |
/// |---|---|---|---|
/// | [`run`](Self::run), [`run_all`] | on the calling thread | on threads of their own | by SIGTERM or Ctrl-C, or a handle |
/// | [`start`](Self::start) | on a thread of their own | on threads of their own | by its handle, or when dropped |
/// | [`future`](Self::future) | on the executor's thread | on threads of their own | by its handle, or when dropped |
///
/// Under a simulated clock the workers run on the same thread as the streams, so that each run is the same.
#[must_use = "a controller does nothing until it runs"]
pub struct Running<'a> {
    streams: Streams,
    crews: Vec<Crew<'a>>,
    handle: ControllerHandle,
}

/// What a controller follows and reads.
pub(super) struct Parts {
    pub(super) informers: Informers,
    pub(super) feeds: Vec<Box<dyn Feed>>,
    pub(super) reads: Reads,
    pub(super) own: Arc<OwnKind>,
    pub(super) definitions: Definitions,
}

impl<'a> Running<'a> {
    pub(super) fn new(parts: Parts, mut settings: Settings, reconcile: Arc<dyn Reconcile + 'a>) -> Self {
        let Parts { informers, feeds, reads, own, definitions } = parts;
        let seed = informers.world().seed_of(&settings.name).unwrap_or_else(|| informers.clock().random_seed());
        let (reads, asked) = reads.take_except(&feeds);
        let (candidate, member) = match membership(&mut settings, informers.world(), &own) {
            Ok((candidate, member)) => (Ok(candidate), member),
            Err(error) => (Err(error), None),
        };
        let leadership = candidate.iter().flatten().next().map(Candidate::leadership);
        let followed = Followed::of(feeds.iter().map(|feed| feed.source().path().into()));
        let (tasks, (stopping, stop), clock) = (Arc::new(TaskGroup::default()), bounded(1), informers.clock().clone());
        let recorder = if informers.world().is_replay() { None } else { recorder(&settings.name, seed, &clock) };
        let state = Arc::new(ControllerState {
            name: settings.name.as_str().into(),
            machine: settings.machine(&clock, seed),
            clock,
            seed,
            informers,
            leadership,
            shards: member.as_ref().map(Sharded::of),
            recorder,
            reconciles: AtomicU64::new(0),
            sources: Sources::default(),
            resync: Mutex::default(),
            tally: Tally::new(settings.workers),
            followed,
            memory: Memory::default(),
            told: Told::default(),
            loops: Loops::new(field_manager(&settings.name)),
            obstacles: Obstacles::default(),
            awaiting: Awaiting::default(),
            blocking: Arc::default(),
            on_report: settings.on_report.take(),
            stderr: Folded::default(),
            tasks: Arc::downgrade(&tasks),
            sync_within: settings.sync_within,
            own: Arc::downgrade(&own),
            stop: stopping,
        });
        // A recording has no other list.
        let audit_every = settings.audit_every.filter(|_| !state.informers.world().is_recording());
        let audits = audit_every.map(|period| audits(&state, period, all_of(&feeds, &reads)));
        let elected = candidate.map(|candidate| candidate.map(|candidate| Elected::new(&state, candidate)));
        #[cfg(feature = "file")]
        state.informers.world().replay().into_iter().for_each(|replay| replay.register(&state.name));
        let threads = if state.clock.is_simulated() { 1 } else { settings.threads };
        let (workers, crews) = Crew::of(&state, settings.workers, threads, &reconcile);
        let attached = settings.handle.attach(&state);
        let handle = if attached.is_ok() { settings.handle } else { ControllerHandle::default() };
        let worlds = attached.and(asked).and_then(|()| worlds(&state.informers, all_of(&feeds, &reads)));
        let ending = Ending { state, workers };
        let drain = settings.drain;
        let streams =
            Streams { ending, worlds, definitions, feeds, reads, own, stop, tasks, elected, member, audits, drain };
        Self { streams, crews, handle }
    }

    /// Reaches this controller from outside. The handle of a controller whose own was refused reaches none.
    pub fn handle(&self) -> ControllerHandle {
        self.handle.clone()
    }

    /// The informers of its sources.
    #[cfg(feature = "metrics")]
    pub(crate) fn informers(&self) -> &Informers {
        &self.streams.ending.state.informers
    }

    /// Runs the controller until the process is asked to end ([`Termination`]), or a handle
    /// [stops](ControllerHandle::stop) it. Then no reconcile begins, and those that run have until the end of the
    /// [drain](super::Reconciler::drain).
    ///
    /// It returns when every worker's thread has ended. A reconcile that blocks its thread holds it up.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(self) -> Result<(), RunError> {
        run_all([self])
    }

    pub(super) fn clock(&self) -> Clock {
        self.streams.ending.state.clock.clone()
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.streams.ending.state.name)
    }

    #[cfg(feature = "fleet")]
    pub(super) fn state(&self) -> &Arc<ControllerState> {
        &self.streams.ending.state
    }

    /// Gives the workers threads of the scope. Under a simulated clock they stay.
    pub(super) fn spawn_in<'scope>(&mut self, scope: &'scope Scope<'scope, '_>) -> Result<(), RunError>
    where
        'a: 'scope,
    {
        if self.clock().is_simulated() {
            return Ok(());
        }
        for crew in self.crews.drain(..) {
            let builder = named(&self.streams.ending.state.name, "workers");
            builder.spawn_scoped(scope, move || crew.run_to_end()).map_err(no_thread)?;
        }
        Ok(())
    }

    /// Runs the streams, and the workers that have no thread.
    pub(super) async fn run_here(self) -> Result<(), RunError> {
        let Self { streams, crews, handle: _ } = self;
        #[cfg(feature = "file")]
        if let (Some(replay), Some(crew)) = (streams.ending.state.informers.world().replay().cloned(), crews.first()) {
            let reconcile = crew.reconcile();
            drop(crews);
            return super::replay::replay(streams, reconcile, replay).await;
        }
        let crews = async {
            run_together(crews).await;
            pending().await
        };
        or(streams.run(), crews).await
    }
}

/// Runs several controllers beside each other until the process is asked to end, or the handle of each stops it. They
/// share a clock. If one fails, the others are stopped too.
///
/// # Errors
/// [`RunError::Config`] if their clocks differ; otherwise the first error of one of them. See [`RunError`].
///
/// ```no_run
/// use listwatch::controller::{Controller, Outcome, RunError, run_all};
/// use listwatch::decode::MetadataOnly;
/// use listwatch::{Informers, Resource};
///
/// fn controllers(informers: &Informers) -> Result<(), Box<dyn std::error::Error>> {
///     let pods = informers.informer_of::<MetadataOnly>(Resource::named("v1/pods")?);
///     let nodes = informers.informer_of::<MetadataOnly>(Resource::named("v1/nodes")?);
///     let pods = Controller::new("pods", informers).reconciles(&pods).calls(async |_cx, _key| Ok(Outcome::Done));
///     let nodes = Controller::new("nodes", informers).reconciles(&nodes).calls(async |_cx, _key| Ok(Outcome::Done));
///     Ok(run_all([pods, nodes])?)
/// }
/// ```
pub fn run_all<'a>(controllers: impl IntoIterator<Item = Running<'a>>) -> Result<(), RunError> {
    let mut controllers: Vec<_> = controllers.into_iter().collect();
    let Some(clock) = clock_of(&controllers)? else { return Ok(()) };
    let handles: Vec<_> = controllers.iter().map(Running::handle).collect();
    let stop_all = || handles.iter().for_each(ControllerHandle::stop);
    let termination = if clock.is_simulated() { None } else { Some(Termination::new().map_err(RunError::no_signals)?) };
    thread::scope(|scope| {
        controllers.iter_mut().try_for_each(|controller| controller.spawn_in(scope))?;
        let local = LocalExecutor::new();
        let ends: Vec<_> = controllers
            .into_iter()
            .map(|controller| local.spawn(async { controller.run_here().await.inspect_err(|_| stop_all()) }))
            .collect();
        if let Some(termination) = termination {
            let stop = async {
                termination.await;
                stop_all();
            };
            local.spawn(stop).detach();
        }
        let join = async {
            let mut first = Ok(());
            for end in ends {
                first = first.and(end.await);
            }
            first
        };
        crate::run(&clock, &Executor::new(), local.run(join))
    })
}

/// The candidate of an election, or for the lease of a member of shards. The tape of a replay says when the controller led,
/// so a replay has none.
fn membership(
    settings: &mut Settings,
    world: &World,
    own: &OwnKind,
) -> Result<(Option<Candidate>, Option<Member>), RunError> {
    let election = settings.election.take().filter(|_| !world.is_replay());
    let sharding = settings.sharding.take().filter(|_| !world.is_replay());
    match (election, sharding) {
        (None, None) => Ok((None, None)),
        (Some(election), None) => {
            let candidate = election.candidate(world).map_err(|error| RunError::Config(error.to_string()))?;
            Ok((Some(candidate), None))
        }
        (None, Some(sharding)) => {
            let joined = sharded::join(sharding, world, settings.drain, own);
            let (candidate, member) = joined.map_err(RunError::Config)?;
            Ok((Some(candidate), Some(member)))
        }
        (Some(_), Some(_)) => Err(RunError::Config("a controller has shards or an election, not both".into())),
    }
}

/// The clock that the controllers share; none without controllers.
fn clock_of(controllers: &[Running<'_>]) -> Result<Option<Clock>, RunError> {
    let Some((first, others)) = controllers.split_first() else { return Ok(None) };
    let clock = first.clock();
    match others.iter().find(|other| !other.clock().is_same(&clock)) {
        None => Ok(Some(clock)),
        Some(other) => Err(RunError::Config(format!(
            "the controllers {} and {} have different clocks; give their worlds one clock",
            first.name(),
            other.name()
        ))),
    }
}

impl Running<'static> {
    /// Starts the controller on threads of its own, and returns at once. Dropping [`Started`] ends it.
    ///
    /// # Errors
    /// [`RunError::System`] if the system starts no thread.
    pub fn start(self) -> Result<Started, RunError> {
        let ((ended, end), (abort, aborted)) = (bounded(1), bounded::<()>(1));
        let (name, clock, handle, controller) = (self.name(), self.clock(), self.handle(), self.future());
        let main = move || {
            let aborted = async {
                let _closed = aborted.recv().await;
                None
            };
            let end = or(async { Some(controller.await) }, aborted);
            if let Some(end) = crate::run(&clock, &Executor::new(), end) {
                _ = ended.try_send(end);
            }
        };
        let mut threads = Threads::default();
        threads.spawn(named(&name, "streams"), main).map_err(no_thread)?;
        Ok(Started { handle, end, _abort: abort, _threads: threads })
    }

    /// The controller as a future, which any executor runs. Streams and mappers run where it is polled, and the workers
    /// on threads of their own, from the first poll on. It hears of no signal; see [`Termination`].
    ///
    /// Dropping it ends everything: reconciles are dropped with their requests, watches that no other controller uses are
    /// closed, and the threads end. The drop waits 100 ms at most for reconciles that compute.
    ///
    /// Under a simulated clock, drop it on the thread that polled it; elsewhere it leaks.
    ///
    /// # Panics
    /// Under a simulated clock, if it is polled on two threads.
    #[expect(clippy::manual_async_fn, reason = "the bounds are promised")]
    pub fn future(self) -> impl Future<Output = Result<(), RunError>> + Send + 'static {
        async move {
            if self.clock().is_simulated() {
                return on_one_thread(move || self.run_here()).await;
            }
            let Self { streams, crews, handle: _ } = self;
            let mut threads = Threads::default();
            for crew in crews {
                let builder = named(&streams.ending.state.name, "workers");
                threads.spawn(builder, move || crew.run_to_end()).map_err(no_thread)?;
            }
            streams.run().await
        }
    }
}

async fn run_together(crews: Vec<Crew<'_>>) {
    let local = LocalExecutor::new();
    let crews: Vec<_> = crews.into_iter().map(|crew| local.spawn(crew.run())).collect();
    let join = async {
        for crew in crews {
            crew.await;
        }
    };
    local.run(join).await;
}

listwatch_core::summary!("Running" for Running<'_>, |it| { name: it.name() });

/// A controller that runs on threads of its own. Dropped, it ends at once: reconciles are dropped with their requests.
#[derive(Debug)]
#[must_use = "dropping it ends the controller"]
pub struct Started {
    handle: ControllerHandle,
    end: Receiver<Result<(), RunError>>,
    /// Dropped before the threads, which are waited for.
    _abort: Sender<()>,
    _threads: Threads,
}

impl Started {
    /// Reaches the controller.
    pub fn handle(&self) -> ControllerHandle {
        self.handle.clone()
    }

    /// Waits until the controller has ended; its [handle](Self::handle) stops it.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn join(self) -> Result<(), RunError> {
        smol::block_on(self.end.recv())
            .unwrap_or_else(|_| Err(RunError::Panicked("the controller's thread panicked".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Controller, Outcome, Report};
    use super::*;
    use crate::client::Client;
    use crate::decode::MetadataOnly;
    use crate::informers::World;
    use listwatch_core::Resource;
    use listwatch_core::api::{ApiFn, ApiRequest, ApiResponse};
    use listwatch_tests::silent::Silent;

    fn controller(on_report: impl Fn(&str, &Report<'_>) + Send + Sync + 'static) -> Running<'static> {
        let clock = Clock::simulated();
        let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
        let informers = Informers::new(World::from_parts(clock, client, |_| Box::new(Silent)));
        let foos = informers.informer_of::<MetadataOnly>(Resource::new("/api/v1/foos"));
        let controller = Controller::new("test", &informers).reconciles(&foos).on_report(on_report);
        controller.calls(async |_cx, _key| Ok(Outcome::Done))
    }

    #[test]
    fn an_owned_kind_without_a_source_is_warned_of_once() {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&said);
        let running = controller(move |_, report| told.lock().push(report.to_string()));
        let state = &running.streams.ending.state;
        for path in ["/api/v1/foos", "/api/v1/configmaps", "/api/v1/configmaps"] {
            state.warn_unfollowed(&"web/a".into(), path);
        }
        let warning = "web/a: OwnedKindNotFollowed: changes of /api/v1/configmaps wake no owner: \
                       add `.owns(&…)` with its informer to the controller";
        assert_eq!(*said.lock(), [warning]);
    }

    #[test]
    fn a_controller_whose_workers_are_gone_ends_with_an_error() {
        let mut running = controller(|_, _| {});
        // As a panic does.
        running.crews.clear();
        let ended = running.run();
        assert!(matches!(ended, Err(RunError::Panicked(_))), "{ended:?}");
    }
}
