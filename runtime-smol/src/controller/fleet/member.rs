//! The life of a member: its controllers, one after the other.

use super::super::error::RunError;
use super::super::handle::ControllerHandle;
use super::super::report::Report;
use super::super::running::Running;
use super::super::state::ControllerState;
use super::Fleet;
use crate::caught::{Caught, caught, caught_call};
use crate::informers::World;
use crate::stable_hash::StableHash;
use async_executor::LocalExecutor;
use core::pin::pin;
use core::time::Duration;
use listwatch_core::Instant;
use smol::channel::Receiver;
use smol::future::or;
use std::sync::Arc;

/// A member of a fleet. [`Fleet::members`] returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemberStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is removed, and finishes its reconciles.
    pub is_leaving: bool,
    /// What its controller does.
    pub state: MemberState,
}

/// What the controller of a member does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MemberState {
    /// It has not been made yet.
    Starting,
    /// It runs, and is reached by this handle.
    Running(ControllerHandle),
    /// It has ended, and is made anew.
    Waiting {
        /// Why it ended.
        why: String,
        /// When it is made anew.
        until: Instant,
    },
}

/// A member to be followed.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) name: Arc<str>,
    pub(super) changes: Receiver<Option<World>>,
}

/// What the members need of their fleet and its home controller.
pub(super) struct Home<'f, F> {
    fleet: &'f Fleet,
    state: Arc<ControllerState>,
    make: &'f F,
}

/// The waits between the end of a controller and the next one: the first and the longest.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(240));

/// After so long a run, the next wait is the first one again.
const HEALTHY: Duration = Duration::from_secs(600);

/// What ends a controller of a member.
enum End {
    /// The member is to become this.
    Changed(Box<Option<World>>),
    Ended(String),
}

impl<'f, F: Fn(&str, World) -> Running<'static> + Sync> Home<'f, F> {
    pub(super) fn of(fleet: &'f Fleet, home: &Running<'_>, make: &'f F) -> Self {
        Self { fleet, state: Arc::clone(home.state()), make }
    }

    /// Follows the members of a lane until it is closed and all of them have gone.
    pub(super) async fn attend(&self, lane: Receiver<Order>) {
        let local = LocalExecutor::new();
        let all = async {
            let mut followed = Vec::new();
            while let Ok(order) = lane.recv().await {
                followed.retain(|member: &async_executor::Task<()>| !member.is_finished());
                followed.push(local.spawn(self.follow(order)));
            }
            for member in followed {
                member.await;
            }
        };
        local.run(all).await;
    }

    async fn follow(&self, order: Order) {
        let Order { name, changes } = order;
        let (mut world, mut failures) = (None, 0);
        loop {
            world = match world {
                Some(world) => self.next_after(&name, world, &changes, &mut failures).await,
                None if self.fleet.forget(&name, &changes) => return,
                None => newest(&changes).await,
            };
        }
    }

    /// Runs a controller of the member, and waits after a failure. Returns what the member is to be then.
    async fn next_after(
        &self,
        name: &str,
        world: World,
        changes: &Receiver<Option<World>>,
        failures: &mut u32,
    ) -> Option<World> {
        let begun = self.state.clock.now();
        let why = match self.run(name, world.clone(), changes).await {
            End::Changed(next) => {
                *failures = 0;
                return *next;
            }
            End::Ended(why) => why,
        };
        let now = self.state.clock.now();
        *failures = if now.saturating_since(begun) > HEALTHY { 1 } else { failures.saturating_add(1) };
        let retry_in = self.wait_after(name, *failures);
        self.state.report(&Report::MemberEnded { member: name, why: &why, retry_in });
        self.fleet.note(name, MemberState::Waiting { why, until: now + retry_in });
        let waited = async {
            self.state.clock.sleep(retry_in).await;
            Some(world)
        };
        or(newest(changes), waited).await
    }

    /// Runs a controller until it ends, or the member changes. Its reconciles finish then.
    async fn run(&self, name: &str, world: World, changes: &Receiver<Option<World>>) -> End {
        let client = self.state.leadership.as_ref().map(|leadership| leadership.guarded(world.client()));
        let world = client.map_or_else(|| world.clone(), |client| world.clone().with_client(client));
        let running = match caught_call(|| (self.make)(name, world)) {
            Ok(running) => running,
            Err(panic) => return End::Ended(format!("the function that makes its controller panicked: {panic}")),
        };
        if !running.clock().is_same(&self.state.clock) {
            return End::Ended("its world has another clock; give all worlds one clock".to_owned());
        }
        let handle = running.handle();
        self.fleet.note(name, MemberState::Running(handle.clone()));
        let mut run = pin!(caught(running.run_here(), || false));
        let ended = async { End::Ended(why(run.as_mut().await)) };
        let end = or(async { End::Changed(Box::new(newest(changes).await)) }, ended).await;
        if let End::Changed(_) = end {
            handle.stop();
            or(async { _ = run.await }, self.fleet.cut()).await;
        }
        end
    }

    /// From the wait itself to a half more. Members that failed together come back apart.
    fn wait_after(&self, name: &str, failures: u32) -> Duration {
        let (first, longest) = WAITS;
        let wait = first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(longest);
        let drawn = StableHash::new().number(self.state.seed).text(name).number(failures.into()).finish();
        wait + wait.mul_f64(f64::from(drawn as u16) / f64::from(u16::MAX) / 2.0)
    }
}

/// The last of the changes that have come, once there is one.
async fn newest(changes: &Receiver<Option<World>>) -> Option<World> {
    // The fleet keeps the other end as long as it has the member.
    let mut newest = changes.recv().await.unwrap_or_default();
    while let Ok(next) = changes.try_recv() {
        newest = next;
    }
    newest
}

fn why(end: Caught<Result<(), RunError>>) -> String {
    match end {
        Caught::Done(Ok(())) => "its world has ended, or it was stopped".to_owned(),
        Caught::Done(Err(error)) => error.to_string(),
        Caught::Panicked(panic) => format!("it panicked: {panic}"),
        Caught::Stopped(_) => "it was stopped".to_owned(),
    }
}
