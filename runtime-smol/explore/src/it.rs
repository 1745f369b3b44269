//! The cluster of a run, as a scenario and a judge have it.

use crate::course::Course;
use crate::outside::Outside;
use core::future::poll_fn;
use core::ops::Deref;
use core::panic::Location;
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
    /// A replica that waits for the Lease of one that is gone has not settled before it leads. The wait for it ends after
    /// twice the duration of the Lease and half a minute, and at once if another client renews the Lease.
    ///
    /// If the plan leaves the program down for a step, nothing has been done when this returns. So a scenario does not
    /// assert what the program has done; [`Exploration::in_the_end`](crate::Exploration::in_the_end) does.
    #[track_caller]
    pub fn settled(&self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            let since = self.course.now();
            self.until(|| self.course.settled(since)).await;
            self.step(at).await;
        }
    }

    /// Waits for a simulated time, and makes the next step then.
    #[track_caller]
    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            let due = self.course.now() + time;
            self.until(|| self.course.slept(due)).await;
            self.step(at).await;
        }
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
    async fn step(&self, at: &'static Location<'static>) {
        let mut is_made = false;
        poll_fn(|_| {
            if core::mem::replace(&mut is_made, true) {
                return Poll::Ready(());
            }
            self.course.ask_step(at);
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
