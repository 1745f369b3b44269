//! `listwatch replay`: a recording through informer, work queue and workers.

mod against;
mod capacities;
mod played;
mod program;
mod report;

use crate::arguments::{IndexBy, Kind, Print, ReplayOptions, Speed, hide_credentials};
use crate::error::CommandError;
use crate::output::printer::{Form, Printed, Printer};
use crate::output::progress::Progress;
use crate::output::shown::Shown;
use crate::output::{self, messages};
use crate::report::counts::Counts;
use crate::report::undecodable;
use listwatch::SharedWorkQueue;
use listwatch::cache::{IndexId, Indexer, Store, StoreWriter};
use listwatch::decode::{MetadataOnly, Raw};
use listwatch::file::{CaptureError, Chunks, Pace, Playback, PlaybackConfig};
use listwatch::informer::InformerStatus;
use listwatch::object::{ObjectHandle, Uid};
use listwatch::text::Counted;
use listwatch::{
    Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Key, Outcome, Resource, Workers, run,
};
use played::Played;
use report::Report;
use serde::de::DeserializeOwned;
use smol::future::{poll_once, yield_now};
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Plays a recording as the options say.
///
/// # Errors
/// The recording cannot be played to its end, or printed.
pub(super) fn replay(options: &ReplayOptions) -> Result<(), CommandError> {
    match options.kind {
        _ if !options.against.is_empty() => against::against(options),
        _ if options.suggest_capacities => capacities::suggest(options),
        _ if options.indexes.iter().any(|by| matches!(by, IndexBy::Field(_))) => Err(CommandError::Arguments(
            "an index by `field:PATH` needs --suggest-capacities; without it, give `namespace`, `owner` or `label:NAME`",
        )),
        // Metadata are printed as they were recorded.
        Kind::Meta if options.output.is_some() => Replay::<Raw>::new(options)?.play(),
        Kind::Raw => Replay::<Raw>::new(options)?.play(),
        Kind::Meta => Replay::<MetadataOnly>::new(options)?.play(),
        Kind::Value => Replay::<serde_json::Value>::new(options)?.play(),
    }
}

struct Replay<'a, T: DeserializeOwned> {
    options: &'a ReplayOptions,
    played: Played,
    clock: Clock,
    store: Store<T>,
    indexes: Vec<(String, IndexId)>,
    queue: Arc<SharedWorkQueue<Key>>,
    reconciles: Arc<AtomicU64>,
    events: Events<T, Playback, StoreWriter<T>>,
    printer: Printer<BufWriter<StdoutLock<'static>>>,
    progress: Progress,
    counts: Counts,
}

impl<'a, T: DeserializeOwned + Shown + Send + Sync + 'static> Replay<'a, T> {
    fn new(options: &'a ReplayOptions) -> Result<Self, CommandError> {
        let (clock, pace) = match options.speed {
            Speed::Times(speed) => (Clock::scaled(speed), Pace::Recorded),
            Speed::Max => (Clock::simulated(), Pace::Immediate),
        };
        let playback = open(options, pace, options.chunks())?;
        let played = Played::of(options, &playback)?;
        let mut indexer = Indexer::default();
        let indexes = options.indexes.iter().map(|by| (by.to_string(), add_index(&mut indexer, by.clone()))).collect();
        let writer = StoreWriter::new(indexer);
        let store = writer.store();
        // A recording may have metadata, whole objects or both.
        let resource = played.0.clone().unwrap_or_else(|| Resource::new("/recording")).metadata_only();
        let (printed, namespaces) = (Printed::new("recording", &resource), !resource.path().contains("/namespaces/"));
        let objects = |output| Form::Objects { output, secrets: options.show_secrets, labels: false };
        let form = options.output.map_or(Form::Handlers(options.format), objects);
        let printer = Printer::new(stdout(), options.print(), form, vec![printed], namespaces);
        let informer = Informer::with_cache(resource, config(options, &playback, &played), writer);
        let printed = options.print() == Some(Print::Events) && std::io::stdout().is_terminal();
        let progress = Progress::bar(playback.progress().file_bytes, !printed);
        let events = Events::start(Driver::new(informer, playback), clock.clone());
        Ok(Self {
            options,
            played,
            clock,
            store,
            indexes,
            queue: Arc::new(SharedWorkQueue::default()),
            reconciles: Arc::default(),
            events: events.until(|driver| driver.transport().is_complete()),
            printer,
            progress,
            counts: Counts::default(),
        })
    }

    fn play(mut self) -> Result<(), CommandError> {
        let time = Clock::real();
        let executor = Executor::new();
        let workers = self.spawn_workers(&executor);
        let clock = self.clock.clone();
        let played = run(&clock, &executor, async {
            let played = self.play_events().await;
            self.queue.shut_down();
            workers.join().await;
            played
        });
        self.progress.hide();
        played.and_then(|()| self.print_store()).map_err(CommandError::Output)?;
        undecodable::report_rest(self.counts.undecodable, &self.options.file.display());
        let error = self.error();
        if let Some(cut) = self.playback().cut().filter(|_| error.is_none()) {
            messages::print(format_args!("{cut}; the recording was played up to there"));
        }
        self.report(&time, error.is_none()).map_err(CommandError::Output)?;
        error.map_or(Ok(()), Err)
    }

    /// Prints every event, and adds its key to the work queue.
    async fn play_events(&mut self) -> std::io::Result<()> {
        self.printer.begin()?;
        while let Some(event) = self.next().await? {
            self.counts.note(&event);
            self.printer.event(0, &event)?;
            if let Event::Undecodable(undecodable) = &event {
                let file = self.options.file.display();
                let message = undecodable::message(undecodable, self.counts.undecodable, &file);
                message.iter().for_each(|message| self.progress.suspend(|| messages::print(message)));
            }
            if let Some(key) = event.key() {
                self.queue.add(key.clone());
            }
        }
        Ok(())
    }

    /// The next event. The output is flushed before a wait; a turn of the workers is no wait.
    async fn next(&mut self) -> std::io::Result<Option<Event<T>>> {
        if let Some(event) = poll_once(self.events.next()).await {
            return Ok(event);
        }
        self.show_progress();
        yield_now().await;
        if let Some(event) = poll_once(self.events.next()).await {
            return Ok(event);
        }
        self.printer.settle()?;
        self.printer.out().flush()?;
        Ok(self.events.next().await)
    }

    /// Prints the cache. Behind objects that were printed as events, it would be the same objects again.
    fn print_store(&mut self) -> std::io::Result<()> {
        if self.options.output.is_none() || self.options.print() == Some(Print::Store) {
            self.printer.store(0, self.store.list())?;
        }
        self.printer.settle()?;
        self.printer.out().flush()
    }

    /// Why the recording was not played to its end, or had no state, or no object that can be decoded.
    fn error(&self) -> Option<CommandError> {
        let nothing_listed = || nothing_listed(self.options, &self.counts, self.playback().cut());
        let broken = self.playback().error().cloned().map(CommandError::Capture);
        let in_vain =
            || (!self.counts.synced).then(nothing_listed).or_else(|| nothing_decoded(self.options, &self.counts));
        broken.or_else(in_vain)
    }

    fn playback(&self) -> &Playback {
        self.events.driver().transport()
    }

    fn spawn_workers(&self, executor: &Executor<'static>) -> Workers<Key> {
        let (store, reconciles) = (self.store.clone(), Arc::clone(&self.reconciles));
        Workers::spawn(executor, &self.queue, &self.clock, self.options.workers, move |key: Key| {
            let (store, reconciles) = (store.clone(), Arc::clone(&reconciles));
            async move {
                // A controller begins with the newest state of the key, or its absence.
                let _newest = store.get(&key);
                reconciles.fetch_add(1, Ordering::Relaxed);
                Outcome::Done
            }
        })
    }

    fn show_progress(&self) {
        if self.progress.is_visible() {
            let position = self.playback().progress().file_bytes_played;
            let events = Counted(self.counts.events, "event", "events");
            self.progress.show_at(position, &format!("{events}; {}", self.status()));
        }
    }

    fn status(&self) -> InformerStatus {
        self.events.driver().informer().status(self.clock.now())
    }

    /// Prints the summary for people, apart from the output for programs.
    fn report(self, time: &Clock, whole: bool) -> std::io::Result<()> {
        let values = |cache: &Indexer<_>, id| cache.index_values(id).count();
        let elapsed = std::time::Duration::from_nanos(time.now().as_nanos());
        let report = Report {
            resources: self.played.told(self.playback()),
            file: self.options.file.display().to_string(),
            whole,
            is_cut: self.playback().cut().is_some(),
            playback: self.playback().summary(),
            objects: self.store.len(),
            status: self.status(),
            indexes: self
                .store
                .read(|cache| self.indexes.iter().map(|(name, id)| (name.clone(), values(cache, *id))).collect()),
            queue: self.queue.stats(),
            reconciles: self.reconciles.load(Ordering::Relaxed),
            elapsed,
            counts: self.counts,
        };
        let report = hide_credentials(report.to_string());
        match self.options.print() {
            None => output::print(report.as_bytes()),
            Some(_) => {
                if std::io::stderr().is_terminal() {
                    messages::print_lines(&report);
                }
                Ok(())
            }
        }
    }
}

/// A replay may block: it heeds no signals, and no server waits for it.
fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, std::io::stdout().lock())
}

/// No list of the recording was whole: why.
fn nothing_listed(options: &ReplayOptions, counts: &Counts, cut: Option<&CaptureError>) -> CommandError {
    let cut = cut.map(|cut| cut.message().to_owned());
    let reasons: Vec<_> = counts.reason().into_iter().chain(cut).collect();
    let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
    CommandError::NothingListed(options.file.clone(), reason)
}

/// No object of the recording was decoded, although it has some: why.
fn nothing_decoded(options: &ReplayOptions, counts: &Counts) -> Option<CommandError> {
    let is_in_vain = counts.events == 0 && counts.undecodable > 0;
    is_in_vain.then(|| CommandError::NothingDecoded(options.file.clone(), counts.undecodable, counts.reason()))
}

fn open(options: &ReplayOptions, pace: Pace, chunks: Chunks) -> Result<Playback, CommandError> {
    let config = PlaybackConfig::new().pace(pace).chunks(chunks).skip_bad_lines(options.skip_bad_lines);
    Playback::with_config(&options.file, config).map_err(CommandError::Capture)
}

/// A recording has the timeouts of its own client, watch-lists or none, and no other clients.
fn config(options: &ReplayOptions, playback: &Playback, played: &Played) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_timeout = None;
    config.reflector.answer_timeout = None;
    config.reflector.reconnect_jitter = std::time::Duration::ZERO;
    config.reflector.watch_list = played.0.as_ref().is_some_and(|resource| playback.has_watch_lists_of(resource));
    config.order = options.order;
    // A replay is the same each time.
    config.reflector.seed = Some(0);
    config
}

fn add_index<T: 'static>(indexer: &mut Indexer<ObjectHandle<T>>, by: IndexBy) -> IndexId {
    indexer.add_index(move |object: &ObjectHandle<T>, emit: &mut dyn FnMut(&str)| match &by {
        IndexBy::Namespace => emit(object.meta().namespace().unwrap_or_default()),
        IndexBy::Owner => object.meta().owner_references().for_each(|owner| {
            owner.uid.iter().for_each(|uid| emit(uid.encode(&mut [0; Uid::CANONICAL_LEN])));
        }),
        IndexBy::Label(name) => object.meta().label(name).into_iter().for_each(emit),
        // Without --suggest-capacities it is refused.
        IndexBy::Field(_) => {}
    })
}
