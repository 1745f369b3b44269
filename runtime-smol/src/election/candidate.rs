use super::drive::{Drive, Tell};
use super::error::ElectionError;
use super::leadership::Leadership;
use super::lost::WhenLost;
use super::report::ElectionReport;
use super::watch::LeaseWatch;
use crate::caught::{Caught, caught, caught_call};
use crate::informers::World;
use crate::stderr;
use crate::traced;
use core::fmt;
use listwatch_core::Resource;
use listwatch_core::election::StopReason;
use smol::future::{or, pending};
use std::sync::Arc;

/// A candidate for a lease, which does nothing until it is driven: by [`run`](Self::run), or by [`drive`](Self::drive)
/// beside a program that asks its [`Leadership`].
#[must_use = "a candidate does nothing until it is driven"]
pub struct Candidate {
    leadership: Leadership,
    world: World,
    /// The lease that is watched.
    watched: Option<(Resource, String)>,
    when_lost: WhenLost,
    on_report: Option<Tell>,
}

impl Candidate {
    pub(super) fn new(
        leadership: Leadership,
        world: World,
        watched: Option<(Resource, String)>,
        when_lost: WhenLost,
        on_report: Option<Tell>,
    ) -> Self {
        Self { leadership, world, watched, when_lost, on_report }
    }

    /// How it stands.
    #[must_use]
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// What it does after it has lost its term.
    #[must_use]
    pub fn when_lost(&self) -> WhenLost {
        self.when_lost
    }

    /// Tells `other` its reports, before the program's own function.
    pub(crate) fn telling(mut self, other: impl Fn(&ElectionReport<'_>) + Send + Sync + 'static) -> Self {
        let own = self.on_report.take();
        self.on_report = Some(Box::new(move |report| {
            other(report);
            own.iter().for_each(|own| own(report));
        }));
        self
    }

    /// Acquires the lease, and renews it until the candidacy [ends](Leadership::stop). Returns whether the lease was left
    /// free.
    ///
    /// The task that polls this renews the lease. If it computes for longer than the renew deadline, the term is lost, so a
    /// program with long computations gives it a thread of its own.
    ///
    /// A program that waits for [`Leadership::begun`] calls [`Leadership::stopped`] after each of its terms. One that asks for
    /// [`Leadership::token`] alone, or writes by a [guarded](Leadership::guarded) client, need not.
    pub async fn drive(mut self) -> bool {
        let tell = self.tell();
        self.drive_telling(tell).await
    }

    async fn drive_telling(self, tell: Arc<Tell>) -> bool {
        let Self { leadership, world, watched, .. } = self;
        // Before the watch: if that panics, no task drives the candidate.
        let mut drive = Drive::new(leadership, world.renewing_client().clone(), tell);
        drive.watch(watched.map(|(leases, name)| LeaseWatch::new(&world, leases, &name)));
        drive.await
    }

    /// The function that tells the operator. A panic of it has been printed by the panic hook.
    fn tell(&mut self) -> Arc<Tell> {
        let tell = self.on_report.take().unwrap_or_else(|| to_operator(&self.world, self.leadership.lease()));
        Arc::new(Box::new(move |report| _ = caught_call(|| tell(report))))
    }

    /// Calls `work` each time this candidate begins to lead, and drives the election beside it. When the work is done, the
    /// lease is released, and this returns its value; `None` if the candidacy was [stopped](Leadership::stop) before.
    ///
    /// A stop is told to the work by [`Leadership::over`]. Until the work is done, the lease is renewed. If the term is lost,
    /// the work is dropped at once. Its requests are safe if they go through [`Leadership::guarded`].
    ///
    /// # Errors
    /// [`ElectionError::Lost`] after a loss of the term, unless the candidate [rejoins](WhenLost::Rejoin);
    /// [`ElectionError::Panicked`] if the work panics: it is not called again, and the lease is released.
    #[doc(alias("RunOrDie", "OnStartedLeading"))]
    pub async fn run<R>(mut self, mut work: impl AsyncFnMut(Leadership) -> R) -> Result<Option<R>, ElectionError> {
        let (leadership, when_lost, tell) = (self.leadership(), self.when_lost, self.tell());
        let told = Arc::clone(&tell);
        let life = async {
            loop {
                if leadership.begun().await.is_none() {
                    return Ok(None);
                }
                let end = match term(&leadership, &mut work).await {
                    Err(ElectionError::Lost(_)) if when_lost == WhenLost::Rejoin => None,
                    end => Some(end.map(Some)),
                };
                if let Some(Err(ElectionError::Panicked(message))) = &end {
                    tell(&ElectionReport::Panicked { message });
                }
                if matches!(end, Some(Err(ElectionError::Lost(_)))) {
                    leadership.stop();
                }
                let Some(end) = end else {
                    leadership.stopped();
                    continue;
                };
                leadership.finished();
                leadership.ended().await;
                return end;
            }
        };
        let driven = async {
            self.drive_telling(told).await;
            // The life ends by it.
            pending().await
        };
        or(life, driven).await
    }
}

/// The work of one term.
async fn term<R>(leadership: &Leadership, work: &mut impl AsyncFnMut(Leadership) -> R) -> Result<R, ElectionError> {
    let worked = async { Ok(work(leadership.clone()).await) };
    let lost = async { Err(leadership.lost().await) };
    // The loss comes first: a write after it is refused.
    match caught(or(lost, worked), || false).await {
        Caught::Done(done) => done.map_err(ElectionError::Lost),
        Caught::Stopped(_) => Err(ElectionError::Lost(StopReason::Asked)),
        Caught::Panicked(message) => Err(ElectionError::Panicked(message)),
    }
}

/// Writes lines for operators.
fn to_operator(world: &World, lease: &str) -> Tell {
    let (world, lease) = (world.clone(), lease.to_owned());
    Box::new(move |report| {
        let is_traced = traced::election(None, &lease, report);
        match world.on_line() {
            Some(on_line) => on_line(&format!("lease {lease}: {report}")),
            None if is_traced => {}
            None => stderr::write_line(world.clock(), format_args!("lease {lease}: {report}")),
        }
    })
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("leadership", &self.leadership).finish_non_exhaustive()
    }
}
