//! The cluster of a run, as a scenario and a judge have it.

use crate::course::Course;
use crate::outside::Outside;
use core::future::poll_fn;
use core::ops::Deref;
use core::task::Poll;
use core::time::Duration;
use listwatch::testing::SimulatedCluster;
use listwatch::time::Instant;
use std::sync::Arc;

/// The cluster of a run, as a scenario and an invariant have it: all methods of [`SimulatedCluster`], and these. A clone is
/// of the same run. The time is that of the run, so nobody else gives the cluster a clock.
#[derive(Debug)]
pub struct It<S = ()> {
    pub(crate) course: Arc<Course>,
    pub(crate) outside: Outside<S>,
}

impl<S> It<S> {
    /// Waits until the program has settled: two simulated seconds without a write, after all that disturbs it. Then the
    /// scenario makes its next step, which is a place of the run.
    ///
    /// A replica that waits for a Lease has not written either: where one may have to take over, let the scenario
    /// [sleep](Self::sleep) for longer than the Lease.
    ///
    /// If the plan leaves the program down for a step, nothing has been done when this returns. So a scenario does not
    /// assert what the program has done; [`Exploration::in_the_end`](crate::Exploration::in_the_end) does.
    pub async fn settled(&self) {
        let since = self.course.now();
        self.until(|| self.course.settled(since)).await;
        self.step().await;
    }

    /// Waits for a simulated time, and makes the next step then.
    pub async fn sleep(&self, time: Duration) {
        let due = self.course.now() + time;
        self.until(|| self.course.slept(due)).await;
        self.step().await;
    }

    /// What is outside of the cluster.
    #[must_use]
    pub fn outside(&self) -> &Outside<S> {
        &self.outside
    }

    async fn until(&self, is_due: impl Fn() -> Result<(), Instant>) {
        poll_fn(|_| if is_due().is_ok() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Lets the process meet the step, between two polls of the scenario.
    async fn step(&self) {
        let mut is_made = false;
        poll_fn(|_| {
            if core::mem::replace(&mut is_made, true) {
                return Poll::Ready(());
            }
            self.course.ask_step();
            Poll::Pending
        })
        .await;
    }
}

impl<S> Deref for It<S> {
    type Target = SimulatedCluster;

    fn deref(&self) -> &SimulatedCluster {
        &self.course.cluster
    }
}

impl<S> Clone for It<S> {
    fn clone(&self) -> Self {
        Self { course: Arc::clone(&self.course), outside: self.outside.clone() }
    }
}
