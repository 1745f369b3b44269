use crate::object::Version;
use crate::time::Instant;
use core::time::Duration;

/// Decides when a cache is saved: after a change, at most every so often, one at a time.
///
/// The caller passes on the version that the cache has, writes the state when [`poll_save`](Self::poll_save) says so, and
/// reports the end. Nothing is saved while the version stays the same. A bookmark moves the version, so it is saved too: a
/// watch from an old version may meet a 410.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::saved::Saver;
/// use listwatch_core::Instant;
///
/// let (second, version) = (Duration::from_secs(1), |version: &str| Some(version.into()));
/// let mut saver = Saver::new(30 * second);
/// let now = Instant::ZERO;
/// assert!(saver.poll_save(now, version("7").as_ref()), "the first state is saved at once");
/// saver.handle_saved(true);
///
/// assert!(!saver.poll_save(now + second, version("7").as_ref()), "it is saved");
/// assert_eq!(saver.poll_timeout(), None);
/// assert!(!saver.poll_save(now + second, version("8").as_ref()), "too soon");
/// assert_eq!(saver.poll_timeout(), Some(now + 30 * second));
/// assert!(saver.poll_save(now + 30 * second, version("9").as_ref()));
/// ```
#[derive(Clone, Debug)]
pub struct Saver {
    every: Duration,
    /// The version of the last whole state.
    saved: Option<Version>,
    /// The version of the state that is being written.
    saving: Option<Version>,
    /// Before this, nothing is written.
    next: Instant,
    due: Option<Instant>,
}

impl Saver {
    /// Nothing is saved yet. Two saves begin `every` apart at least.
    pub fn new(every: Duration) -> Self {
        Self { every, saved: None, saving: None, next: Instant::ZERO, due: None }
    }

    /// Notes that the state of `version` was restored at `now`, so it is saved already. The next one is due after the usual
    /// time: a program that crashes again and again would else write at each start.
    pub fn handle_restored(&mut self, now: Instant, version: &str) {
        self.saved = Some(version.into());
        self.next = now + self.every;
    }

    /// Notes that the server does not go on from the restored state, so the next one is saved at once.
    pub fn handle_outdated(&mut self) {
        self.next = Instant::ZERO;
    }

    /// Whether to write the state of this version now, which the cache has exactly
    /// ([`Informer::saveable_version`](crate::Informer::saveable_version)). If so, [`handle_saved`](Self::handle_saved)
    /// follows. `None` if the cache has no such version at the moment.
    #[must_use]
    pub fn poll_save(&mut self, now: Instant, version: Option<&Version>) -> bool {
        self.due = None;
        let Some(version) = version.filter(|version| self.saving.is_none() && self.is_unsaved(version)) else {
            return false;
        };
        if now < self.next {
            self.due = Some(self.next);
            return false;
        }
        self.next = now + self.every;
        self.saving = Some(version.clone());
        true
    }

    /// When to call [`poll_save`](Self::poll_save) again, although nothing has changed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Notes the end of the save that began last, and whether its state is the last whole one now. If not, the next one is
    /// due after the usual time.
    pub fn handle_saved(&mut self, is_saved: bool) {
        let saving = self.saving.take();
        if is_saved {
            self.saved = saving;
        } else {
            self.due = Some(self.next);
        }
    }

    /// Whether the last whole state is of another version, or there is none. At its end, a program saves then, however
    /// soon that is after the save before.
    pub fn is_unsaved(&self, version: &str) -> bool {
        self.saved.as_deref() != Some(version)
    }
}
