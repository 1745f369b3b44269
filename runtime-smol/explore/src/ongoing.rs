//! What goes wrong in a run now, and until when.

use core::time::Duration;
use listwatch::testing::LAG;
use listwatch::time::Instant;

/// The troubles of a run that last.
#[derive(Debug, Default)]
pub(crate) struct Ongoing {
    stalls: Vec<(String, Instant)>,
    late: Vec<(String, Duration)>,
    forbidden: Vec<(String, Instant)>,
    behind: Option<Behind>,
    /// All troubles are over then, but for those during which the scenario goes on.
    over: Instant,
    /// Those are over then.
    over_long: Instant,
}

/// What the watch caches of an API server that lags have.
#[derive(Debug)]
pub(crate) struct Behind {
    /// The newest version that they have.
    pub(crate) version: u64,
    /// Of this resource; `None` for all.
    pub(crate) resource: Option<String>,
    pub(crate) until: Instant,
}

impl Ongoing {
    /// The scenario is held up until this time.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.over = self.over.max(until);
    }

    /// The watches of a resource stand still, and hold up the scenario.
    pub(crate) fn stall(&mut self, resource: &str, until: Instant) {
        self.stalls.push((resource.to_owned(), until));
        self.hold(until);
    }

    /// The watches of a resource stand still, while the scenario goes on.
    pub(crate) fn stall_long(&mut self, resource: &str, until: Instant) {
        self.stalls.push((resource.to_owned(), until));
        self.hold_long(until);
    }

    /// The end is held up until this time, while the scenario goes on.
    pub(crate) fn hold_long(&mut self, until: Instant) {
        self.over_long = self.over_long.max(until);
    }

    /// The watches of a resource are late, up to the end.
    pub(crate) fn delay(&mut self, resource: &str, late: Duration) {
        self.late.push((resource.to_owned(), late));
    }

    pub(crate) fn forbid(&mut self, resource: &str, until: Instant) {
        self.forbidden.push((resource.to_owned(), until));
        self.hold(until);
    }

    pub(crate) fn lag(&mut self, behind: Behind) {
        self.hold(behind.until);
        self.behind = Some(behind);
    }

    pub(crate) fn is_forbidden(&self, resource: &str, now: Instant) -> bool {
        self.forbidden.iter().any(|(forbidden, until)| forbidden == resource && now < *until)
    }

    /// When the scenario goes on at the earliest.
    pub(crate) fn over(&self) -> Instant {
        self.over
    }

    /// When nothing goes wrong any more.
    pub(crate) fn calm(&self) -> Instant {
        self.over.max(self.over_long)
    }

    /// When a watch tells of a change.
    pub(crate) fn told_at(&self, now: Instant, resource: &str, changed: Instant) -> Instant {
        let stalls = self.stalls.iter().filter(|(stalled, _)| stalled == resource).map(|(_, until)| *until);
        let late = self.late.iter().filter(|(late, _)| late == resource).map(|(_, late)| *late).max();
        let due = changed + late.unwrap_or(LAG);
        stalls.filter(|until| now < *until).fold(due, Instant::max)
    }

    /// When a watch cache has a change.
    pub(crate) fn cached_at(&self, now: Instant, resource: &str, version: u64, changed: Instant) -> Instant {
        let behind = self.behind.as_ref().filter(|behind| now < behind.until && behind.is_of(resource));
        behind.filter(|behind| version > behind.version).map_or(changed, |behind| behind.until)
    }
}

impl Behind {
    fn is_of(&self, resource: &str) -> bool {
        self.resource.as_ref().is_none_or(|it| it == resource)
    }
}
