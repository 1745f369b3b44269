//! A controller: a display that has a row for each app, with the number of its objects and of those that are ready.
//!
//! A change of an object wakes its app, as an owner is woken. The reconcile of an app counts in the cache.

use crate::line::{APP, Shown};
use crate::told::old;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::informer::EventOf;
use listwatch_core::projection::Text;
use listwatch_core::queue::{ExponentialBackoff, Outcome, WorkQueueIn};
use listwatch_core::storage::{Keyed, Mem};

/// The rows of the display.
pub const ROWS: usize = 16;

/// The display is busy each so many times, and the write is tried again later.
const BUSY: u32 = 7;

/// The name of an app.
pub type App = Text<APP>;

/// What the display shows of an app: the number of its objects, and how many of them are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All objects.
    pub all: usize,
    /// Those that are ready.
    pub ready: usize,
}

/// The display, and the queue of the apps that have changed.
pub struct Panel<M: Mem> {
    queue: WorkQueueIn<App, ExponentialBackoff, M>,
    rows: [Option<(App, Count)>; ROWS],
    now: Instant,
    writes: u32,
}

impl<M: Mem> Panel<M> {
    /// A display that shows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queue: WorkQueueIn::new(ExponentialBackoff::default()),
            rows: [const { None }; ROWS],
            now: Instant::ZERO,
            writes: 0,
        }
    }

    /// Adds the apps that a change concerns.
    ///
    /// # Errors
    /// If the queue is full, or the name of an app is too long.
    pub fn add<V: Shown + Keyed>(&mut self, event: &EventOf<V>) -> Result<(), &'static str> {
        for object in old(event).into_iter().chain(event.object()) {
            let mut app = App::new();
            app.push(object.app()).map_err(|_| "the name of an app is too long")?;
            self.queue.try_add(app).map_err(|_| "the queue is full")?;
        }
        Ok(())
    }

    /// Reconciles the apps that are ready, and lets a millisecond pass. `count` counts the objects of an app.
    ///
    /// # Errors
    /// If the display has no row left.
    pub fn work(&mut self, count: impl Fn(&str) -> Count) -> Result<(), &'static str> {
        self.now = self.now + Duration::from_millis(1);
        self.queue.handle_timeout(self.now);
        while let Some(job) = self.queue.poll_job() {
            let app = self.queue.key(&job).clone();
            let outcome = self.write(&app, count(&app))?;
            self.queue.finish(self.now, job, outcome);
        }
        Ok(())
    }

    /// Whether a failed write waits to be tried again.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.queue.poll_timeout().is_some()
    }

    /// How often a row was written.
    #[must_use]
    pub fn writes(&self) -> u32 {
        self.writes
    }

    /// Compares the display with what `count` says now.
    ///
    /// # Errors
    /// If a row differs, or not all of the `objects` are shown.
    pub fn check(&self, objects: usize, count: impl Fn(&str) -> Count) -> Result<(), &'static str> {
        let mut shown = 0;
        for (app, row) in self.rows.iter().flatten() {
            if *row != count(app) {
                return Err("a row of the display is not what the cache has");
            }
            shown += row.all;
        }
        if shown == objects { Ok(()) } else { Err("the display does not show every object") }
    }

    fn write(&mut self, app: &App, count: Count) -> Result<Outcome, &'static str> {
        self.writes += 1;
        if self.writes.is_multiple_of(BUSY) {
            return Ok(Outcome::Retry);
        }
        let row = self.rows.iter_mut().find(|row| row.as_ref().is_none_or(|(known, _)| known == app));
        *row.ok_or("the display is full")? = Some((app.clone(), count));
        Ok(Outcome::Done)
    }
}

impl<M: Mem> Default for Panel<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts objects.
pub fn count<'a, V: Shown + 'a>(objects: impl Iterator<Item = &'a V>) -> Count {
    objects.fold(Count::default(), |count, object| Count {
        all: count.all + 1,
        ready: count.ready + usize::from(object.is_ready()),
    })
}
