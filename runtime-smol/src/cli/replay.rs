//! `listwatch replay`: a recording through the whole machine.

use crate::args::{IndexBy, Kind, Print, ReplayOptions, Speed};
use crate::complaint::tell;
use crate::error::CommandError;
use crate::live::Live;
use crate::printer::Printer;
use crate::summary::{Counts, Report};
use crate::undecodable::{complain_of, complain_of_the_rest};
use listwatch_runtime_smol::cache::{IndexId, Indexer};
use listwatch_runtime_smol::decode::{MetadataOnly, Raw};
use listwatch_runtime_smol::file::{Pace, Playback, PlaybackConfig};
use listwatch_runtime_smol::informer::InformerStatus;
use listwatch_runtime_smol::sync::{Shared, SharedWorkQueue, StdLock};
use listwatch_runtime_smol::{
    Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Key, Object, Outcome, Resource, WorkQueue,
    Workers, run,
};
use serde::de::DeserializeOwned;
use smol::future::{poll_once, yield_now};
use smol::stream::StreamExt;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cache that workers read while the informer writes.
type SharedCache<T> = Arc<Shared<Indexer<Arc<Object<T>>>, StdLock>>;

/// Plays a recording as the options say.
///
/// # Errors
/// Where it cannot be played to its end, or nothing can be printed.
pub(crate) fn replay(options: &ReplayOptions) -> Result<(), CommandError> {
    match options.kind {
        Kind::Raw => Replay::<Raw>::new(options)?.play(),
        Kind::Meta => Replay::<MetadataOnly>::new(options)?.play(),
        Kind::Value => Replay::<serde_json::Value>::new(options)?.play(),
    }
}

struct Replay<'a, T> {
    options: &'a ReplayOptions,
    clock: Clock,
    cache: SharedCache<T>,
    indexes: Vec<(String, IndexId)>,
    queue: Arc<SharedWorkQueue<Key, StdLock>>,
    reconciles: Arc<AtomicU64>,
    events: Events<T, Playback, SharedCache<T>>,
    printer: Printer<BufWriter<StdoutLock<'static>>>,
    live: Live,
    counts: Counts,
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> Replay<'a, T> {
    fn new(options: &'a ReplayOptions) -> Result<Self, CommandError> {
        let (clock, pace) = match options.speed {
            Speed::Times(speed) => (Clock::scaled(speed), Pace::Recorded),
            Speed::Max => (Clock::simulated(), Pace::Immediate),
        };
        let playback = open(options, pace)?;
        let mut indexer = Indexer::default();
        let indexes = options.indexes.iter().map(|by| (by.to_string(), add_index(&mut indexer, by.clone()))).collect();
        let cache: SharedCache<T> = Arc::new(Shared::new(indexer));
        // A recording may have both metadata and whole objects: either is what there is.
        let resource = playback.resource().cloned().unwrap_or_else(|| Resource::new("/recording")).metadata_only();
        let informer = Informer::with_cache(resource, config(options, &playback), Arc::clone(&cache));
        let printed = options.print == Print::Events && std::io::stdout().is_terminal();
        let live = Live::bar(playback.summary().file_bytes, !printed);
        let events = Events::start(Driver::new(informer, playback), clock.clone());
        Ok(Self {
            options,
            clock,
            cache,
            indexes,
            queue: Arc::new(SharedWorkQueue::new(WorkQueue::default())),
            reconciles: Arc::default(),
            events: events.until(|driver| driver.transport().is_complete()),
            printer: Printer::new(stdout(), options.print, options.format),
            live,
            counts: Counts::default(),
        })
    }

    fn play(mut self) -> Result<(), CommandError> {
        let time = Clock::real();
        let executor = Executor::new();
        let workers = self.spawn_workers(&executor);
        let clock = self.clock.clone();
        let told = run(&clock, &executor, async {
            let told = self.tell_all().await;
            self.queue.shut_down();
            workers.join().await;
            told
        });
        self.live.hide();
        told.and_then(|()| self.tell_store()).map_err(CommandError::Output)?;
        complain_of_the_rest(self.counts.undecodable, &self.options.file.display());
        let error = self.error();
        self.report(&time, error.is_none()).map_err(CommandError::Output)?;
        error.map_or(Ok(()), Err)
    }

    /// Takes every event, and puts its key into the work queue.
    async fn tell_all(&mut self) -> std::io::Result<()> {
        self.printer.begin()?;
        while let Some(event) = self.next().await? {
            self.counts.note(&event);
            self.printer.event(&event)?;
            if let Event::Undecodable(undecodable) = &event {
                complain_of(undecodable, self.counts.undecodable, &self.options.file.display(), &self.live);
            }
            if let Some(key) = event.key() {
                self.queue.add(key.clone());
            }
        }
        Ok(())
    }

    /// The next event. Nothing printed stays hidden while it is waited for; that workers get their turn is no waiting.
    async fn next(&mut self) -> std::io::Result<Option<Event<T>>> {
        if let Some(event) = poll_once(self.events.next()).await {
            return Ok(event);
        }
        self.show_progress();
        yield_now().await;
        if let Some(event) = poll_once(self.events.next()).await {
            return Ok(event);
        }
        self.printer.out().flush()?;
        Ok(self.events.next().await)
    }

    fn tell_store(&mut self) -> std::io::Result<()> {
        self.cache.read(|cache| self.printer.store(cache))?;
        self.printer.out().flush()
    }

    /// Why the recording was not played to its end, or in vain.
    fn error(&self) -> Option<CommandError> {
        let in_vain = || CommandError::NothingListed(self.options.file.clone(), self.counts.reason());
        let broken = self.events.driver().transport().error().cloned().map(CommandError::Capture);
        broken.or_else(|| (!self.counts.synced).then(in_vain))
    }

    fn spawn_workers(&self, executor: &Executor<'static>) -> Workers<Key> {
        let (cache, reconciles) = (Arc::clone(&self.cache), Arc::clone(&self.reconciles));
        Workers::spawn(executor, &self.queue, &self.clock, self.options.workers, move |key: Key| {
            let (cache, reconciles) = (Arc::clone(&cache), Arc::clone(&reconciles));
            async move {
                // What every controller begins with: the newest state, or that there is none any more.
                let _newest = cache.read(|cache| cache.object(&key).cloned());
                reconciles.fetch_add(1, Ordering::Relaxed);
                Outcome::Done
            }
        })
    }

    fn show_progress(&self) {
        if self.live.is_visible() {
            let position = self.events.driver().transport().summary().file_bytes_played;
            self.live.show_at(position, &format!("{} events; {}", self.counts.events, self.status()));
        }
    }

    /// What the informer is doing.
    fn status(&self) -> InformerStatus {
        self.events.driver().informer().status(self.clock.now())
    }

    /// Tells people what it amounted to: beside what was printed for programs, never in it.
    fn report(self, time: &Clock, whole: bool) -> std::io::Result<()> {
        let values = |cache: &Indexer<_>, id| cache.index_values(id).count();
        let report = Report {
            file: self.options.file.display().to_string(),
            whole,
            playback: self.events.driver().transport().summary(),
            objects: self.cache.read(|cache| cache.len()),
            status: self.status(),
            indexes: self
                .cache
                .read(|cache| self.indexes.iter().map(|(name, id)| (name.clone(), values(cache, *id))).collect()),
            queue: self.queue.stats(),
            reconciles: self.reconciles.load(Ordering::Relaxed),
            elapsed: std::time::Duration::from_nanos(time.now().as_nanos()),
            counts: self.counts,
        };
        let report = report.to_string();
        match self.options.print {
            Print::Nothing => std::io::stdout().write_all(report.as_bytes()),
            _ => {
                if std::io::stderr().is_terminal() {
                    tell(&report);
                }
                Ok(())
            }
        }
    }
}

/// Nobody has to be listened to meanwhile, so a reader that does not read may make everything wait.
fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, std::io::stdout().lock())
}

fn open(options: &ReplayOptions, pace: Pace) -> Result<Playback, CommandError> {
    let config = PlaybackConfig::new().pace(pace).chunks(options.chunks).skip_bad_lines(options.skip_bad_lines);
    Playback::with_config(&options.file, config).map_err(CommandError::Capture)
}

/// A recording has whatever timeouts its own client asked for, watch-lists or none, and no other clients.
fn config(options: &ReplayOptions, playback: &Playback) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_timeout = None;
    config.reflector.answer_timeout = None;
    config.reflector.reconnect_jitter = std::time::Duration::ZERO;
    config.reflector.watch_list = playback.summary().watch_lists.left > 0;
    config.order = options.order;
    // A replay is the same each time.
    config.reflector.seed = Some(0);
    config
}

fn add_index<T: 'static>(indexer: &mut Indexer<Arc<Object<T>>>, by: IndexBy) -> IndexId {
    indexer.add_index(move |object: &Arc<Object<T>>, emit: &mut dyn FnMut(&str)| match &by {
        IndexBy::Namespace => emit(object.meta.namespace().unwrap_or_default()),
        IndexBy::Owner => object.meta.owner_references().for_each(|owner| emit(owner.uid)),
        IndexBy::Label(name) => object.meta.label(name).into_iter().for_each(emit),
    })
}
