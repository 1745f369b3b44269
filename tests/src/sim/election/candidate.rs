//! A candidate: its machine, its clock, and its work.

use listwatch_core::Instant;
use listwatch_core::election::{ElectionConfig, ElectionEvent, LeaderElector, StopReason};
use listwatch_core::time::WallTime;
use std::time::Duration;

/// Nanoseconds of true time, which no candidate knows.
pub(super) type Time = u64;

pub(super) const SECOND: Time = 1_000_000_000;

/// A candidate, or a program that is over.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) elector: LeaderElector,
    /// Each life has another number, and another identity.
    pub(super) life: u64,
    clock: Clock,
    pub(super) work: Work,
    /// The program does nothing before this time, and its clock goes on.
    pub(super) stalled: Time,
    /// Its requests do not arrive before this time.
    pub(super) cut: Time,
    pub(super) is_watching: bool,
    /// It was asked to stop, and then it is over.
    pub(super) is_asked: bool,
    pub(super) is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Rests,
    /// It writes at this time.
    Writes(Time),
    /// It was told to stop, and has at this time; it still tries to write.
    Stops(Time),
}

/// A clock that runs fast or slow, and whose date is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Millionths of a second that it gains in each.
    pub(super) drift: i64,
    pub(super) epoch: Time,
    /// Seconds by which the date is wrong.
    pub(super) skew: i64,
}

impl Clock {
    pub(super) fn local(self, at: Time) -> Instant {
        let gained = i128::from(at) * i128::from(self.drift) / 1_000_000;
        Instant::from_nanos((i128::from(self.epoch) + i128::from(at) + gained) as u64)
    }

    /// The first moment at which this clock shows `local`.
    pub(super) fn true_time(self, local: Instant) -> Time {
        let since = i128::from(local.as_nanos()) - i128::from(self.epoch);
        let rate = i128::from(1_000_000 + self.drift);
        u64::try_from((since * 1_000_000 + rate - 1).div_euclid(rate) + 1).unwrap_or(0)
    }
}

impl Candidate {
    pub(super) fn new(config: ElectionConfig, life: u64, clock: Clock, now: Time) -> Self {
        let mut elector = LeaderElector::new("web", "it", config).expect("the configuration is valid");
        elector.start(clock.local(now));
        let work = Work::Rests;
        Self { elector, life, clock, work, stalled: 0, cut: 0, is_watching: false, is_asked: false, is_over: false }
    }

    pub(super) fn local(&self, now: Time) -> Instant {
        self.clock.local(now)
    }

    pub(super) fn wall(&self, now: Time) -> WallTime {
        // Some calendars stand still, and some go back.
        let passed = (now / 1_000) as i64 * (self.clock.skew % 3 - 1);
        WallTime::from_unix_micros(1_790_000_000_000_000 + self.clock.skew * 1_000_000 + passed)
    }

    /// When it acts next.
    pub(super) fn next(&self) -> Option<Time> {
        if self.is_over {
            return None;
        }
        let timer = self.elector.poll_timeout().map(|at| self.clock.true_time(at));
        let work = match self.work {
            Work::Rests => None,
            Work::Writes(at) | Work::Stops(at) => Some(at),
        };
        timer.into_iter().chain(work).min().map(|at| at.max(self.stalled))
    }

    /// Whether it may write, by its own clock.
    pub(super) fn may_write(&self, now: Time) -> bool {
        !self.is_over && self.elector.token(self.local(now)).is_some()
    }

    /// Takes an event. The reason, if work has to stop.
    pub(super) fn hear(&mut self, event: &ElectionEvent, now: Time, takes: Duration) -> Option<StopReason> {
        match event {
            ElectionEvent::Started(_) => {
                assert_eq!(self.work, Work::Rests, "work began before the last one had stopped");
                self.work = Work::Writes(now);
            }
            ElectionEvent::Stopping(reason) => {
                assert_ne!(self.work, Work::Rests, "there is no work to stop");
                if matches!(self.work, Work::Writes(_)) {
                    self.work = Work::Stops(now + takes.as_nanos() as u64);
                }
                return Some(reason.clone());
            }
            ElectionEvent::Ended { .. } => {
                assert_eq!(self.work, Work::Rests, "the election ended before the work had");
                self.is_over = true;
            }
            _ => {}
        }
        None
    }
}
