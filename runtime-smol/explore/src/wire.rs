//! The network of one process in a run.

use crate::course::Course;
use crate::place::{Place, is_lease};
use crate::plan::{Back, SHORT, Trouble};
use crate::value::fingerprint;
use core::fmt;
use listwatch::testing::{Fault, Network, Passage, Sent};
use listwatch::time::Instant;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a second replica while the process of this wire stands still, and lets the scenario go on meanwhile or not.
pub(crate) type Pause = Box<dyn Fn(bool) + Send + Sync>;

/// What the process of a wire sends and calls meets its troubles here.
pub(crate) struct Wire {
    pub(crate) course: Arc<Course>,
    is_dead: AtomicBool,
    pause: Pause,
}

/// How an effect outside of the cluster goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It happens, and its answer is told.
    Told,
    /// It happens, and is told as failed.
    Lost,
    /// It does not happen.
    Failed,
}

impl Wire {
    pub(crate) fn new(course: Arc<Course>, pause: Pause) -> Self {
        Self { course, is_dead: AtomicBool::new(false), pause }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_dead.load(Ordering::Acquire)
    }

    /// Nothing goes over it any more.
    pub(crate) fn cut(&self) {
        self.is_dead.store(true, Ordering::Release);
    }

    fn kill(&self, back: Back) {
        self.cut();
        self.course.kill(back);
    }

    /// The scenario makes its next step.
    pub(crate) fn on_step(&self) {
        let arrival = self.course.on_step(true);
        for trouble in &arrival.troubles {
            match trouble {
                Trouble::KilledBefore(back) | Trouble::KilledAfter(back) => self.kill(back.clone()),
                Trouble::Paused | Trouble::PausedLong => (self.pause)(*trouble == Trouble::PausedLong),
                trouble => self.course.on_ambient(&arrival.place, trouble),
            }
        }
    }

    /// An effect outside of the cluster is to happen, by `act`.
    pub(crate) fn on_call<R>(&self, name: &str, act: impl FnOnce() -> R) -> (Effect, Option<R>) {
        if self.is_gone() {
            return (Effect::Failed, None);
        }
        let arrival = self.course.arrive(&format!("CALL {name}"), 0, true);
        let (mut effect, mut last) = (Effect::Told, None);
        for trouble in &arrival.troubles {
            match trouble {
                Trouble::KilledBefore(back) => {
                    self.kill(back.clone());
                    effect = Effect::Failed;
                }
                Trouble::Failed | Trouble::Refused(_) => effect = Effect::Failed,
                Trouble::KilledAfter(back) => (effect, last) = (Effect::Lost, Some(back.clone())),
                Trouble::Lost => effect = Effect::Lost,
                Trouble::Paused | Trouble::PausedLong => (self.pause)(*trouble == Trouble::PausedLong),
                trouble => self.course.on_ambient(&arrival.place, trouble),
            }
        }
        let done = (effect != Effect::Failed).then(act);
        last.into_iter().for_each(|back| self.kill(back));
        (effect, done)
    }

    /// A trouble at a request that arrives.
    fn on_trouble(&self, place: &Place, trouble: &Trouble, passage: &mut Passage) {
        match trouble {
            trouble if trouble.meets_answer(place) => self.course.await_answer(place, trouble.clone()),
            Trouble::KilledBefore(back) => {
                self.kill(back.clone());
                *passage = Passage::Never;
            }
            Trouble::KilledAfter(back) => {
                self.kill(back.clone());
                *passage = Passage::Never;
            }
            Trouble::Lost => *passage = Passage::Fails(Fault::Lost),
            Trouble::Paused | Trouble::PausedLong => (self.pause)(*trouble == Trouble::PausedLong),
            Trouble::Refused(code) => *passage = Passage::Fails(Fault::Refused(*code)),
            trouble => {
                self.course.on_ambient(place, trouble);
                match trouble {
                    Trouble::Slow => *passage = Passage::Late(SHORT),
                    Trouble::Forbidden => *passage = Passage::Fails(Fault::Refused(403)),
                    _ => {}
                }
            }
        }
    }
}

/// The network that a wire is.
#[derive(Debug)]
pub(crate) struct Wired(pub(crate) Arc<Wire>);

impl Network for Wired {
    fn on_request(&self, request: &Sent<'_>) -> Passage {
        let wire = &*self.0;
        if wire.is_gone() {
            return Passage::Never;
        }
        if request.method == "GET" && is_lease(&request.resource) {
            wire.course.on_candidate(&request.key);
        }
        let arrival = wire.course.arrive(&request.to_string(), fingerprint(request.body), true);
        let mut passage = if arrival.is_forbidden { Passage::Fails(Fault::Refused(403)) } else { Passage::Open };
        for trouble in &arrival.troubles {
            wire.on_trouble(&arrival.place, trouble, &mut passage);
        }
        if wire.course.fault().is_some() {
            wire.cut();
            return Passage::Never;
        }
        passage
    }

    fn on_answer(&self, request: &Sent<'_>, status: u16) -> Passage {
        let wire = &*self.0;
        match wire.course.answer(request, &request.to_string(), status) {
            Some(Trouble::KilledAfter(back)) => {
                wire.kill(back);
                Passage::Never
            }
            Some(Trouble::Lost) => Passage::Fails(Fault::Lost),
            _ => Passage::Open,
        }
    }

    fn is_dead(&self) -> bool {
        self.0.is_gone()
    }

    fn told_at(&self, now: Instant, resource: &str, changed: Instant) -> Instant {
        self.0.course.told_at(now, resource, changed)
    }

    fn cached_at(&self, now: Instant, resource: &str, version: u64, changed: Instant) -> Instant {
        self.0.course.cached_at(now, resource, version, changed)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("is_dead", &self.is_gone()).finish_non_exhaustive()
    }
}
