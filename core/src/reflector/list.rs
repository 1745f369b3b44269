//! Reading the whole state, by a list or by the initial events of a watch-list.

use super::call::{Call, Purpose, Watch};
use super::pages::Pages;
use super::{Consistency, Failure, Reflector, Step};
use crate::decode::EventType;
use crate::object::Version;
use crate::request::Verb;
use crate::text::SharedText;

/// The version by which a server answers from its watch cache.
const ANY: &str = "0";

impl Reflector {
    /// Begins to read the whole state.
    pub(super) fn synchronize(&mut self) {
        self.began = self.now;
        self.is_partial = false;
        if self.keeps_none {
            let one = Verb::List { limit: Some(1), continue_token: None, resource_version: None };
            return self.request(Purpose::List(Pages::default()), one);
        }
        if self.config.watch_list && self.server.may_stream(self.now) {
            let resource_version = self.requested_version();
            return self.request_watch(Purpose::Stream(None), resource_version, true);
        }
        self.server.lists_next = false;
        self.server.failures = Default::default();
        self.list(Pages::default(), None);
    }

    /// Requests a list, or its page of this token, which fixes the version by itself.
    pub(super) fn list(&mut self, pages: Pages, continue_token: Option<SharedText>) {
        let (limit, resource_version) = match continue_token {
            Some(_) => (self.page_size(), None),
            None => (self.first_limit(), self.requested_version()),
        };
        self.is_partial &= continue_token.is_some();
        let limit = limit.filter(|_| !pages.is_unpaged);
        self.request(Purpose::List(pages), Verb::List { limit, continue_token, resource_version });
    }

    /// The minimum version of a list or watch-list; `None` for the most recent state.
    fn requested_version(&self) -> Option<Version> {
        match self.config.consistency {
            _ if self.versions.most_recent => None,
            Consistency::MostRecent => None,
            Consistency::NotOlderThan => self.versions.reached.clone(),
            Consistency::Any => self.versions.reached.clone().or_else(|| Version::copied(ANY)),
        }
    }

    /// The first page's limit. If the list has a limit, a server does not answer `NotOlderThan` from memory. For
    /// version `0`, old servers ignore the limit. A server that honours it has no watch cache.
    fn first_limit(&self) -> Option<u32> {
        let from_memory = self.requested_version().is_some_and(|version| &*version != ANY);
        self.page_size().filter(|_| !from_memory || self.server.paginated)
    }

    /// The limit of pages. Without memory for continue tokens, lists have no pages.
    fn page_size(&self) -> Option<u32> {
        self.config.page_size.filter(|_| cfg!(feature = "alloc"))
    }

    pub(super) fn on_item(&mut self) -> Step {
        if let Some(Call { purpose: Purpose::List(pages), .. }) = self.call_mut() {
            pages.has_item = true;
        }
        Step::Stage
    }

    /// A change may be missing, for example a deletion. A relist finds it, after the watch that follows this list.
    pub(super) fn on_unreadable_item(&mut self) -> Step {
        self.is_partial = true;
        self.on_unreadable_initial_event();
        self.on_item()
    }

    pub(super) fn on_unreadable_initial_event(&mut self) -> Step {
        self.call_mut().into_iter().for_each(|call| call.doubt.unreadable = true);
        Step::Stage
    }

    /// A list that has an item older than the known state of its object is not of the known history.
    pub(super) fn on_outdated_item(&mut self, version: &str, known: &str) -> Step {
        if let Some(call) = self.call_mut() {
            let outdated = &mut call.doubt.outdated;
            *outdated = outdated.take().or_else(|| Version::copied(version).zip(Version::copied(known)));
        }
        Step::Nothing
    }

    pub(super) fn on_list_end(&mut self, version: &str, continue_token: &str) -> Step {
        let outdated = self.call_mut().and_then(|call| call.doubt.outdated.take());
        if let Some(failure) = self.back_in_time(version, outdated) {
            return self.on_closed(failure);
        }
        let Some(Call { purpose: Purpose::List(pages), .. }) = self.call_mut() else { return Step::Nothing };
        let version = pages.oldest(version);
        if !continue_token.is_empty() && !self.keeps_none {
            return self.on_page_end(continue_token);
        }
        self.complete(&version);
        self.server.refused = 0;
        self.watch();
        Step::Commit
    }

    fn on_page_end(&mut self, next: &str) -> Step {
        let limit = self.config.max_pages;
        // Without memory for tokens, no page was requested.
        let Some(next) = SharedText::copied(next) else { return self.on_closed(Failure::TooManyPages { limit: 1 }) };
        let Some(Call { request, purpose: Purpose::List(pages), .. }) = self.call_mut() else { return Step::Nothing };
        if let Some(failure) = pages.next(request.continue_token(), &next, limit) {
            return self.on_closed(failure);
        }
        let pages = core::mem::take(pages);
        self.server.paginated |= self.requested_version().is_some();
        self.list(pages, Some(next));
        Step::Nothing
    }

    /// An event that creates no object is none of the initial ones.
    pub(super) fn on_initial_event(&mut self, event_type: Option<EventType>) -> Step {
        if matches!(event_type, Some(EventType::Modified | EventType::Deleted)) {
            self.on_initial_bookmark();
        }
        Step::Stage
    }

    /// The bookmark that completes the initial events is due.
    pub(super) fn on_initial_bookmark(&mut self) -> Step {
        let now = self.now;
        if let Some(Call { purpose: Purpose::Stream(over), .. }) = self.call_mut() {
            over.get_or_insert(now);
        }
        Step::Nothing
    }

    pub(super) fn on_initial_events_end(&mut self, version: &str) -> Step {
        if let Some(failure) = self.back_in_time(version, None) {
            return self.on_broken(failure);
        }
        self.complete(version);
        self.server.failures = Default::default();
        let now = self.now;
        if let Some(call) = self.call_mut() {
            call.purpose = Purpose::Watch(Watch { since: Some(now), ..Watch::default() });
        }
        self.note_heard();
        self.note_bookmark();
        Step::Commit
    }

    /// Rejects a state that is older than the last one, or has an object that is older than the known state of it.
    fn back_in_time(&mut self, version: &str, outdated: Option<(Version, Version)>) -> Option<Failure> {
        let (version, last) = self.versions.older_than_known(version).or(outdated)?;
        let is_most_recent = self.requested_version().is_none();
        let is_accepted = self.versions.note_older(is_most_recent);
        (!is_accepted).then_some(Failure::BackInTime { version, last })
    }

    /// A list, or the initial events, are complete.
    fn complete(&mut self, version: &str) {
        self.versions.complete(version);
        self.resume = None;
        self.last_heard = self.now;
        if let Some(outage) = &mut self.outage {
            outage.interrupted = true;
        }
        self.interrupted = false;
        self.note_read();
    }
}
