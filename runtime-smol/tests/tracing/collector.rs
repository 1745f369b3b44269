//! A subscriber that keeps what it is told.

use core::fmt;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

pub(crate) type Fields = BTreeMap<&'static str, String>;

#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) level: Level,
    /// The text of an event is its field `message`.
    pub(crate) fields: Fields,
    /// The spans that it is inside of, the outermost first.
    pub(crate) inside: Vec<u64>,
    pub(crate) is_closed: bool,
}

impl Told {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

#[derive(Debug, Default)]
struct Kept {
    spans: Vec<Told>,
    events: Vec<Told>,
    /// How many handles each span has.
    handles: HashMap<u64, usize>,
    entered: HashMap<ThreadId, Vec<u64>>,
    mistakes: Vec<String>,
}

/// A clone is the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector(Arc<Mutex<Kept>>);

impl Collector {
    /// Calls `act` with this as the subscriber of the thread.
    pub(crate) fn around<R>(&self, act: impl FnOnce() -> R) -> R {
        tracing::subscriber::with_default(self.clone(), act)
    }

    /// The spans. A span has the number of its place, counted from one.
    pub(crate) fn spans(&self) -> Vec<Told> {
        let kept = self.kept();
        assert!(kept.mistakes.is_empty(), "{:?}", kept.mistakes);
        assert!(kept.entered.values().all(Vec::is_empty), "a span was not left: {:?}", kept.entered);
        kept.spans.clone()
    }

    pub(crate) fn reconciles(&self) -> Vec<Told> {
        self.spans().into_iter().filter(|span| span.name == "reconcile").collect()
    }

    pub(crate) fn events(&self, target: &str) -> Vec<Told> {
        self.kept().events.iter().filter(|event| event.target == target).cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }
}

/// Has `tracing` ask all subscribers of a process whether an event is ever wanted. While there is one at most, it asks
/// that of the current thread alone, so a test without a subscriber would answer for the others.
pub(crate) fn ask_each_subscriber() {
    static TWO: LazyLock<[Dispatch; 2]> = LazyLock::new(|| [(); 2].map(|()| Dispatch::new(Collector::default())));
    LazyLock::force(&TWO);
}

struct Collect(Fields);

impl Visit for Collect {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

fn told(metadata: &'static Metadata<'static>, fields: Fields, inside: Vec<u64>) -> Told {
    let (name, target, level) = (metadata.name(), metadata.target(), *metadata.level());
    Told { name, target, level, fields, inside, is_closed: false }
}

impl Kept {
    fn inside(&mut self) -> &mut Vec<u64> {
        self.entered.entry(thread::current().id()).or_default()
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Collect(Fields::new());
        attributes.record(&mut fields);
        let mut kept = self.kept();
        let inside = kept.inside().clone();
        kept.spans.push(told(attributes.metadata(), fields.0, inside));
        let number = kept.spans.len() as u64;
        kept.handles.insert(number, 1);
        Id::from_u64(number)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Collect(Fields::new());
        event.record(&mut fields);
        let mut kept = self.kept();
        let inside = kept.inside().clone();
        kept.events.push(told(event.metadata(), fields.0, inside));
    }

    fn enter(&self, span: &Id) {
        self.kept().inside().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut kept = self.kept();
        let left = kept.inside().pop();
        if left != Some(span.into_u64()) {
            kept.mistakes.push(format!("{span:?} was left, and {left:?} was entered last"));
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        *self.kept().handles.get_mut(&span.into_u64()).unwrap() += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut kept = self.kept();
        let number = span.into_u64();
        let handles = kept.handles.get_mut(&number).unwrap();
        *handles -= 1;
        let is_closed = *handles == 0;
        kept.spans[number as usize - 1].is_closed |= is_closed;
        is_closed
    }
}
