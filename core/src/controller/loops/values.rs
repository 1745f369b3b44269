//! The fields of an object that a write names, and how their values swing.

use crate::text::Printable;
use crate::time::Instant;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;
use foldhash::fast::FixedState;
use serde_json::Value;

/// What is counted is counted in this time.
pub(super) const WINDOW: Duration = Duration::from_secs(300);
/// What happens less often is no loop.
pub(super) const PACE: Duration = Duration::from_secs(30);
/// As many fields of an object are told.
pub(super) const MOST_FIELDS: usize = 16;
/// What has a longer pointer is compared as a whole, in bytes.
const MOST_POINTER: usize = 256;

/// What a server sets in each answer.
const OF_SERVER: [&str; 3] = ["/metadata/resourceVersion", "/metadata/managedFields", "/metadata/generation"];

/// How often something has happened in a window, which begins with the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) since: Instant,
    pub(super) count: u32,
}

impl Run {
    /// Counts one more; true if it is the first one of a window.
    pub(super) fn add(&mut self, now: Instant) -> bool {
        if self.count == 0 || now.saturating_since(self.since) > WINDOW {
            *self = Self { since: now, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count == 1
    }
}

pub(super) fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    FixedState::default().hash_one(value)
}

/// The value at a pointer; null if there is none.
pub(super) fn at<'v>(object: &'v Value, pointer: &str) -> &'v Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}

/// Calls `visit` with the pointer and the new value of each field that a body names.
pub(super) fn visit_named(body: &Value, after: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    let Some(operations) = body.as_array() else { return Walk { pointer: String::new(), visit }.named(body, after) };
    for path in operations.iter().filter_map(|operation| operation["path"].as_str()) {
        if path.len() <= MOST_POINTER {
            Walk { pointer: path.into(), visit }.all(at(after, path));
        }
    }
}

struct Walk<'w> {
    pointer: String,
    visit: &'w mut dyn FnMut(&str, &Value),
}

impl Walk<'_> {
    fn named(&mut self, body: &Value, after: &Value) {
        match body {
            Value::Object(fields) if self.fits(fields.keys()) => {
                fields.iter().for_each(|(name, body)| self.below(name, |it| it.named(body, &after[name])));
            }
            _ => self.all(after),
        }
    }

    fn all(&mut self, value: &Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() && self.fits(fields.keys()) => {
                fields.iter().for_each(|(name, value)| self.below(name, |it| it.all(value)));
            }
            Value::Array(elements) if !elements.is_empty() && self.fits([&"0".repeat(20)]) => {
                let elements = elements.iter().enumerate();
                elements.for_each(|(place, value)| self.below(&place.to_string(), |it| it.all(value)));
            }
            value => (self.visit)(&self.pointer, value),
        }
    }

    fn below(&mut self, name: &str, walk: impl FnOnce(&mut Self)) {
        let end = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        if !OF_SERVER.contains(&&*self.pointer) {
            walk(self);
        }
        self.pointer.truncate(end);
    }

    /// Whether the pointers of all these are short.
    fn fits<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> bool {
        let escapes = |name: &str| name.matches(['~', '/']).count();
        names.into_iter().all(|name| self.pointer.len() + name.len() + escapes(name) < MOST_POINTER)
    }
}

/// The fields that have another value after each write.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<Field>);

#[derive(Debug)]
struct Field {
    pointer: String,
    run: Run,
    last: Instant,
    number: Option<i64>,
    way: Way,
}

/// Where a number goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Unknown,
    Up,
    Down,
    /// It swings, or is none.
    Neither,
}

impl Fields {
    /// A field has another value. If there are many, those that swing stay.
    pub(super) fn swing(&mut self, now: Instant, pointer: &str, value: &Value) {
        let known = self.0.iter().position(|field| field.pointer == pointer);
        let place = known.or_else(|| self.place_of_new(now, pointer));
        if let Some(field) = place.and_then(|place| self.0.get_mut(place)) {
            field.swing(now, value.as_i64());
        }
    }

    fn place_of_new(&mut self, now: Instant, pointer: &str) -> Option<usize> {
        if self.0.len() == MOST_FIELDS {
            self.0.retain(|field| now.saturating_since(field.last) <= PACE);
        }
        if self.0.len() == MOST_FIELDS {
            return None;
        }
        let (run, pointer) = (Run::default(), pointer.into());
        self.0.push(Field { pointer, run, last: now, number: None, way: Way::Unknown });
        Some(self.0.len() - 1)
    }

    /// Whether a number that changes now has only grown, or only fallen.
    pub(super) fn shows_progress(&self, now: Instant) -> bool {
        self.0.iter().any(|field| field.last == now && matches!(field.way, Way::Up | Way::Down))
    }

    /// The fields that change now and have swung more often than this, and the run of the one that did most often.
    pub(super) fn swung(&self, now: Instant, most: u32) -> Option<(Run, Vec<String>)> {
        let swung = || self.0.iter().filter(|field| field.last == now && field.run.count > most);
        let run = swung().map(|field| field.run).max_by_key(|run| run.count)?;
        Some((run, swung().map(|field| Printable::new(&field.pointer).to_string()).collect()))
    }
}

impl Field {
    fn swing(&mut self, now: Instant, number: Option<i64>) {
        if self.run.add(now) {
            (self.number, self.way) = (None, Way::Unknown);
        }
        self.way = match (self.number, number) {
            (None, Some(_)) if self.way == Way::Unknown => Way::Unknown,
            (Some(before), Some(after)) if after > before && self.way != Way::Down => Way::Up.unless(self.way),
            (Some(before), Some(after)) if after < before && self.way != Way::Up => Way::Down.unless(self.way),
            _ => Way::Neither,
        };
        (self.number, self.last) = (number, now);
    }
}

impl Way {
    fn unless(self, known: Self) -> Self {
        if known == Self::Neither { known } else { self }
    }
}
