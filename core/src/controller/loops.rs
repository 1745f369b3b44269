//! Finds the objects that a controller writes without an end.
//!
//! [`LoopDetector`] is fed with the own writes of a controller, and their answers. What makes a loop is not how often a
//! value changes, because the status of a rollout changes as often. It is what leads to the write:
//!
//! | loop | counted are writes |
//! |---|---|
//! | [`Echo`](LoopKind::Echo) | that only the own writes led to, and that change a field which they have changed before |
//! | [`Undo`](LoopKind::Undo) | that set a field to the own last value again, because somebody else has changed it |
//! | [`Idle`](LoopKind::Idle) | that leave the version of the object as it was |
//! | [`Creation`](LoopKind::Creation) | that create the object, which was there before |
//!
//! A loop has more than ten such writes in five minutes. An operator who changes a field back by hand does not reach
//! that, and a loop that feeds itself does in a second. A rollout, a lease and a counter follow changes of others or a
//! timer, so they are no echo. A controller may also go on by its own writes, such as one that counts the shards that it
//! has moved. So if an integer only grows or only falls meanwhile, a hundred echoes are a loop.
//!
//! Each object is told once, until it was no loop for ten minutes. 256 objects are followed, and 512 fields of each.
//! One that is written every half a minute does not give way to others. Values are kept as hashes, and never told.
//!
//! Before a write, the caller asks for the [`attention`](LoopDetector::attention) that it needs. Only objects that are
//! written often are compared. The state before a write is asked for when a loop with another manager is likely.
//!
//! ```
//! use core::time::Duration;
//! use listwatch_core::controller::{LoopDetector, OwnWrite, OwnValues};
//! use listwatch_core::Instant;
//! use serde_json::json;
//!
//! let mut loops = LoopDetector::new("printer");
//! for second in 0..20_u64 {
//!     let now = Instant::ZERO + Duration::from_secs(second);
//!     let object = json!({ "status": { "seen": format!("after {second} s") } });
//!     let values = Some(OwnValues { body: &object, before: None, after: &object });
//!     let version = second.to_string();
//!     loops.handle_write(now, "web/a", &OwnWrite { version: &version, is_echo: true, values, ..OwnWrite::default() });
//! }
//! let (object, found) = loops.poll_loop().unwrap();
//! assert_eq!((object, &*found.fields), ("web/a", &["/status/seen".to_owned()][..]));
//! ```

mod managers;
#[cfg(test)]
mod tests;
mod values;

use crate::text::{Counted, Printable};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use managers::manager_of;
use serde_json::Value;
use values::{Fields, PACE, Run, WINDOW, at, hash_of, visit_named};

/// So many writes are no loop yet.
const MOST_WRITES: u32 = 10;
/// The same of echoes in which a number shows a progress.
const MOST_STEPS: u32 = 100;
/// Objects that were written less often are not compared.
const FEW: u32 = 3;
/// A loop that was none for so long is told again.
const QUIET: Duration = Duration::from_secs(600);
/// If the states before as many writes show no undone change, none is likely.
const MOST_LOOKS: u8 = 3;
const MOST_OBJECTS: usize = 256;
const MOST_LEAVES: usize = 512;
/// As many versions of own writes are known for each object.
const MOST_VERSIONS: usize = 8;
/// The longest name of a manager that a server takes.
const MOST_MANAGER: usize = 128;

/// Follows the writes of one controller. See the [module](self).
#[derive(Debug)]
pub struct LoopDetector<K> {
    manager: Box<str>,
    objects: BTreeMap<K, Tracked>,
    found: VecDeque<(K, WriteLoop)>,
}

/// What is to be known of the next write of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attention {
    /// The versions.
    Versions,
    /// Also the values of the request and of its answer.
    Values,
    /// Also the object before the write, as the server has it, with its `managedFields`.
    State,
}

/// A write that a server has answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnWrite<'w> {
    /// Whether it has created the object.
    pub is_creation: bool,
    /// Whether nothing but own writes, which are [known](LoopDetector::is_own), has led to it.
    pub is_echo: bool,
    /// The last known version of the object before it.
    pub version_before: Option<&'w str>,
    /// The version of the answer.
    pub version: &'w str,
    /// The values, if they were [asked](LoopDetector::attention) for.
    pub values: Option<OwnValues<'w>>,
}

/// The values of a write.
#[derive(Clone, Copy, Debug)]
pub struct OwnValues<'w> {
    /// The body of the request: an object, a part of one, or a JSON patch.
    pub body: &'w Value,
    /// The object before the write, if it was read then.
    pub before: Option<&'w Value>,
    /// The object of the answer.
    pub after: &'w Value,
}

/// Writes of one object that have no end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteLoop {
    /// What makes it a loop.
    pub kind: LoopKind,
    /// How many writes were counted.
    pub writes: u32,
    /// In which time.
    pub within: Duration,
    /// The fields that swing, as JSON pointers. They are printable, and no more than 16.
    pub fields: Vec<String>,
    /// The field manager that changes one of them, by the `managedFields` of the object. It is printable.
    pub other: Option<String>,
}

/// What makes writes a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopKind {
    /// Each write leads to the next one, with another value.
    Echo,
    /// Another client changes what was written, and each write changes it back.
    Undo,
    /// The writes change nothing.
    Idle,
    /// The object is created again and again.
    Creation,
}

/// The fields that the body of a write names, as JSON pointers: those of an object or of a part of one, and the paths of a
/// JSON patch. Versions, the generation and `managedFields` are none of them. Values are not told.
///
/// ```
/// use listwatch_core::controller::loops::fields_of;
/// use serde_json::json;
///
/// let patch = json!({ "metadata": { "resourceVersion": "7" }, "spec": { "replicas": 3, "paused": null } });
/// assert_eq!(fields_of(&patch), ["/spec/paused", "/spec/replicas"]);
/// ```
pub fn fields_of(body: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    visit_named(body, body, &mut |pointer, _| fields.push(Printable::new(pointer).to_string()));
    fields
}

impl<K: Ord + Clone> LoopDetector<K> {
    /// Follows the writes of this field manager.
    pub fn new(manager: &str) -> Self {
        Self { manager: manager.into(), objects: BTreeMap::new(), found: VecDeque::new() }
    }

    /// What the machine needs to know of the next write of this object.
    pub fn attention(&self, now: Instant, object: &K) -> Attention {
        self.objects.get(object).map_or(Attention::Versions, |tracked| tracked.attention(now))
    }

    /// Whether this version of the object is that of a write that the machine knows.
    pub fn is_own(&self, object: &K, version: &str) -> bool {
        self.objects.get(object).is_some_and(|tracked| tracked.versions.contains(&hash_of(version)))
    }

    /// A write was answered.
    pub fn handle_write(&mut self, now: Instant, object: K, write: &OwnWrite<'_>) {
        if !self.has_room(now, &object) {
            return;
        }
        let tracked = self.objects.entry(object.clone()).or_default();
        if let Some(found) = tracked.found_by(now, write, &self.manager)
            && self.found.len() < MOST_OBJECTS
        {
            self.found.push_back((object, found));
        }
    }

    /// The next loop that was found.
    pub fn poll_loop(&mut self) -> Option<(K, WriteLoop)> {
        self.found.pop_front()
    }

    /// Whether the object has a place. The one that was written longest ago gives way to a new one, unless it is written too
    /// often.
    fn has_room(&mut self, now: Instant, object: &K) -> bool {
        if self.objects.len() < MOST_OBJECTS || self.objects.contains_key(object) {
            return true;
        }
        let oldest = self.objects.iter().min_by_key(|(_, tracked)| tracked.last);
        let oldest = oldest.filter(|(_, tracked)| now.saturating_since(tracked.last) > PACE);
        let Some(oldest) = oldest.map(|(object, _)| object.clone()) else { return false };
        self.objects.remove(&oldest).is_some()
    }
}

/// What is known of an object.
#[derive(Debug, Default)]
struct Tracked {
    last: Instant,
    /// The hashes of the newest own versions.
    versions: VecDeque<u64>,
    /// Whether somebody else wrote since the last write that undid something.
    is_shared: bool,
    writes: Run,
    idle: Run,
    creations: Run,
    undone: Run,
    /// How many of these were to be compared with the state before them.
    looks: u8,
    /// The own last value of each field that was written. Both are hashes.
    leaves: BTreeMap<u64, u64>,
    /// The fields of echoes.
    swinging: Fields,
    /// When a loop was told, or went on.
    told: Option<Instant>,
}

/// What the values of a write show.
#[derive(Default)]
struct Compared {
    /// Whether a field has another value than after the last own write, by an echo.
    has_swung: bool,
    /// Whether a field was set to the own last value.
    is_same_again: bool,
    /// The fields that others had changed since, and that have the own last value again.
    undone: Vec<String>,
}

impl Tracked {
    fn attention(&self, now: Instant) -> Attention {
        if self.is_in_doubt(now) {
            Attention::State
        } else if self.writes.count < FEW && self.leaves.is_empty() {
            Attention::Versions
        } else {
            Attention::Values
        }
    }

    /// Whether undone changes of others are likely, and only the state before a write can tell.
    fn is_in_doubt(&self, now: Instant) -> bool {
        self.undone.count >= MOST_WRITES && !self.is_told(now)
    }

    fn is_told(&self, now: Instant) -> bool {
        self.told.is_some_and(|told| now.saturating_since(told) <= QUIET)
    }

    /// Counts a write. Returns the loop that it shows, unless that was told.
    fn found_by(&mut self, now: Instant, write: &OwnWrite<'_>, manager: &str) -> Option<WriteLoop> {
        if now.saturating_since(self.last) > WINDOW {
            *self = Self { versions: core::mem::take(&mut self.versions), told: self.told, ..Self::default() };
        }
        self.last = self.last.max(now);
        self.writes.add(now);
        let found = self.shown_by(now, write, manager)?;
        let is_new = !self.is_told(now);
        self.told = Some(now);
        is_new.then_some(found)
    }

    fn shown_by(&mut self, now: Instant, write: &OwnWrite<'_>, manager: &str) -> Option<WriteLoop> {
        if !write.is_creation && write.version_before == Some(write.version) {
            self.doubt(now);
            return self.count(now, LoopKind::Idle);
        }
        let is_others = |version: &str| !self.versions.is_empty() && !self.versions.contains(&hash_of(version));
        self.is_shared |= write.version_before.is_some_and(is_others);
        self.know_version(write.version);
        if write.is_creation {
            return self.count(now, LoopKind::Creation);
        }
        self.compare(now, write.is_echo, write.values.as_ref()?, manager)
    }

    fn know_version(&mut self, version: &str) {
        if self.versions.len() == MOST_VERSIONS {
            self.versions.pop_front();
        }
        self.versions.push_back(hash_of(version));
    }

    /// Counts a write that needs no values.
    fn count(&mut self, now: Instant, kind: LoopKind) -> Option<WriteLoop> {
        let run = if kind == LoopKind::Idle { &mut self.idle } else { &mut self.creations };
        run.add(now);
        (run.count > MOST_WRITES).then(|| WriteLoop::new(kind, *run, now))
    }

    fn compare(&mut self, now: Instant, is_echo: bool, values: &OwnValues<'_>, manager: &str) -> Option<WriteLoop> {
        let compared = self.compared(now, is_echo, values);
        let is_undo = match values.before {
            Some(_) => !compared.undone.is_empty(),
            None => self.is_shared && compared.is_same_again,
        };
        if is_undo {
            self.looks = if self.undone.add(now) { 0 } else { self.looks };
            self.is_shared = false;
        }
        if is_undo && self.undone.count > MOST_WRITES {
            if let Some(before) = values.before {
                return Some(self.undo(now, before, &compared.undone, manager));
            }
            self.told = self.told.filter(|_| self.is_told(now)).map(|_| now);
        }
        self.doubt(now);
        let most = if self.swinging.shows_progress(now) { MOST_STEPS } else { MOST_WRITES };
        let (run, fields) = self.swinging.swung(now, most).filter(|_| compared.has_swung)?;
        Some(WriteLoop { fields, ..WriteLoop::new(LoopKind::Echo, run, now) })
    }

    fn undo(&self, now: Instant, before: &Value, undone: &[String], manager: &str) -> WriteLoop {
        let other = manager_of(before, undone, manager);
        let other = other.map(|name| Printable::new(name).at_most(MOST_MANAGER).to_string());
        let fields = undone.iter().map(|field| Printable::new(field).to_string()).collect();
        WriteLoop { fields, other, ..WriteLoop::new(LoopKind::Undo, self.undone, now) }
    }

    /// Changes of others were likely to be undone, and this write undid none. A few of these, and it is not so.
    fn doubt(&mut self, now: Instant) {
        self.looks += u8::from(self.is_in_doubt(now));
        if self.looks > MOST_LOOKS {
            (self.looks, self.undone) = (0, Run::default());
        }
    }

    fn compared(&mut self, now: Instant, is_echo: bool, values: &OwnValues<'_>) -> Compared {
        let mut compared = Compared::default();
        visit_named(values.body, values.after, &mut |pointer, value| {
            let (field, new) = (hash_of(pointer), hash_of(value));
            match self.leaves.get_mut(&field).map(|own| core::mem::replace(own, new)) {
                None if self.leaves.len() < MOST_LEAVES => _ = self.leaves.insert(field, new),
                None => {}
                Some(own) if own != new => {
                    compared.has_swung |= is_echo;
                    if is_echo {
                        self.swinging.swing(now, pointer, value);
                    }
                }
                Some(_) => match values.before {
                    Some(before) if *at(before, pointer) != *value => add(&mut compared.undone, pointer),
                    Some(_) => {}
                    None => compared.is_same_again = true,
                },
            }
        });
        compared
    }
}

fn add(fields: &mut Vec<String>, pointer: &str) {
    if fields.len() < values::MOST_FIELDS {
        fields.push(pointer.into());
    }
}

impl WriteLoop {
    fn new(kind: LoopKind, run: Run, now: Instant) -> Self {
        Self { kind, writes: run.count, within: now.saturating_since(run.since), fields: Vec::new(), other: None }
    }
}

/// The fields that are told in a line.
const MOST_TOLD: usize = 4;

impl fmt::Display for WriteLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (writes, within) = (Counted(self.writes, "write", "writes"), self.within.as_secs_f64());
        match self.kind {
            LoopKind::Idle => return write!(f, "{writes} in {within:.1} s changed nothing"),
            LoopKind::Creation => return write!(f, "it was created {} times in {within:.1} s", self.writes),
            LoopKind::Echo => write!(f, "{writes} in {within:.1} s, and each led to the next one; it changed ")?,
            LoopKind::Undo => match &self.other {
                Some(other) => {
                    write!(f, "{writes} in {within:.1} s, and each undid what {} changed: ", Printable::new(other))
                }
                None => write!(f, "{writes} in {within:.1} s, and each undid what another client changed: "),
            }?,
        }
        for (place, field) in self.fields.iter().take(MOST_TOLD).enumerate() {
            write!(f, "{}{}", if place > 0 { ", " } else { "" }, Printable::new(field))?;
        }
        match self.fields.len().saturating_sub(MOST_TOLD) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
