//! Operations on the log of changes.

use crate::models::event_log::{EventLogModel, Kind, Pod, Told, is_repeated};
use arbitrary::{Arbitrary, Result, Unstructured};
use listwatch_core::Instant;
use listwatch_core::fanout::{EventLogIn, Notice, SubscriberId, SubscriptionConfig, Transition, WhenBehind};
use listwatch_core::storage::{Fixed, Heap, Mem};
use std::collections::{BTreeMap, BTreeSet};

/// One operation. Keys are below [`Op::KEYS`]; subscribers are numbered as they join; versions and uids as they come.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Adds an object, or changes it.
    Set(u8),
    /// The object is reported again as it was.
    Touch(u8),
    /// Another object takes the place of one, in one step.
    Recreate(u8),
    /// The watch reports a deletion.
    Delete(u8),
    /// A list no longer has the object.
    Lose(u8),
    /// The first list is complete.
    Synced,
    /// A subscriber joins, unless there are enough.
    Join(Kind),
    /// A subscriber leaves; it may have left before.
    Leave(usize),
    /// A subscriber is told one item.
    Poll(usize),
    /// A subscriber is told all.
    PollAll(usize),
    /// Every object is announced again to a subscriber.
    Resync(usize),
}

impl Op {
    /// The number of keys.
    pub const KEYS: u8 = 4;
}

/// Entries, keys and marks, each, in the memory that is not large enough.
const SHORT: usize = 3;

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let byte = u8::arbitrary(u)?;
        let key = byte % Self::KEYS;
        let number = usize::from(byte % 8);
        Ok(match byte {
            0..48 => Self::Set(key),
            48..64 => Self::Touch(key),
            64..76 => Self::Recreate(key),
            76..92 => Self::Delete(key),
            92..104 => Self::Lose(key),
            104..108 => Self::Synced,
            108..140 => Self::Join(kind(byte)),
            140..156 => Self::Leave(number),
            156..204 => Self::Poll(number),
            204..228 => Self::PollAll(number),
            228.. => Self::Resync(number),
        })
    }
}

/// One of the eight kinds.
#[must_use]
pub const fn kind(bits: u8) -> Kind {
    let when_behind = if bits & 1 == 0 { WhenBehind::Coalesce } else { WhenBehind::Wait };
    Kind { when_behind, quiet: bits & 2 != 0, marks: bits & 4 != 0 }
}

/// Where a run begins.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The limit of the log.
    pub limit: usize,
    /// Memory that grows is pushed to even if there is no room.
    pub heedless: bool,
    /// The subscriber that joined before.
    pub first: Kind,
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// Where a log and its model differ, or a rule is broken.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let byte: u8 = data.arbitrary().unwrap_or(0);
    let setup = Setup { limit: 1 + usize::from(byte % 5), heedless: byte & 8 != 0, first: kind(byte >> 4) };
    let ops: Vec<Op> = super::rest(&mut data);
    check(setup, &ops);
}

/// Runs `ops` on a log on the heap, on one in fixed memory that is large enough, and on one that is not.
///
/// # Panics
/// Where a log and its model differ, or a rule is broken.
pub fn check(setup: Setup, ops: &[Op]) {
    let fixed = Setup { heedless: false, ..setup };
    Run::<Heap>::new(setup, || Box::new(marks), true).check(ops);
    Run::<Fixed<32>>::new(fixed, || marks, true).check(ops);
    Run::<Fixed<SHORT>>::new(fixed, || marks, false).check(ops);
}

fn marks(pod: &Pod, to: &mut dyn FnMut(&str)) {
    to(pod.mark());
}

/// A log, its model, and the cache that both are kept with.
struct Run<M: Mem> {
    setup: Setup,
    log: EventLogIn<Pod, M>,
    /// Only for memory that is large enough: what cannot be folded is told step by step.
    model: Option<EventLogModel>,
    cache: BTreeMap<u8, Pod>,
    is_synced: bool,
    /// By number, those that have left too.
    listeners: Vec<Listener>,
    marks: fn() -> M::IndexFn<Pod>,
    version: u32,
}

impl<M: Mem> Run<M> {
    fn new(setup: Setup, marks: fn() -> M::IndexFn<Pod>, is_large: bool) -> Self {
        let mut run = Self {
            setup,
            log: EventLogIn::new(setup.limit),
            model: is_large.then(|| EventLogModel::new(setup.limit)),
            cache: BTreeMap::new(),
            is_synced: false,
            listeners: Vec::new(),
            marks,
            version: 0,
        };
        run.join(setup.first);
        run
    }

    fn check(mut self, ops: &[Op]) {
        for (step, op) in ops.iter().enumerate() {
            self.version += 1;
            self.step(*op);
            self.log.check();
            self.check_counts(&ops[..=step]);
        }
        for number in 0..self.listeners.len() {
            while self.poll(number) {}
            self.listeners[number].check_end(&self.cache, self.is_synced);
        }
        assert!(self.log.has_room(), "everything is read after {ops:?}");
        self.version += 1;
        assert!(self.push(Transition::Added { object: Pod(9, self.version, self.version), initial: false }));
    }

    fn step(&mut self, op: Op) {
        let number = |number| self.number(number);
        match op {
            Op::Set(key) => self.set(key, |old, version| Pod(key, old.map_or(version, |old| old.1), version)),
            Op::Recreate(key) => self.set(key, |_, version| Pod(key, version, version)),
            Op::Touch(key) => self.set(key, |old, version| old.unwrap_or(Pod(key, version, version))),
            Op::Delete(key) => self.delete(key, true),
            Op::Lose(key) => self.delete(key, false),
            Op::Synced => self.synced(),
            Op::Join(kind) => self.join(kind),
            Op::Leave(of) => self.leave(number(of)),
            Op::Poll(of) => _ = self.poll(number(of)),
            Op::PollAll(of) => {
                let number = number(of);
                while self.poll(number) {}
            }
            Op::Resync(of) => self.resync(number(of)),
        }
    }

    /// Those that are there come first, then those that have left.
    fn number(&self, of: usize) -> usize {
        let of_those = |present| move |number: &usize| self.listeners[*number].is_present == present;
        let all = 0..self.listeners.len();
        let in_order = all.clone().filter(of_those(true)).chain(all.filter(of_those(false)));
        in_order.cycle().nth(of).unwrap_or_default()
    }

    fn set(&mut self, key: u8, object: impl Fn(Option<Pod>, u32) -> Pod) {
        let old = self.cache.get(&key).copied();
        let new = object(old, self.version);
        let transition = match old {
            Some(old) => Transition::Updated { old, new },
            None => Transition::Added { object: new, initial: !self.is_synced },
        };
        if self.push(transition) {
            self.cache.insert(key, new);
        }
    }

    fn delete(&mut self, key: u8, final_state_known: bool) {
        let Some(old) = self.cache.get(&key).copied() else { return };
        let object = if final_state_known { Pod(key, old.1, self.version) } else { old };
        if self.push(Transition::Deleted { old, object, final_state_known }) {
            self.cache.remove(&key);
        }
    }

    /// Whether the log has taken it.
    fn push(&mut self, transition: Transition<Pod>) -> bool {
        let has_room = self.log.has_room();
        if !has_room && !self.setup.heedless {
            return false;
        }
        let taken = self.log.try_push(self.now(), transition.clone()).is_ok();
        match &mut self.model {
            Some(model) => {
                assert!(taken);
                model.push(&transition);
            }
            // Marks may find no room.
            None => assert!(taken || self.listeners.iter().any(|listener| listener.kind.marks)),
        }
        if taken {
            self.present().for_each(|listener| listener.owe(&transition));
        }
        taken
    }

    fn synced(&mut self) {
        self.is_synced = true;
        self.log.push_synced();
        self.model.iter_mut().for_each(EventLogModel::push_synced);
    }

    fn join(&mut self, kind: Kind) {
        if self.present().count() >= 4 {
            return;
        }
        let config = SubscriptionConfig::new().when_behind(kind.when_behind);
        let config = if kind.quiet { config.quiet() } else { config };
        let config = if kind.marks { config.marks((self.marks)()) } else { config };
        let Ok(id) = self.log.try_subscribe(self.now(), config, self.cache.values()) else {
            assert!(self.model.is_none());
            return;
        };
        self.listeners.push(Listener::new(id, kind, &self.cache));
        if let Some(model) = &mut self.model {
            model.subscribe(kind, self.cache.values().copied());
        }
    }

    fn leave(&mut self, number: usize) {
        let listener = &mut self.listeners[number];
        listener.is_present = false;
        self.log.unsubscribe(listener.id);
        self.model.iter_mut().for_each(|model| model.unsubscribe(number));
        let counts = (self.log.backlog(listener.id), self.log.has_next(listener.id), self.log.has_synced(listener.id));
        assert_eq!(counts, (0, false, false), "nothing waits for one that has left");
    }

    fn resync(&mut self, number: usize) {
        let listener = &mut self.listeners[number];
        let done = self.log.try_resync(listener.id, self.cache.values()).is_ok();
        if done && listener.is_present {
            listener.announced.extend(self.cache.keys());
        }
        if let Some(model) = &mut self.model {
            assert!(done);
            model.resync(number, self.cache.values().copied());
        }
    }

    /// Whether the subscriber was told anything.
    fn poll(&mut self, number: usize) -> bool {
        let listener = &mut self.listeners[number];
        let has_next = self.log.has_next(listener.id);
        let told = self.log.poll_next(listener.id).map(|notice| match notice {
            Notice::Changed(transition) => Told::Changed(transition),
            Notice::Mark(text) => Told::Mark(text.to_owned()),
            Notice::Synced => Told::Synced,
            _ => unreachable!("a new kind of notice"),
        });
        if let Some(model) = &mut self.model {
            assert_eq!(told, model.poll_next(number));
        }
        assert!(has_next || told.is_none());
        told.iter().for_each(|told| listener.hear(told));
        told.is_some()
    }

    fn check_counts(&self, ops: &[Op]) {
        if let Some(model) = &self.model {
            assert_eq!(self.log.has_room(), model.has_room(), "after {ops:?}");
        }
        assert_eq!(self.log.subscribers(), self.listeners.iter().filter(|it| it.is_present).count());
        let keys = if self.model.is_some() { usize::from(Op::KEYS) } else { SHORT };
        let most = self.setup.limit + keys + 3;
        for (number, listener) in self.listeners.iter().enumerate().filter(|(_, listener)| listener.is_present) {
            let backlog = self.log.backlog(listener.id);
            assert!(self.setup.heedless || backlog <= most, "{backlog} wait after {ops:?}");
            assert_eq!(self.log.has_synced(listener.id), listener.has_synced, "after {ops:?}");
            let lag = self.log.lag(listener.id, self.now()).as_nanos();
            assert!(lag <= u128::from(self.version) && (backlog > 0 || lag == 0), "after {ops:?}");
            if let Some(model) = &self.model {
                assert!(backlog >= model.changes(number), "after {ops:?}");
            }
        }
    }

    fn present(&mut self) -> impl Iterator<Item = &mut Listener> {
        self.listeners.iter_mut().filter(|listener| listener.is_present)
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(u64::from(self.version))
    }
}

/// What a subscriber has been told, and what it has a right to.
struct Listener {
    id: SubscriberId,
    kind: Kind,
    is_present: bool,
    seen: BTreeMap<u8, Pod>,
    /// The keys that it is told before it is in sync.
    first: BTreeSet<u8>,
    /// The keys that are announced again.
    announced: BTreeSet<u8>,
    /// The marks of the states that it was not told, since it was last told one that has the same.
    owed: BTreeSet<&'static str>,
    has_synced: bool,
}

impl Listener {
    fn new(id: SubscriberId, kind: Kind, cache: &BTreeMap<u8, Pod>) -> Self {
        Self {
            id,
            kind,
            is_present: true,
            seen: BTreeMap::new(),
            first: cache.keys().copied().collect(),
            announced: BTreeSet::new(),
            owed: cache.values().map(|pod| pod.mark()).collect(),
            has_synced: false,
        }
    }

    /// A change is on its way.
    fn owe(&mut self, transition: &Transition<Pod>) {
        let key = transition.object().0;
        match transition {
            Transition::Added { initial: true, .. } => _ = self.first.insert(key),
            Transition::Deleted { .. } => {
                self.first.remove(&key);
                self.announced.remove(&key);
            }
            Transition::Added { .. } | Transition::Updated { .. } => {}
        }
        if !(self.kind.quiet && is_repeated(transition)) {
            self.owed.extend(states(transition).map(|pod| pod.mark()));
        }
    }

    fn hear(&mut self, told: &Told) {
        match told {
            Told::Changed(transition) => self.hear_change(transition),
            Told::Mark(mark) => _ = self.owed.remove(mark.as_str()),
            Told::Synced => {
                assert!(!core::mem::replace(&mut self.has_synced, true), "in sync twice");
                assert!(self.first.is_empty(), "in sync without {:?}", self.first);
            }
        }
    }

    /// Each change begins where the last one of its key has ended.
    fn hear_change(&mut self, transition: &Transition<Pod>) {
        let key = transition.object().0;
        let known = match transition {
            Transition::Added { object, .. } => self.seen.insert(key, *object),
            Transition::Updated { new, .. } => self.seen.insert(key, *new),
            Transition::Deleted { .. } => self.seen.remove(&key),
        };
        let old = match transition {
            Transition::Added { .. } => None,
            Transition::Updated { old, .. } | Transition::Deleted { old, .. } => Some(*old),
        };
        assert_eq!(known, old, "{transition:?}");
        assert!(old.is_none_or(|old| old.2 <= transition.object().2), "back in time: {transition:?}");
        self.first.remove(&key);
        self.announced.remove(&key);
        for pod in states(transition) {
            self.owed.remove(pod.mark());
        }
    }

    /// Everything that waited has been told.
    fn check_end(&self, cache: &BTreeMap<u8, Pod>, is_synced: bool) {
        if self.is_present {
            assert_eq!(self.seen, *cache);
            assert_eq!((self.has_synced, &self.announced), (is_synced, &BTreeSet::new()));
            assert!(self.owed.is_empty() || !self.kind.marks, "{:?} is lost", self.owed);
        }
    }
}

/// The states that a program sees in the informer's event: of a deletion, the final one alone.
fn states(transition: &Transition<Pod>) -> impl Iterator<Item = Pod> {
    let old = match *transition {
        Transition::Added { .. } | Transition::Deleted { .. } => None,
        Transition::Updated { old, .. } => Some(old),
    };
    old.into_iter().chain([*transition.object()])
}
