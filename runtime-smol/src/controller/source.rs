//! The sources of keys: informers, the changes that count, and the keys that a change leads to.

use super::error::RunError;
use super::owners::OwnKind;
use crate::informers::{AuditTarget, HandleSynced, InformerHandle, Informers, WhenDenied};
use crate::mutex::Mutex;
use core::any::Any;
use core::marker::PhantomData;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::Key;
use listwatch_core::informer::Subscriber;
use listwatch_core::object::{Object, ObjectHandle};
use listwatch_core::queue::Priority;
use listwatch_core::sync::StdLock;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// An informer as a source of keys, with the changes that count. A reference to an [`InformerHandle`] is one where
/// every change counts.
///
/// ```
/// use listwatch::InformerHandle;
/// use listwatch::controller::{Source, predicate};
/// use listwatch::decode::MetadataOnly;
///
/// /// Changes of the status do not count, and neither does the pause of an object.
/// fn specs(pods: &InformerHandle<MetadataOnly>) -> Source<MetadataOnly> {
///     Source::from(pods)
///         .when(predicate::generation_changed)
///         .when(|_old, new| new.meta.label("paused").is_none())
/// }
/// ```
#[must_use = "a source does nothing until a controller has it"]
pub struct Source<T> {
    pub(super) handle: InformerHandle<T>,
    pub(super) when: Vec<Predicate<T>>,
    pub(super) denied: WhenDenied,
    pub(super) is_namespaced: Option<bool>,
}

/// Whether a change from the first state to the second one counts.
type Predicate<T> = Box<dyn Fn(&Object<T>, &Object<T>) -> bool + Send>;

impl<T> Source<T> {
    /// Ignores an update for which `counts` is false of the old and the new state. Of several, each must be true.
    ///
    /// Additions and deletions always count. A controller that is behind may be told several updates as one, and the
    /// states between them count too. If `counts` panics, the update counts too, and the panic is
    /// [reported](super::Report::MapperPanicked).
    pub fn when(mut self, counts: impl Fn(&Object<T>, &Object<T>) -> bool + Send + 'static) -> Self {
        self.when.push(Box::new(counts));
        self
    }

    /// Lets the controller start without the namespaces of [`informer_in`](crate::Informers::informer_in) whose lists
    /// the server denies (403). Each is [reported](super::Report::SourceFailed) by name, and its objects become keys
    /// once the server allows it. By default the controller does not start, and its error names them.
    ///
    /// If the server denies all of them, the controller does not start either.
    pub fn start_without_denied(mut self) -> Self {
        self.denied = WhenDenied::GoOn;
        self
    }

    /// Says whether the objects have a namespace, as discovery returns it
    /// ([`ApiResource::namespaced`](crate::api::ApiResource::namespaced)). It counts for the own kind of a
    /// controller that [owns](super::Reconciler::owns) others.
    ///
    /// A resource that names a namespace says it too, and so does each object. Without any of these, an owner that an
    /// object names may be in the object's namespace or in none, so both keys are reconciled.
    pub fn namespaced(mut self, is_namespaced: bool) -> Self {
        self.is_namespaced = Some(is_namespaced);
        self
    }

    /// Whether an update counts.
    pub(super) fn counts(&self, old: &ObjectHandle<T>, new: &ObjectHandle<T>) -> bool {
        self.when.iter().all(|counts| counts(old.as_object(), new.as_object()))
    }
}

impl<T: Send + Sync + 'static> Read for Source<T> {
    fn synced(&self) -> HandleSynced {
        self.handle.synced_for_start(self.denied)
    }

    fn identity(&self) -> Weak<dyn Any + Send + Sync> {
        self.handle.identity()
    }

    fn informers(&self) -> Informers {
        Informers::of(&self.handle)
    }

    fn audit_targets(&self) -> Vec<AuditTarget> {
        self.handle.audit_targets()
    }

    fn path(&self) -> &str {
        self.handle.resource().path()
    }
}

impl<T> From<&InformerHandle<T>> for Source<T> {
    fn from(handle: &InformerHandle<T>) -> Self {
        Self { handle: handle.clone(), when: Vec::new(), denied: WhenDenied::Fail, is_namespaced: None }
    }
}

listwatch_core::summary!(impl[T] "Source" for Source<T>, |it| { handle: it.handle });

/// An informer of any type, which has to sync before the first reconcile.
pub(super) trait Read: Send {
    /// Waits for its first state.
    fn synced(&self) -> HandleSynced;

    /// Tells it from all others.
    fn identity(&self) -> Weak<dyn Any + Send + Sync>;

    /// The informers that it is among.
    fn informers(&self) -> Informers;

    /// Its streams, to be audited.
    fn audit_targets(&self) -> Vec<AuditTarget>;

    /// The path of its resource.
    fn path(&self) -> &str;
}

/// Tells informers that come for the first time from those that came before.
#[derive(Default)]
pub(super) struct Distinct(Vec<Weak<dyn Any + Send + Sync>>);

impl Distinct {
    /// Whether this informer has not come before.
    pub(super) fn is_new(&mut self, read: &dyn Read) -> bool {
        let identity = read.identity();
        let is_new = !self.0.iter().any(|known| known.ptr_eq(&identity));
        if is_new {
            self.0.push(identity);
        }
        is_new
    }
}

/// Those that belong together, each once, or why they cannot run beside each other.
pub(super) fn worlds<'r>(
    own: &Informers,
    reads: impl Iterator<Item = &'r dyn Read>,
) -> Result<Vec<Informers>, RunError> {
    let mut worlds = vec![own.clone()];
    for read in reads {
        let informers = read.informers();
        if !informers.clock().is_same(own.clock()) {
            let path = read.path();
            return Err(RunError::Config(format!("the world of {path} has another clock; give all worlds one clock")));
        }
        if !worlds.iter().any(|world| world.is_same(&informers)) {
            worlds.push(informers);
        }
    }
    match worlds.iter().find_map(|informers| informers.world().refusal()) {
        Some(why) => Err(RunError::Config(why.to_owned())),
        None => Ok(worlds),
    }
}

/// The keys that a mapper finds for one object. They go to the queue when the mapper returns, each once; if it panics,
/// none of them does.
#[derive(Debug)]
pub struct Keys<'a> {
    found: FoundKeys,
    priority: Priority,
    /// A mapper cannot keep it.
    _call: PhantomData<&'a ()>,
}

/// Distinct keys in the order in which they were found, each with its highest priority.
#[derive(Debug, Default)]
pub(super) struct FoundKeys {
    keys: Vec<(Key, Priority)>,
    /// The places of the keys.
    places: HashMap<Key, usize>,
}

impl Keys<'_> {
    pub(super) fn new(priority: Priority) -> Self {
        Self { found: FoundKeys::default(), priority, _call: PhantomData }
    }

    /// Lets the controller reconcile `key`: with [`Priority::Low`] if the object is part of an initial list, and with
    /// [`Priority::Normal`] otherwise.
    pub fn add(&mut self, key: impl Into<Key>) {
        self.add_with_priority(key, self.priority);
    }

    /// Lets the controller reconcile `key` with this priority.
    pub fn add_with_priority(&mut self, key: impl Into<Key>, priority: Priority) {
        self.found.add(key.into(), priority);
    }

    pub(super) fn into_found(self) -> FoundKeys {
        self.found
    }
}

impl FoundKeys {
    fn add(&mut self, key: Key, priority: Priority) {
        let next = self.keys.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        match self.keys.get_mut(place) {
            Some((_, known)) => *known = priority.max(*known),
            None => self.keys.push((key, priority)),
        }
    }

    /// Adds the keys of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        other.keys.into_iter().for_each(|(key, priority)| self.add(key, priority));
    }

    pub(super) fn into_keys(self) -> Vec<(Key, Priority)> {
        self.keys
    }
}

/// What calls [`Keys::add`] for an object.
type AddKeys<T> = Box<dyn Fn(&ObjectHandle<T>, &mut Keys<'_>) + Send>;

/// From an object to keys.
pub(super) enum Mapper<T> {
    /// To the object's own key.
    Own(Arc<OwnKind>),
    /// To its owner's.
    Owner(Arc<OwnKind>),
    /// To those that the program's function adds.
    Program(AddKeys<T>),
}

impl<T> Mapper<T> {
    pub(super) fn map(&self, object: &ObjectHandle<T>, keys: &mut Keys<'_>) {
        match self {
            Self::Own(_) => keys.add(object.key().clone()),
            Self::Owner(kind) => kind.owner_keys(object.meta()).for_each(|key| keys.add(key)),
            Self::Program(map) => map(object, keys),
        }
    }
}

/// How far a controller is with one of its sources. [`ControllerHandle::sources`](super::ControllerHandle::sources)
/// returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceStatus {
    /// The path of the source's resource.
    pub source: Arc<str>,
    /// Whether all objects of its first state became keys.
    pub has_synced: bool,
    /// How many changes wait at most to become keys.
    pub backlog: usize,
    /// For how long the oldest of them has waited; zero where none waits.
    pub lag: Duration,
}

/// The sources that are followed now, in the order of their begin.
#[derive(Default)]
pub(super) struct Sources(Mutex<Vec<Weak<dyn Gauge>>>);

/// A source that is followed.
pub(super) struct Following<T> {
    pub(super) source: Arc<str>,
    pub(super) subscriber: Mutex<Subscriber<ObjectHandle<T>, StdLock>>,
}

/// What a source of any type tells.
trait Gauge: Send + Sync {
    fn status(&self, now: Instant) -> SourceStatus;
}

impl<T: Send + Sync> Gauge for Following<T> {
    fn status(&self, now: Instant) -> SourceStatus {
        let (source, subscriber) = (Arc::clone(&self.source), self.subscriber.lock());
        let (has_synced, backlog, lag) = (subscriber.has_synced(), subscriber.backlog(), subscriber.lag(now));
        SourceStatus { source, has_synced, backlog, lag }
    }
}

impl Sources {
    /// Shows a source for as long as it is followed.
    pub(super) fn add<T: Send + Sync + 'static>(&self, source: &Arc<Following<T>>) {
        let source: Weak<dyn Gauge> = Arc::<Following<T>>::downgrade(source);
        let mut sources = self.0.lock();
        sources.retain(|source| source.strong_count() > 0);
        sources.push(source);
    }

    pub(super) fn status(&self, now: Instant) -> Vec<SourceStatus> {
        // Outside of the lock: the last share of a subscriber may be dropped here.
        let sources: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        sources.iter().map(|source| source.status(now)).collect()
    }
}
