//! The fault of each request.

use super::fault::Fault;
use listwatch_core::Instant;
use listwatch_core::request::Query;
use std::collections::VecDeque;

/// Faults that wait for their requests.
#[derive(Clone, Debug, Default)]
pub struct Script {
    once: VecDeque<(Fault, Which)>,
    always: Vec<(Fault, Which, Instant, Instant)>,
}

/// Which requests a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The next one.
    Any,
    /// Watches, a watch-list not being one.
    Watches,
    /// Lists, pages and watch-lists.
    States,
    /// Pages but the first.
    Pages,
}

impl Which {
    fn is(self, query: Query, page: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Watches => query == Query::Watch,
            Self::States => query != Query::Watch,
            Self::Pages => page,
        }
    }
}

/// More than these do not wait: the oldest is forgotten.
const MOST: usize = 8;

impl Script {
    /// The next request of this kind meets `fault`.
    pub fn arm(&mut self, fault: Fault, which: Which) {
        if self.once.len() == MOST {
            self.once.pop_front();
        }
        self.once.push_back((fault, which));
    }

    /// From `since` until `until`, every request of this kind meets `fault`.
    pub fn hold(&mut self, fault: Fault, which: Which, since: Instant, until: Instant) {
        self.always.push((fault, which, since, until));
    }

    /// Nothing more goes wrong.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What goes wrong with a request.
    pub fn next(&mut self, now: Instant, query: Query, page: bool) -> Option<Fault> {
        let is_held = |(fault, which, since, until): &&(Fault, Which, Instant, Instant)| {
            *since <= now && now < *until && which.is(query, page) && fault.is_possible(query, page)
        };
        if let Some((fault, ..)) = self.always.iter().find(is_held) {
            return Some(*fault);
        }
        let place = self.once.iter().position(|(fault, which)| fault.is_possible(query, page) && which.is(query, page));
        place.and_then(|place| self.once.remove(place)).map(|(fault, _)| fault)
    }
}
