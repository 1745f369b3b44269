use super::feed::Feed;
use super::read::Read;
use super::run_error::RunError;
use super::source::Source;
use crate::informers::InformerHandle;
use std::sync::{Mutex, PoisonError};

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
        self.with(|asked| asked.reads.push(Box::new(Source::from(informer))));
    }

    pub(super) fn on_mistake(&self, mistake: String) {
        self.with(|asked| _ = asked.mistake.get_or_insert(RunError::Config(mistake)));
    }

    /// The informers that are none of these sources, each once.
    pub(super) fn take_except(&self, sources: &[Box<dyn Feed>]) -> (Vec<Box<dyn Read>>, Option<RunError>) {
        let Asked { mut reads, mistake } = self.with(core::mem::take);
        let mut known: Vec<_> = sources.iter().map(|source| source.source().identity()).collect();
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
