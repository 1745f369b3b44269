//! The start from a state that was saved.

use super::InformerIn;
use crate::cache::Cache;
use crate::decode::Decode;
use crate::object::Version;
#[cfg(feature = "alloc")]
use crate::reflector::{Input, Phase};
#[cfg(feature = "alloc")]
use crate::storage::Heap;
use crate::storage::Mem;
use crate::time::{Instant, Span, WallTime};
use core::fmt;
use core::time::Duration;

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// The version whose state the cache has exactly, so that both can be saved; `None` while it has none.
    ///
    /// That is so while the informer watches, if every received change was taken, and none may be missing: an event or an
    /// item without a readable key may have been any change. [`restore`](Self::restore) takes the two back.
    pub fn saveable_version(&self) -> Option<&Version> {
        let is_all_taken = self.fifo.has_synced() && self.fifo.is_empty() && self.undecodable.is_none();
        let is_all_taken = is_all_taken && self.is_all_queued();
        self.reflector.version().filter(|_| is_all_taken && self.reflector.is_exact())
    }

    /// Whether the cache lacks an object, or has an earlier state of one, because its last state could not be decoded. It is
    /// false again after a list without such an object. A saved state has to say so
    /// ([`relist_restored`](Self::relist_restored)).
    pub fn has_undecodable(&self) -> bool {
        self.has_gap
    }

    /// How old the restored state is, while the cache has it and the server has not shown that it is current: until a list,
    /// or until the watch has reached the version that the server had when it was asked.
    pub fn restored_age(&self, now: Instant) -> Option<SavedAge> {
        let (age, at) = self.restored.filter(|_| self.reflector.is_resuming())?;
        Some(age.later(now.saturating_since(at)))
    }

    /// Whether the state goes back to a restored one: no list has replaced that.
    pub fn is_restored(&self) -> bool {
        self.restored.is_some()
    }

    /// Whether the informer waits for [`confirm`](Self::confirm), and for nothing else.
    pub fn is_held(&self) -> bool {
        self.reflector.is_held()
    }
}

#[cfg(feature = "alloc")]
impl<D: Decode, C: Cache<D::Object>> InformerIn<D, C, Heap> {
    /// Takes back a saved state, before the [start](Self::start): the objects that the cache had at `version`, which was
    /// `age` ago ([`SavedAge::between`]).
    ///
    /// [`poll_event`](Self::poll_event) returns them as initial additions, and then `Synced`: the cache can be used before
    /// the server is reached, and [`has_synced`](Self::has_synced) is true. The status is
    /// [`Restored`](super::InformerStatus::Restored) then, or says in `Failing` how old the state is.
    ///
    /// The first request is a list with `limit=1`. If the server's version is at least `version`, a watch goes on from
    /// `version`, and the server sends what has changed since. Otherwise a list follows, as after a 410; it tells what it
    /// always tells. If `held`, no watch follows before [`confirm`](Self::confirm).
    ///
    /// Returns false, and takes nothing, if the informer was started or has a state, or if `version` is not a decimal number
    /// above zero. The caller makes sure that the state is of this resource and this server.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::decode::{Decoder, ListMeta, Raw};
    /// use listwatch_core::informer::{InformerStatus, SavedAge};
    /// use listwatch_core::reflector::Action;
    /// use listwatch_core::{Event, Informer, InformerConfig, Instant, Resource};
    ///
    /// let mut informer = Informer::<Raw>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
    /// let saved = br#"{"metadata":{"name":"web-1","uid":"u-1","resourceVersion":"5"}}"#;
    /// let saved = Decoder::default().item::<Raw>(saved, &ListMeta::default())?.into();
    /// let hour = SavedAge::Known(Duration::from_secs(3600));
    /// assert!(informer.restore(Instant::ZERO, [saved], "7", hour, false));
    /// informer.start(Instant::ZERO);
    ///
    /// let Some(Event::Added { initial: true, .. }) = informer.poll_event() else { unreachable!() };
    /// assert_eq!(informer.poll_event(), Some(Event::Synced));
    /// assert_eq!(informer.status(Instant::ZERO), InformerStatus::Restored { age: hour });
    /// let Some(Action::Open(_, request)) = informer.poll_action() else { unreachable!() };
    /// assert_eq!(request.to_string(), "/api/v1/pods?limit=1");
    /// # Ok::<(), listwatch_core::decode::DecodeError>(())
    /// ```
    #[must_use]
    pub fn restore(
        &mut self,
        now: Instant,
        objects: impl IntoIterator<Item = D::Object>,
        version: &str,
        age: SavedAge,
        held: bool,
    ) -> bool {
        let is_fresh = self.reflector.phase() == Phase::Idle && self.fifo.arrived() == 0;
        if !is_fresh || !self.reflector.resume(version, held) {
            return false;
        }
        self.now = self.now.max(now);
        self.restored = Some((age, self.now));
        objects.into_iter().for_each(|object| self.fifo.stage(object));
        self.fifo.commit_stage(&());
        self.note_received();
        true
    }

    /// Lets a list follow a state that was [restored](Self::restore), in place of the watch: some objects could not be
    /// decoded when the state was saved ([`has_undecodable`](Self::has_undecodable)). The list reports them again, or
    /// brings them. Without a restored state, it has no effect.
    pub fn relist_restored(&mut self) {
        self.reflector.list_resumed();
    }

    /// Says whether the server is that of a state which was [restored](Self::restore) as `held`. If so, the watch goes on
    /// from it, else a list follows. Later calls have no effect.
    pub fn confirm(&mut self, now: Instant, same: bool) {
        self.now = self.now.max(now);
        self.steer(Input::Confirmed { same });
    }
}

/// How long ago a [restored](crate::informer::InformerIn::restore) state was saved.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::informer::SavedAge;
/// use listwatch_core::time::WallTime;
///
/// let (then, now) = ("2026-03-01T12:00:00Z".parse()?, "2026-03-01T15:00:00Z".parse()?);
/// assert_eq!(SavedAge::between(then, now).to_string(), "3 h ago");
/// assert_eq!(SavedAge::between(now, then), SavedAge::Unknown);
/// # Ok::<(), listwatch_core::time::ParseWallTimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SavedAge {
    /// As long as this.
    Known(Duration),
    /// The clock is behind the date of the state. A device without a clock of its own begins so, until it has asked for
    /// the time.
    Unknown,
}

impl SavedAge {
    /// The age at `now` of a state that was saved at `then`.
    pub fn between(then: WallTime, now: WallTime) -> Self {
        if now < then { Self::Unknown } else { Self::Known(now.saturating_since(then)) }
    }

    /// The age `by` later.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        match self {
            Self::Known(age) => Self::Known(age.saturating_add(by)),
            Self::Unknown => Self::Unknown,
        }
    }
}

impl fmt::Display for SavedAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(age) => write!(f, "{} ago", Span(*age)),
            Self::Unknown => f.write_str("at an unknown time: the clock is behind its date"),
        }
    }
}
