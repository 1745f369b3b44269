//! Fleets: a controller for each of many clusters, or namespaces, that come and go.

mod member;

use super::error::RunError;
use super::running::Running;
use super::termination::Termination;
use super::threads::{named, no_thread};
use crate::informers::World;
use crate::mutex::Mutex;
use crate::waiting::Waiting;
use core::num::NonZeroUsize;
use member::{Home, Order};
pub use member::{MemberState, MemberStatus};
use smol::channel::{Receiver, Sender, unbounded};
use smol::future::{or, pending, zip};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Wake;
use std::thread;

/// The members of a fleet: clusters or namespaces, each with a controller of its own. A clone is the same fleet.
///
/// A home controller says which members there are. It is any controller: here it follows Secrets, each with the
/// kubeconfig of a cluster. [`run`](Self::run) runs it, and the controller of each member:
///
/// ```no_run
/// use listwatch::controller::Fleet;
/// use listwatch::election::Election;
/// use listwatch::http::{Cluster, ClusterOptions};
/// use listwatch::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Clone, Deserialize)]
/// struct Member {
///     data: Kubeconfig,
/// }
/// #[derive(Clone, Deserialize)]
/// struct Kubeconfig {
///     kubeconfig: String, // in base64
/// }
/// kind!(Member, "v1", "secrets");
///
/// # fn decoded(base64: &str) -> Result<String, std::fmt::Error> { Ok(base64.to_owned()) }
/// # fn copier(name: &str, world: World) -> listwatch::controller::Running<'static> {
/// #     let controller = Controller::new(name, world);
/// #     let pods = controller.informer_of::<listwatch::decode::MetadataOnly>("v1/pods");
/// #     controller.reconciles(&pods).calls(async |_cx, _key| Ok(Outcome::Done))
/// # }
/// fn main() -> Result<(), RunError> {
///     let (fleet, home) = (Fleet::new(), Controller::new("fleet", Cluster::infer()?));
///     let secrets = home.informer_where::<Member>(|all| all.in_namespace("fleet").with_label_selector("member=yes"));
///     let members = fleet.clone();
///     let home = home.reconciles(&secrets).lead_by(Election::new("fleet")).calls(async move |_cx, key| {
///         let Some(secret) = secrets.get(&key) else {
///             members.remove(key.name());
///             return Ok(Outcome::Done);
///         };
///         let kubeconfig = decoded(&secret.data.kubeconfig)?;
///         members.put(key.name(), &kubeconfig, || ClusterOptions::new().interactive(false).kubeconfig_text(&kubeconfig))?;
///         Ok(Outcome::Done)
///     });
///     // `copier` makes the controller of a member, as `calls` returns it.
///     fleet.run(home, |name, world| copier(name, world))
/// }
/// ```
///
/// A kubeconfig is code: its exec plugin is a program that runs here. So only those may write these Secrets who may run
/// programs in this pod.
///
/// For the contexts of a kubeconfig, call [`put`](Self::put) before `run` for each. For the namespaces with a label, the
/// home controller follows Namespaces. Each member then has a clone of the home world, and its `name` is the namespace of
/// its informers.
///
/// # What a fleet promises
///
/// - Members share nothing but threads: each has its informers, its queue and its back-offs. A cluster that hangs, refuses
///   or floods delays no other one, except by the processor time of its answers.
/// - If a member's controller ends, it is [reported](super::Report::MemberEnded) by the home controller. It is made anew
///   after 1 s, then 2 s, up to 4 minutes.
/// - A member that is removed, or changed, finishes its reconciles first, as
///   [`Reconciler::drain`](super::Reconciler::drain) says. A name never has two controllers at a time.
/// - If the home controller has an election, members send changes only while this replica leads. So one lease serves the
///   whole fleet; the controllers of members need none.
/// - The members' reconciles are on a few [threads](Self::threads). One that blocks holds up the members of its thread, and
///   is not [reported](super::Report::Blocking); [`Context::blocking`](super::Context::blocking) holds up none.
#[derive(Clone, Debug, Default)]
pub struct Fleet(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Woken at each change of the state.
    waiting: Arc<Waiting>,
}

#[derive(Debug, Default)]
struct State {
    members: BTreeMap<Arc<str>, Member>,
    phase: Phase,
    threads: Option<NonZeroUsize>,
}

#[derive(Debug)]
enum Phase {
    /// Before the run: those that nobody follows yet.
    Waiting(Vec<Order>),
    /// One lane for each thread, and how many members came.
    Open(Vec<Sender<Order>>, usize),
    /// Members finish their reconciles.
    Draining,
    /// Members end at once.
    Cut,
}

impl Default for Phase {
    fn default() -> Self {
        Self::Waiting(Vec::new())
    }
}

#[derive(Debug)]
struct Member {
    /// None if it is to go.
    version: Option<Box<str>>,
    /// What it becomes.
    changes: Sender<Option<World>>,
    state: MemberState,
}

impl Fleet {
    /// A fleet without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Distributes the members over so many threads; as many as there are processors by default. Under a simulated clock,
    /// everything runs on the thread that calls [`run`](Self::run).
    #[must_use]
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        self.0.state.lock().threads = Some(threads);
        self
    }

    /// Adds the member `name`, or gives it another world. `world` is called if the member is new, or if `version` is not
    /// that of its last call. Such a version is the text that the world is made of. Returns whether the member has a new
    /// world. It has none once the fleet has ended.
    ///
    /// # Errors
    /// That of `world`. The member is then as it was.
    pub fn put<W: Into<World>, E>(
        &self,
        name: &str,
        version: &str,
        world: impl FnOnce() -> Result<W, E>,
    ) -> Result<bool, E> {
        if !self.0.state.lock().takes(name, version) {
            return Ok(false);
        }
        let world = world()?.into();
        Ok(self.0.state.lock().put(name, version, world))
    }

    /// Removes a member, whose reconciles finish. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.0.state.lock().members.get_mut(name).is_some_and(Member::go)
    }

    /// The members in the order of their names, also those that finish their last reconciles.
    pub fn members(&self) -> Vec<MemberStatus> {
        let state = self.0.state.lock();
        let status = |(name, member): (&Arc<str>, &Member)| MemberStatus {
            name: Arc::clone(name),
            is_leaving: member.version.is_none(),
            state: member.state.clone(),
        };
        state.members.iter().map(status).collect()
    }

    /// Runs the home controller, and the controller that `controller` makes for each member, from its name and its world.
    ///
    /// It ends by SIGTERM or Ctrl-C: first the members finish their reconciles, then the home controller does, which
    /// releases its lease. It also ends with the home controller. If that one fails, the members end at once.
    ///
    /// # Errors
    /// That of the home controller, and [`RunError::Config`] for a fleet that has run before.
    pub fn run<'a>(
        &self,
        mut home: Running<'a>,
        controller: impl Fn(&str, World) -> Running<'static> + Sync,
    ) -> Result<(), RunError> {
        let (clock, name, handle) = (home.clock(), home.name(), home.handle());
        let termination =
            if clock.is_simulated() { None } else { Some(Termination::new().map_err(RunError::no_signals)?) };
        let lanes = self.open(clock.is_simulated())?;
        let at = Home::of(self, &home, &controller);
        thread::scope(|scope| {
            let closing = Closing(self);
            home.spawn_in(scope)?;
            let mut here = None;
            for lane in lanes {
                if clock.is_simulated() {
                    here = Some(lane);
                } else {
                    let attend = || smol::block_on(at.attend(lane));
                    named(&name, "members").spawn_scoped(scope, attend).map_err(no_thread)?;
                }
            }
            let stopped = async {
                match termination {
                    Some(termination) => termination.await,
                    None => pending().await,
                }
                self.close(Phase::Draining);
                self.emptied().await;
                handle.stop();
                pending().await
            };
            let main = async {
                let end = or(home.run_here(), stopped).await;
                self.close(if end.is_ok() { Phase::Draining } else { Phase::Cut });
                self.emptied().await;
                drop(closing);
                end
            };
            let here = async {
                if let Some(lane) = here {
                    at.attend(lane).await;
                }
            };
            crate::run(&clock, &async_executor::Executor::new(), zip(main, here)).0
        })
    }

    /// The lanes of the threads, with the members that came before.
    fn open(&self, is_simulated: bool) -> Result<Vec<Receiver<Order>>, RunError> {
        let mut state = self.0.state.lock();
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = if is_simulated { 1 } else { state.threads.unwrap_or_else(processors).get() };
        let (lanes, opened) = (0..threads).map(|_| unbounded()).unzip();
        let Phase::Waiting(orders) = core::mem::replace(&mut state.phase, Phase::Open(lanes, 0)) else {
            state.phase = Phase::Cut;
            return Err(RunError::Config("this fleet has run before; make a new one".to_owned()));
        };
        orders.into_iter().for_each(|order| state.phase.take(order));
        Ok(opened)
    }

    /// Takes no members any more, and lets those end that are there.
    fn close(&self, phase: Phase) {
        let mut state = self.0.state.lock();
        if !matches!(state.phase, Phase::Cut) {
            state.phase = phase;
        }
        state.members.values_mut().for_each(|member| _ = member.go());
        drop(state);
        self.0.waiting.wake_by_ref();
    }

    /// Waits until no member is left.
    async fn emptied(&self) {
        self.0.waiting.until(|| self.0.state.lock().members.is_empty().then_some(())).await;
    }

    /// Waits until members are to end at once.
    async fn cut(&self) {
        self.0.waiting.until(|| matches!(self.0.state.lock().phase, Phase::Cut).then_some(())).await;
    }

    /// Forgets a member that is to go. False if it is to come back.
    fn forget(&self, name: &str, changes: &Receiver<Option<World>>) -> bool {
        let mut state = self.0.state.lock();
        let is_over = changes.is_empty();
        if is_over {
            state.members.remove(name);
        }
        drop(state);
        self.0.waiting.wake_by_ref();
        is_over
    }

    fn note(&self, name: &str, now: MemberState) {
        self.0.state.lock().members.get_mut(name).into_iter().for_each(|member| member.state = now.clone());
    }
}

impl State {
    fn takes(&self, name: &str, version: &str) -> bool {
        let is_same = |member: &Member| member.version.as_deref() == Some(version);
        self.phase.takes() && !self.members.get(name).is_some_and(is_same)
    }

    fn put(&mut self, name: &str, version: &str, world: World) -> bool {
        if !self.phase.takes() {
            return false;
        }
        let version = Some(version.into());
        if let Some(member) = self.members.get_mut(name) {
            member.version = version;
            return member.changes.try_send(Some(world)).is_ok();
        }
        let ((changes, order), name) = (unbounded(), Arc::<str>::from(name));
        let is_sent = changes.try_send(Some(world)).is_ok();
        self.phase.take(Order { name: Arc::clone(&name), changes: order });
        self.members.insert(name, Member { version, changes, state: MemberState::Starting });
        is_sent
    }
}

impl Phase {
    fn takes(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Open(..))
    }

    fn take(&mut self, order: Order) {
        match self {
            Self::Waiting(orders) => orders.push(order),
            Self::Open(lanes, count) => {
                _ = lanes[*count % lanes.len()].try_send(order);
                *count += 1;
            }
            Self::Draining | Self::Cut => {}
        }
    }
}

impl Member {
    /// Lets it go. False if it is going already.
    fn go(&mut self) -> bool {
        self.version.take().is_some() && self.changes.try_send(None).is_ok()
    }
}

/// Ends the members at once, also if the home controller panics.
struct Closing<'f>(&'f Fleet);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close(Phase::Cut);
    }
}
