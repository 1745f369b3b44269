//! The log of changes, as each subscriber sees it: with a queue, a backlog and marks of its own.

use listwatch_core::fanout::{Transition, WhenBehind};
use listwatch_core::storage::{Keyed, Versioned};
use std::collections::VecDeque;

/// A key, the uid, the version. Versions are unique, so they are of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod(pub u8, pub u32, pub u32);

impl Pod {
    /// The owner that the state names.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        ["o0", "o1", "o2"][self.2 as usize % 3]
    }
}

impl Keyed for Pod {
    type Key = u8;

    fn key(&self) -> &u8 {
        &self.0
    }
}

impl Versioned for Pod {
    fn resource_version(&self) -> &'static str {
        ""
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.1 == other.1
    }

    fn is_same_state(&self, other: &Self) -> bool {
        (self.1, self.2) == (other.1, other.2)
    }
}

/// How a subscriber is told changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of `SubscriptionConfig`")]
pub struct Kind {
    pub when_behind: WhenBehind,
    pub quiet: bool,
    pub marks: bool,
}

/// An item for a subscriber.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of `Notice`")]
pub enum Told {
    Changed(Transition<Pod>),
    Mark(String),
    Synced,
}

/// The subscribers by number.
#[derive(Debug)]
pub struct EventLogModel {
    limit: usize,
    subscribers: Vec<Option<Subscriber>>,
    /// The number of the next change.
    next: usize,
    synced_at: Option<usize>,
}

#[derive(Debug)]
struct Subscriber {
    kind: Kind,
    /// The changes that it has not been told, and that are not folded; each with its number.
    queue: VecDeque<(usize, Transition<Pod>)>,
    backlog: Vec<Waiting>,
    marks: Vec<&'static str>,
    has_synced: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    key: u8,
    known: Option<Pod>,
    newest: Newest,
    initial: bool,
    resynced: bool,
    /// The number of the change that came first; zero for what the subscriber began with.
    since: usize,
}

#[derive(Clone, Copy, Debug)]
enum Newest {
    There(Pod),
    Gone(Pod, bool),
}

impl EventLogModel {
    /// A log without subscribers.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, subscribers: Vec::new(), next: 1, synced_at: None }
    }

    /// Adds a subscriber; the number of each is that of the calls before.
    pub fn subscribe(&mut self, kind: Kind, objects: impl Iterator<Item = Pod>) {
        let initial = |pod: Pod| Waiting {
            key: pod.0,
            known: None,
            newest: Newest::There(pod),
            initial: true,
            resynced: false,
            since: 0,
        };
        let (queue, backlog) = (VecDeque::new(), objects.map(initial).collect());
        self.subscribers.push(Some(Subscriber { kind, queue, backlog, marks: Vec::new(), has_synced: false }));
    }

    /// Forgets a subscriber.
    pub fn unsubscribe(&mut self, number: usize) {
        self.subscribers[number] = None;
    }

    /// Whether a change stays within the limit.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let is_full = |subscriber: &Subscriber| subscriber.queue.len() >= self.limit;
        !self.present().any(|subscriber| is_full(subscriber) && subscriber.kind.when_behind == WhenBehind::Wait)
    }

    /// Appends a change.
    pub fn push(&mut self, transition: &Transition<Pod>) {
        for subscriber in self.subscribers.iter_mut().flatten() {
            if subscriber.queue.len() >= self.limit {
                subscriber.fold_next();
            }
            subscriber.queue.push_back((self.next, transition.clone()));
            while !subscriber.backlog.is_empty() && subscriber.fold_next() {}
        }
        self.next += 1;
    }

    /// The first list is complete.
    pub fn push_synced(&mut self) {
        self.synced_at.get_or_insert(self.next);
    }

    /// Announces every object again.
    pub fn resync(&mut self, number: usize, objects: impl Iterator<Item = Pod>) {
        let Some(subscriber) = &mut self.subscribers[number] else { return };
        while subscriber.fold_next() {}
        for pod in objects {
            if let Some(waiting) = subscriber.backlog.iter_mut().find(|waiting| waiting.key == pod.0) {
                waiting.resynced = true;
            } else {
                let newest = Newest::There(pod);
                let (known, since) = (Some(pod), self.next);
                subscriber.backlog.push(Waiting { key: pod.0, known, newest, initial: false, resynced: true, since });
            }
        }
    }

    /// The next item.
    pub fn poll_next(&mut self, number: usize) -> Option<Told> {
        let subscriber = self.subscribers[number].as_mut()?;
        loop {
            let passed = subscriber.queue.front().map_or(self.next, |(number, _)| *number);
            let front = subscriber.backlog.first().map(|waiting| waiting.since);
            if !subscriber.marks.is_empty() {
                return Some(Told::Mark(subscriber.marks.remove(0).to_owned()));
            }
            let is_synced = |at| passed >= at && front.is_none_or(|since| since >= at);
            if !subscriber.has_synced && self.synced_at.is_some_and(is_synced) {
                subscriber.has_synced = true;
                return Some(Told::Synced);
            }
            if front.is_some_and(|since| since <= passed) {
                return Some(Told::Changed(subscriber.backlog.remove(0).transition()));
            }
            let (_, next) = subscriber.queue.pop_front()?;
            if !(subscriber.kind.quiet && is_repeated(&next)) {
                return Some(Told::Changed(next));
            }
        }
    }

    /// Whether a subscriber has been told so.
    #[must_use]
    pub fn has_synced(&self, number: usize) -> bool {
        self.subscribers[number].as_ref().is_some_and(|subscriber| subscriber.has_synced)
    }

    /// How many changes wait. A log that folds later may not have the marks yet.
    #[must_use]
    pub fn changes(&self, number: usize) -> usize {
        self.subscribers[number].as_ref().map_or(0, |subscriber| subscriber.backlog.len() + subscriber.queue.len())
    }

    fn present(&self) -> impl Iterator<Item = &Subscriber> {
        self.subscribers.iter().flatten()
    }
}

impl Subscriber {
    /// Folds the next change that is queued, if it may and there is one.
    fn fold_next(&mut self) -> bool {
        let may = self.kind.when_behind == WhenBehind::Coalesce;
        let next = if may { self.queue.pop_front() } else { None };
        next.iter().for_each(|(number, next)| self.fold(*number, next));
        next.is_some()
    }

    fn fold(&mut self, number: usize, next: &Transition<Pod>) {
        let quiet = self.kind.quiet;
        let Some(place) = self.backlog.iter().position(|waiting| waiting.key == *next.key()) else {
            let first = Waiting::first(number, next);
            self.backlog.extend(Some(first).filter(|first| !first.is_silent(quiet)));
            return;
        };
        let before = self.backlog[place];
        let after = Waiting { newest: Newest::of(next), ..before };
        if after.is_silent(quiet) {
            self.backlog.remove(place);
            self.mark(before.newest.pod());
            before.known.into_iter().for_each(|known| self.mark(known));
            self.mark(*next.object());
        } else {
            self.backlog[place] = after;
            if !before.known.is_some_and(|known| known.is_same_state(&before.newest.pod())) {
                self.mark(before.newest.pod());
            }
            if matches!(next, Transition::Deleted { .. }) {
                before.known.into_iter().for_each(|known| self.mark(known));
            }
        }
    }

    fn mark(&mut self, pod: Pod) {
        if self.kind.marks && !self.marks.contains(&pod.mark()) {
            self.marks.push(pod.mark());
        }
    }
}

impl Waiting {
    fn first(since: usize, next: &Transition<Pod>) -> Self {
        let (known, initial) = match *next {
            Transition::Added { initial, .. } => (None, initial),
            Transition::Updated { old, .. } | Transition::Deleted { old, .. } => (Some(old), false),
        };
        Self { key: *next.key(), known, newest: Newest::of(next), initial, resynced: false, since }
    }

    fn is_silent(self, quiet: bool) -> bool {
        match (self.known, self.newest) {
            (Some(known), Newest::There(pod)) => quiet && !self.resynced && known.is_same_state(&pod),
            (None, Newest::Gone(..)) => true,
            (None, Newest::There(_)) | (Some(_), Newest::Gone(..)) => false,
        }
    }

    fn transition(self) -> Transition<Pod> {
        match (self.known, self.newest) {
            (None, Newest::There(object) | Newest::Gone(object, _)) => {
                Transition::Added { object, initial: self.initial }
            }
            (Some(old), Newest::There(new)) => Transition::Updated { old, new },
            (Some(old), Newest::Gone(object, final_state_known)) => {
                Transition::Deleted { old, object, final_state_known }
            }
        }
    }
}

impl Newest {
    fn of(transition: &Transition<Pod>) -> Self {
        match *transition {
            Transition::Added { object, .. } | Transition::Updated { new: object, .. } => Self::There(object),
            Transition::Deleted { object, final_state_known, .. } => Self::Gone(object, final_state_known),
        }
    }

    const fn pod(self) -> Pod {
        match self {
            Self::There(pod) | Self::Gone(pod, _) => pod,
        }
    }
}

/// Whether it is an update that changes nothing.
#[must_use]
pub fn is_repeated(transition: &Transition<Pod>) -> bool {
    matches!(transition, Transition::Updated { old, new } if old.is_same_state(new))
}
