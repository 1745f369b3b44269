//! The stand-ins of a run: controllers of its cluster, which nothing disturbs.

use crate::course::Course;
use crate::value::fingerprint;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use listwatch::Clock;
use listwatch::controller::RunError;
use listwatch::testing::SimulatedCluster;
use listwatch_stand_ins::StandIns;
use std::sync::atomic::{AtomicU32, Ordering};

/// Makes the stand-ins of a cluster.
pub(crate) type Make = Box<dyn Fn(&SimulatedCluster) -> StandIns + Send + Sync>;

/// The stand-ins of a run, if it has some.
#[derive(Debug)]
pub(crate) struct Beside {
    stand_ins: Option<StandIns>,
    /// How often they have begun.
    begun: AtomicU32,
}

type Running = Pin<Box<dyn Future<Output = Result<(), RunError>> + Send>>;

/// The stand-ins, as they run by the clock of one process.
pub(crate) struct Begun<'a> {
    beside: &'a Beside,
    clock: &'a Clock,
    nth: u32,
    running: Option<Running>,
}

impl Beside {
    /// The delays of each plan are its own, so that what depends on them differs between undisturbed runs, too.
    pub(crate) fn new(make: Option<&Make>, course: &Course, seed: u64) -> Self {
        let seed = seed ^ fingerprint(course.plan.to_string().as_bytes());
        Self { stand_ins: make.map(|make| make(&course.cluster).seed(seed)), begun: AtomicU32::new(0) }
    }

    pub(crate) fn begin<'a>(&'a self, clock: &'a Clock) -> Begun<'a> {
        let nth = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let running = self.stand_ins.as_ref().map(|stand_ins| Box::pin(stand_ins.run(clock)) as Running);
        Begun { beside: self, clock, nth, running }
    }
}

impl Begun<'_> {
    /// Lets them go on. If they began elsewhere since, their process stood still: they begin again, with new caches.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Result<(), RunError> {
        if self.nth != self.beside.begun.load(Ordering::Relaxed) {
            *self = self.beside.begin(self.clock);
        }
        match self.running.as_mut().map(|running| running.as_mut().poll(cx)) {
            Some(Poll::Ready(ended)) => ended,
            Some(Poll::Pending) | None => Ok(()),
        }
    }
}

impl fmt::Debug for Begun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun").field("nth", &self.nth).finish_non_exhaustive()
    }
}
