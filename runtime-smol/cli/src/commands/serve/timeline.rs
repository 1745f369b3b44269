//! The time of the recording: when each of its steps enters the cluster.

use super::site::Site;
use listwatch::Clock;
use listwatch::file::{CaptureError, History, HistoryChange, HistoryStep, Unreadable};
use listwatch::time::WallTime;
use smol::future::{or, yield_now};
use std::time::Duration;

/// How many steps that are due at once are taken before other tasks go on.
const AT_ONCE: usize = 64;

/// A history on its way into the cluster.
pub(super) struct Timeline {
    history: History,
    next: Option<HistoryStep>,
    /// The date at which the recording began, or a guess.
    pub(super) began: WallTime,
    /// How far it is, since the recording began.
    pub(super) position: Duration,
}

/// How time passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    pub(super) speed: f64,
    /// Whether time passes while no watch is open, too.
    pub(super) unattended: bool,
}

impl Timeline {
    pub(super) fn new(mut history: History) -> Self {
        let next = history.next();
        let position = history.origin();
        let began = history.began().unwrap_or(WallTime::UNIX_EPOCH);
        Self { history, next, began, position }
    }

    /// The end of the recording, since it began.
    pub(super) fn end(&self) -> Duration {
        self.history.end()
    }

    /// The fault that cuts the recording, or the place where its data breaks off.
    pub(super) fn error(&self) -> Option<&CaptureError> {
        self.history.error().or_else(|| self.history.cut())
    }

    /// The states that were left out up to here.
    pub(super) fn unreadable(&self) -> Option<&Unreadable> {
        self.history.unreadable()
    }

    /// The date of the position.
    pub(super) fn date(&self) -> WallTime {
        self.began + self.position
    }

    /// Takes the steps up to a time into the cluster.
    pub(super) fn skip_to(&mut self, time: Duration, site: &Site) {
        if let Some(first) = self.next.take_if(|step| step.at <= time) {
            let skipped = self.history.skip_to(time);
            [first].into_iter().chain(skipped).for_each(|step| self.enter(step, site));
            self.next = self.history.next();
        }
        self.position = self.position.max(time.min(self.history.end().max(self.position)));
    }

    /// Takes all steps into the cluster, each at its time.
    pub(super) async fn play(&mut self, site: &Site, passing: Passing, clock: &Clock) {
        let mut at_once = 0;
        while let Some(step) = self.next.take() {
            self.next = self.history.next();
            self.wait(step.at, site, passing, clock).await;
            let is_gap = matches!(step.change, HistoryChange::Relisted { .. });
            // A watch that was late would be told of the gap too early.
            if is_gap && !passing.unattended {
                site.audience.informed().await;
            }
            self.enter(step, site);
            if is_gap && !passing.unattended {
                site.audience.informed().await;
            }
            at_once += 1;
            if at_once % AT_ONCE == 0 {
                yield_now().await;
            }
        }
    }

    /// Waits until a time of the recording.
    async fn wait(&mut self, time: Duration, site: &Site, passing: Passing, clock: &Clock) {
        loop {
            if !passing.unattended {
                site.audience.present().await;
            }
            let rest = scaled(time.saturating_sub(self.position), passing.speed.recip());
            if rest.is_zero() {
                return;
            }
            let begun = clock.now();
            let sleep = clock.sleep_until(begun + rest);
            if passing.unattended {
                sleep.await;
            } else {
                or(sleep, site.audience.absent()).await;
            }
            let elapsed = clock.now().saturating_since(begun);
            self.position = if elapsed >= rest {
                time
            } else {
                time.min(self.position.saturating_add(scaled(elapsed, passing.speed)))
            };
        }
    }

    fn enter(&mut self, step: HistoryStep, site: &Site) {
        self.position = self.position.max(step.at);
        site.reach(self.began + self.position, &step.resource);
        site.audience.has_news();
        site.cluster.enter(site.clock.now(), step);
    }
}

/// A duration times a factor, or the longest one that can be represented.
fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}
