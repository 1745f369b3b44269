use super::feed::Feed;
use super::read::{Distinct, Read};
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
        let mut distinct = Distinct::default();
        sources.iter().for_each(|source| _ = distinct.is_new(source.source()));
        reads.retain(|read| distinct.is_new(&**read));
        (reads, mistake)
    }

    fn with<R>(&self, f: impl FnOnce(&mut Asked) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The informers of the sources, and those that the controller reads beside them.
pub(super) fn all_of<'r>(
    feeds: &'r [Box<dyn Feed>],
    reads: &'r [Box<dyn Read>],
) -> impl Iterator<Item = &'r dyn Read> + 'r {
    feeds.iter().map(|feed| feed.source()).chain(reads.iter().map(|read| &**read))
}
