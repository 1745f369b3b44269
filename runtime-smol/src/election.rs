//! Leader election: of many replicas of a program, one works at a time.
//!
//! Candidates take turns by a `Lease`, as client-go's `tools/leaderelection` does, and with candidates that it drives.
//! [`LeaderElector`] makes every decision; this module sends its requests, watches the lease and
//! reads the clock.
//!
//! | question | answer | in client-go |
//! |---|---|---|
//! | How does a controller run on one replica alone? | [`Reconciler::lead_by`](crate::controller::Reconciler::lead_by) | `LeaderElectionID` of controller-runtime |
//! | How does another program? | [`Candidate::run`] calls its work | `RunOrDie` |
//! | Who leads? May a write be sent now? When has work to stop? | [`Leadership`] | `IsLeader`, `GetLeader` |
//! | How does a candidate stand? | [`Leadership::status`]; of a controller [`ControllerHandle::election`](crate::controller::ControllerHandle::election) | `LeaderElectionRecord` |
//! | What is told? | [`ElectionReport`], to [`Election::on_report`] | `LeaderCallbacks` |
//! | What happens when the lease is lost? | [`WhenLost`]: the run ends with an error, unless it is told otherwise | `Run` returns |
//! | Which rights does a candidate need? | see below | the same, without `list` and `watch` |
//!
//! # Permissions
//!
//! ```yaml
//! kind: Role
//! apiVersion: rbac.authorization.k8s.io/v1
//! metadata: { name: leader-election, namespace: web }
//! rules:
//! - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create] }
//! - apiGroups: [coordination.k8s.io]
//!   resources: [leases]
//!   resourceNames: [my-controller]
//!   verbs: [get, update, list, watch]
//! ```
//!
//! Without `list` and `watch`, candidates read the lease every two to four seconds, and hear of a release that much later.
//!
//! # Machines that sleep
//!
//! A term ends by the [real clock](crate::Clock::real), which goes on while the machine sleeps. So a leader that wakes after
//! its term sends no write, although nothing has told its work yet. It hears of the loss within a retry period.
//!
//! # A program that works while it leads
//!
//! ```
//! use core::time::Duration;
//! use listwatch::election::Election;
//! use listwatch::testing::SimulatedCluster;
//! use listwatch::{Executor, World, run};
//!
//! let world = World::from(SimulatedCluster::new()); // in a program: `Cluster::infer()?`
//! let candidate = Election::new("nightly").identity("a").candidate(&world)?;
//! let clock = world.clock().clone();
//! let work = candidate.run(async |leadership| {
//!     assert_eq!(leadership.leader().as_deref(), Some("a"));
//!     clock.sleep(Duration::from_secs(60)).await; // the lease is renewed meanwhile
//!     "done"
//! });
//! assert_eq!(run(&clock, &Executor::new(), work)?, Some("done"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candidate;
mod leadership;
mod report;

pub use candidate::Candidate;
#[cfg(feature = "shards")]
pub(crate) use candidate::whole;
pub use leadership::{ElectionStatus, Leadership};
pub(crate) use leadership::{Turn, Work};
#[cfg(feature = "file")]
pub(crate) use report::is_lost;
pub(crate) use report::write_reason;
pub use report::{ElectionError, ElectionReport, WhenLost};

#[doc(no_inline)]
pub use listwatch_core::election::{ElectionConfig, ElectionConfigError, FencingToken, LeaderElector, StopReason};

use crate::clock::{Clock, SimulatedTime};
use crate::host::host;
use crate::informers::World;
use candidate::Tell;
use core::time::Duration;
use listwatch_core::Resource;

/// The settings of an election: a lease, and how this program is a candidate for it. The defaults are those of client-go.
///
/// ```
/// use core::time::Duration;
/// use listwatch::election::Election;
///
/// let election = Election::new("my-controller").namespace("web").lease_duration(Duration::from_secs(30));
/// ```
#[doc(alias("LeaderElectionConfig", "LeaderElectionID", "LeaseLock"))]
#[must_use = "an election does nothing without a candidate"]
pub struct Election {
    lease: String,
    namespace: Option<String>,
    config: ElectionConfig,
    is_watched: bool,
    when_lost: WhenLost,
    on_report: Option<Tell>,
}

impl Election {
    /// An election by the lease of this name.
    ///
    /// Two controllers of one program need two leases. With one lease they compete, and only one of them works at a time.
    pub fn new(lease: &str) -> Self {
        let (namespace, config) = (None, ElectionConfig::new(""));
        Self { lease: lease.to_owned(), namespace, config, is_watched: true, when_lost: WhenLost::End, on_report: None }
    }

    /// The namespace of the lease; by default that of the pod, or of the kubeconfig's context.
    #[doc(alias = "LeaderElectionNamespace")]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The name of this candidate in the lease, which no other life of a program may have; by default the host's name
    /// with a random part, and `simulated-1`, `simulated-2` and so on under a simulated clock.
    pub fn identity(mut self, identity: &str) -> Self {
        identity.clone_into(&mut self.config.identity);
        self
    }

    /// For how long the others leave an unchanged lease to its holder: whole seconds; 15 s by default.
    #[doc(alias = "LeaseDuration")]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.config.lease_duration = duration;
        self
    }

    /// For how long this candidate leads after it sent its last successful renewal; 10 s by default.
    #[doc(alias = "RenewDeadline")]
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.config.renew_deadline = deadline;
        self
    }

    /// The time between two renewals; 2 s by default.
    #[doc(alias = "RetryPeriod")]
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.config.retry_period = period;
        self
    }

    /// The deadline of one request; 5 s by default.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.config.request_timeout = timeout;
        self
    }

    /// Adds a label to the lease. Others are kept.
    #[doc(alias = "LeaderElectionLabels")]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.config.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Whether the lease is released at the end, after all work has stopped; by default it is, so that another candidate
    /// leads at once. Otherwise it expires.
    #[doc(alias("LeaderElectionReleaseOnCancel", "ReleaseOnCancel"))]
    pub fn release(mut self, is_released: bool) -> Self {
        self.config.release = is_released;
        self
    }

    /// Whether the lease is watched; by default it is, unless the server denies that. Otherwise it is read after each retry
    /// period.
    pub fn watched(mut self, is_watched: bool) -> Self {
        self.is_watched = is_watched;
        self
    }

    /// What follows a loss of the term; by default the end of the run, as an error.
    pub fn when_lost(mut self, when_lost: WhenLost) -> Self {
        self.when_lost = when_lost;
        self
    }

    /// Calls `on_report` with each report, on the task that renews the lease: it must return soon. If it panics, the
    /// election goes on. Without it, reports go to [`World::on_report_line`], or to standard error.
    ///
    /// The reports of a controller's election are those [of the controller](crate::controller::Report::Election), too.
    #[doc(alias = "LeaderCallbacks")]
    pub fn on_report(mut self, on_report: impl Fn(&ElectionReport<'_>) + Send + Sync + 'static) -> Self {
        self.on_report = Some(Box::new(on_report));
        self
    }

    /// A candidate, in the cluster of this world.
    ///
    /// # Errors
    /// If the settings do not fit each other, or the lease has no namespace.
    pub fn candidate(self, world: &World) -> Result<Candidate, ElectionError> {
        let Self { lease, namespace, mut config, is_watched, when_lost, on_report } = self;
        let namespace = namespace.or_else(|| world.namespace().map(str::to_owned)).ok_or(ElectionError::NoNamespace)?;
        let clock = world.clock().clone();
        if config.identity.is_empty() {
            config.identity = default_identity(&clock);
        }
        config.seed = clock.random_seed();
        let (identity, release) = (config.identity.clone(), config.request_timeout);
        let elector = LeaderElector::new(&namespace, &lease, config)?;
        let leadership = Leadership::new(elector, clock, format!("{namespace}/{lease}"), identity, release);
        let leases = Resource::new("/apis/coordination.k8s.io/v1/leases").in_namespace(&namespace);
        let watched = is_watched.then_some((leases, lease));
        Ok(Candidate { leadership, world: world.clone(), watched, when_lost, on_report })
    }
}

listwatch_core::summary!("Election" for Election, |it| {
    lease: it.lease, namespace: it.namespace, config: it.config,
});

/// The host's name with a random part: no two lives of a program have the same one. Under a simulated clock, a number is the
/// same in each run.
pub(crate) fn default_identity(clock: &Clock) -> String {
    if let Some(number) = clock.simulation().map(SimulatedTime::number_candidate) {
        return format!("simulated-{number}");
    }
    let [high, low] = [(); 2].map(|()| clock.random_seed());
    format!("{}_{high:016x}{low:016x}", host())
}
