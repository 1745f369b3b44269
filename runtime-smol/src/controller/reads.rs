use super::feed::Feed;
use super::read::Read;
use super::run_error::RunError;
use crate::informers::{HandleSynced, InformerHandle, Informers, WhenDenied};
use core::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// An informer that is no source.
struct OnlyRead<T> {
    path: Arc<str>,
    handle: InformerHandle<T>,
}

impl<T: Send + Sync + 'static> Read for OnlyRead<T> {
    fn synced(&self) -> HandleSynced {
        self.handle.synced_for_start(WhenDenied::Fail)
    }

    fn identity(&self) -> Weak<dyn Any + Send + Sync> {
        self.handle.identity()
    }

    fn informers(&self) -> Informers {
        Informers::of(&self.handle)
    }

    fn path(&self) -> &Arc<str> {
        &self.path
    }
}

/// The informers that a controller was asked for, and the first mistake that was made.
#[derive(Default)]
pub(super) struct Reads(Mutex<Asked>);

#[derive(Default)]
struct Asked {
    reads: Vec<Box<dyn Read>>,
    mistake: Option<RunError>,
}

impl Reads {
    pub(super) fn add<T: Send + Sync + 'static>(&self, informer: &InformerHandle<T>) {
        let read = OnlyRead { path: informer.resource().path().into(), handle: informer.clone() };
        self.with(|asked| asked.reads.push(Box::new(read)));
    }

    pub(super) fn on_mistake(&self, mistake: String) {
        self.with(|asked| _ = asked.mistake.get_or_insert(RunError::Config(mistake)));
    }

    /// The informers that are none of these sources, each once.
    pub(super) fn take_except(&self, sources: &[Box<dyn Feed>]) -> (Vec<Box<dyn Read>>, Option<RunError>) {
        let Asked { mut reads, mistake } = self.with(core::mem::take);
        let mut known: Vec<_> = sources.iter().map(|source| source.identity()).collect();
        reads.retain(|read| {
            let identity = read.identity();
            let is_new = !known.iter().any(|known| known.ptr_eq(&identity));
            known.push(identity);
            is_new
        });
        (reads, mistake)
    }

    fn with<R>(&self, f: impl FnOnce(&mut Asked) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
