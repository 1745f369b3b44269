//! Going on from a state that was saved: a list of one object shows first how far the server is.

use super::call::Purpose;
use super::{Activity, Failure, Reflector, Step, Then};
use crate::object::{Version, compare_versions};
use crate::request::Verb;
use core::cmp::Ordering;

/// A saved state, from which the reflector goes on. It is gone once the cache is as recent as the server was.
#[derive(Debug, Default)]
pub(super) struct Resume {
    /// The caller has yet to say whether this server is that of the saved state.
    is_held: bool,
    /// The state lacks objects, so a list follows in place of the watch.
    lists: bool,
    /// The version that the server has shown.
    shown: Option<Version>,
    /// How many answers in a row were unusable, or refused the list.
    pub(super) refused: u32,
}

impl Reflector {
    /// Lets the next start go on from a saved state of `version`, without a list of all objects.
    ///
    /// The first request is a list with `limit=1`. If its version is at least `version`, a watch from `version` follows,
    /// else a list: the server was restored from a backup, or it is another one. A server answers a watch from a version
    /// of its future with silence.
    ///
    /// If `held`, no watch follows before [`Input::Confirmed`](super::Input::Confirmed).
    ///
    /// Returns false, and does nothing, if the reflector was started or has a version, or if `version` is not a decimal
    /// number above zero: there is no order then.
    #[must_use]
    pub fn resume(&mut self, version: &str, held: bool) -> bool {
        let is_usable = compare_versions(version, "0") == Ok(Ordering::Greater);
        let is_fresh = matches!(self.activity, Activity::Idle) && self.versions.reached.is_none();
        if is_usable && is_fresh {
            self.versions.reached = Version::copied(version);
            self.resume = Some(Resume { is_held: held, ..Resume::default() });
        }
        is_usable && is_fresh
    }

    /// Lets a list follow in place of the watch.
    #[cfg(feature = "alloc")]
    pub(crate) fn list_resumed(&mut self) {
        self.resume.iter_mut().for_each(|resume| resume.lists = true);
    }

    /// Whether only [`Input::Confirmed`](super::Input::Confirmed) is missing for the watch from a saved version.
    pub fn is_held(&self) -> bool {
        matches!(self.activity, Activity::Held)
    }

    /// Whether the state is a saved one, and perhaps older than the server's when the reflector started.
    pub(crate) fn is_resuming(&self) -> bool {
        self.resume.is_some()
    }

    /// Whether a watch from the version would bring every change that was not received. It would not if a list is due, if the
    /// cache lacks objects, or if not even the key of an item or an event was readable.
    pub(crate) fn is_exact(&self) -> bool {
        let is_watching = match &self.activity {
            Activity::Requesting(call) => call.watch().is_some() && !call.doubt.is_some(),
            Activity::Waiting { then, .. } => *then == Then::Watch,
            Activity::Idle | Activity::Stopped | Activity::Held => false,
        };
        is_watching && !self.is_partial && self.lacking.is_none()
    }

    /// Begins: where a state was saved, with that.
    pub(super) fn begin(&mut self) {
        match (&self.resume, &self.versions.reached) {
            (Some(_), Some(_)) => self.ask_version(),
            _ => self.synchronize(),
        }
    }

    /// Asks for the server's version, by a list of one object.
    pub(super) fn ask_version(&mut self) {
        self.began = self.now;
        let one = Verb::List { limit: Some(1), continue_token: None, resource_version: None };
        self.request(Purpose::Version, one);
    }

    /// The list of one object is complete. The object is not staged.
    pub(super) fn on_shown(&mut self, version: &str) -> Step {
        let Some(last) = self.versions.reached.clone() else { return Step::Nothing };
        match compare_versions(version, &last) {
            Ok(Ordering::Less) => {
                self.versions.note_older(true);
                self.on_closed(Failure::BackInTime { version: Version::copied(version).unwrap_or_default(), last })
            }
            Ok(_) => {
                self.on_as_recent(version);
                Step::Discard
            }
            Err(_) => self.on_closed(Failure::NotAList),
        }
    }

    /// The server is as recent as the saved state, or more recent.
    fn on_as_recent(&mut self, version: &str) {
        self.last_heard = self.now;
        if let Some(outage) = &mut self.outage {
            outage.interrupted = true;
        }
        self.activity = Activity::Held;
        if let Some(resume) = &mut self.resume {
            resume.shown = Version::copied(version);
            if !resume.is_held {
                self.watch_saved();
            }
        }
    }

    /// Handles [`Input::Confirmed`](super::Input::Confirmed).
    pub(super) fn on_confirmed(&mut self, same: bool) {
        let Some(resume) = self.resume.as_mut().filter(|resume| resume.is_held) else { return };
        resume.is_held = false;
        if !same {
            self.forget_saved();
        } else if matches!(self.activity, Activity::Held) {
            self.watch_saved();
        }
    }

    fn watch_saved(&mut self) {
        if self.resume.as_ref().is_some_and(|resume| resume.lists) {
            return self.synchronize();
        }
        self.watch();
        self.note_resumed();
    }

    /// The server's history is another one than that of the known objects.
    pub(super) fn on_overtaken(&mut self) {
        self.relist_foreign(|purpose| matches!(purpose, Purpose::Watch(_)));
    }

    /// The saved state is another server's: it is listed from nothing.
    fn forget_saved(&mut self) {
        (self.versions.reached, self.resume) = (None, None);
        self.relist_foreign(|purpose| matches!(purpose, Purpose::Version));
    }

    /// Reads the state again without a comparison of versions: at once in place of such a request, else after the wait.
    fn relist_foreign(&mut self, is_replaced: impl Fn(&Purpose) -> bool) {
        self.versions.foreign = true;
        match &mut self.activity {
            Activity::Waiting { then, .. } => *then = Then::Relist,
            Activity::Requesting(call) if !is_replaced(&call.purpose) => {}
            Activity::Requesting(_) => {
                self.abandon();
                self.synchronize();
            }
            Activity::Held => self.synchronize(),
            Activity::Idle | Activity::Stopped => {}
        }
    }

    /// Forgets that the state was a saved one, once it is as recent as the server has shown to be.
    pub(super) fn note_resumed(&mut self) {
        let shown = self.resume.as_ref().and_then(|resume| resume.shown.as_deref());
        let is_reached = |shown| compare_versions(self.versions.reached.as_deref()?, shown).ok().map(Ordering::is_ge);
        if shown.and_then(is_reached) == Some(true) {
            self.resume = None;
        }
    }
}
