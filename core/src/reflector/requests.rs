//! The requests of a reflector.

use super::open::Open;
use super::{Consistency, Pages, Reflector, State};
use crate::object::Version;
use crate::request::{Request, RequestId, Token, Verb};
use core::time::Duration;

/// The shortest requested timeout: servers count in seconds.
const SECOND: Duration = Duration::from_secs(1);
/// The longest one: servers count in nanoseconds, with 63 bits.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
/// The version by which a server answers from its watch cache.
const ANY: &str = "0";

impl Reflector {
    /// Begins to read the whole state.
    pub(super) fn synchronize(&mut self) {
        self.began = self.now;
        self.relist.doubtful = false;
        if self.config.watch_list && self.watch_list.is_tried(self.now) {
            self.state = State::WatchListing;
            self.open();
        } else {
            self.watch_list.skipped = false;
            self.watch_list.failures = Default::default();
            self.list(None, false);
        }
    }

    pub(super) fn list(&mut self, token: Option<Token>, unpaged: bool) {
        if token.is_none() {
            self.relist.doubtful = false;
            self.pages = Pages::default();
        }
        self.state = State::Listing { token, unpaged };
        self.open();
    }

    pub(super) fn watch(&mut self) {
        self.state = State::Watching;
        self.open();
        self.report_lack();
    }

    /// Makes the request of the state the open one.
    pub(super) fn open(&mut self) {
        self.last_id += 1;
        let timeout = match self.state {
            State::WatchListing | State::Watching => self.config.watch_timeout,
            _ => None,
        };
        let timeout = timeout.map(|(least, most)| self.delays.between(least, most).clamp(SECOND, LONGEST));
        let request = self.verb(timeout).map(|verb| Request { resource: self.resource.clone(), verb });
        self.open = request.map(|request| Open::new(RequestId(self.last_id), request, self.now, timeout));
    }

    /// The request of the current state.
    fn verb(&self, timeout: Option<Duration>) -> Option<Verb> {
        match &self.state {
            // A continue token fixes the version by itself.
            State::Listing { token: Some(token), unpaged } => Some(Verb::List {
                limit: self.page_size().filter(|_| !unpaged),
                continue_token: Some(token.clone()),
                resource_version: None,
            }),
            State::Listing { token: None, unpaged } => Some(Verb::List {
                limit: self.limit().filter(|_| !unpaged),
                continue_token: None,
                resource_version: self.requested_version(),
            }),
            State::WatchListing => {
                Some(Verb::Watch { resource_version: self.requested_version(), timeout, initial_events: true })
            }
            State::Watching => {
                Some(Verb::Watch { resource_version: self.version.clone(), timeout, initial_events: false })
            }
            State::Resuming => Some(Verb::List { limit: Some(1), continue_token: None, resource_version: None }),
            State::Idle | State::Stopped | State::Held | State::Waiting { .. } => None,
        }
    }

    /// The minimum version of a list or watch-list; `None` for the most recent state.
    pub(super) fn requested_version(&self) -> Option<Version> {
        match self.config.consistency {
            _ if self.relist.most_recent => None,
            Consistency::MostRecent => None,
            Consistency::NotOlderThan => self.version.clone(),
            Consistency::Any => self.version.clone().or_else(|| Version::copied(ANY)),
        }
    }

    /// The first page's limit. If the list has a limit, a server does not answer `NotOlderThan` from memory. For
    /// version `0`, old servers ignore the limit. A server that honours it has no watch cache.
    fn limit(&self) -> Option<u32> {
        let from_memory = self.requested_version().is_some_and(|version| &*version != ANY);
        self.page_size().filter(|_| !from_memory || self.relist.paginated)
    }

    /// The limit of pages. Without memory for continue tokens, lists have no pages.
    fn page_size(&self) -> Option<u32> {
        self.config.page_size.filter(|_| Token::ARE_KEPT)
    }

    /// Drops the open request, and aborts it if the transport has it.
    pub(super) fn abandon(&mut self) -> Option<Open> {
        let open = self.open.take()?;
        self.abandoned = Some(open.id).filter(|_| open.sent).or(self.abandoned);
        Some(open)
    }
}
