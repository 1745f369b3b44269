//! `listwatch replay`: a recording through informer, work queue and workers.

mod against;
mod capacities;
mod played;
mod program;
mod report;

use crate::arguments::{IndexBy, Kind, Print, ReplayOptions, Speed, hide_credentials};
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::printer::{Form, Printed, Printer};
use crate::output::progress::Progress;
use crate::output::shown::Shown;
use crate::output::{self, messages};
use crate::report::changed::Changed;
use crate::report::counts::Counts;
use crate::report::undecodable;
use listwatch::SharedWorkQueue;
use listwatch::cache::{IndexId, Indexer, Store, StoreWriter};
use listwatch::decode::{MetadataOnly, Raw};
use listwatch::file::{CaptureError, Chunks, History, Pace, Playback, PlaybackConfig, Summary};
use listwatch::object::{ObjectHandle, Uid};
use listwatch::reflector::Backoff;
use listwatch::text::{Counted, Printable};
use listwatch::time::{Instant, WallTime};
use listwatch::{
    Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Key, Outcome, Resource, Workers, run,
};
use played::Played;
use report::Report;
use serde::de::DeserializeOwned;
use smol::future::{poll_once, yield_now};
use smol::stream::Stream;
use std::future::poll_fn;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

/// Plays a recording as the options say.
///
/// # Errors
/// The recording cannot be played to its end, or printed.
pub(super) fn replay(options: &ReplayOptions) -> Result<(), CommandError> {
    let input = Input::of(&options.file)?;
    replay_file(options, input.path()).map_err(|error| match error {
        CommandError::Capture(error) => CommandError::Capture(input.error(error)),
        error => error,
    })
}

fn replay_file(options: &ReplayOptions, file: &Path) -> Result<(), CommandError> {
    match options.kind {
        _ if !options.against.is_empty() => against::against(options),
        _ if options.suggest_capacities => capacities::suggest(options, file),
        _ if options.indexes.iter().any(|by| matches!(by, IndexBy::Field(_))) => Err(CommandError::Arguments(
            "an index by `field:PATH` needs --suggest-capacities; without it, give `namespace`, `owner` or `label:NAME`",
        )),
        // Metadata are printed as they were recorded.
        Kind::Meta if options.output.is_some() => Replay::<Raw>::new(options, file)?.play(),
        Kind::Raw => Replay::<Raw>::new(options, file)?.play(),
        Kind::Meta => Replay::<MetadataOnly>::new(options, file)?.play(),
        Kind::Value => Replay::<serde_json::Value>::new(options, file)?.play(),
    }
}

struct Replay<'a, T: DeserializeOwned> {
    options: &'a ReplayOptions,
    recording: Playback,
    played: Played,
    clock: Clock,
    /// The date of the recording at which the clock began.
    began: Option<WallTime>,
    parts: Vec<Part<T>>,
    queue: Arc<SharedWorkQueue<(usize, Key)>>,
    reconciles: Arc<AtomicU64>,
    printer: Printer<BufWriter<StdoutLock<'static>>>,
    progress: Progress,
    counts: Counts,
    changed: Changed,
}

/// A resource that is played.
struct Part<T: DeserializeOwned> {
    name: String,
    store: Store<T>,
    indexes: Vec<(String, IndexId)>,
    events: Events<T, Playback, StoreWriter<T>>,
    is_synced: bool,
    is_over: bool,
}

impl<'a, T: DeserializeOwned + Shown + Send + Sync + 'static> Replay<'a, T> {
    fn new(options: &'a ReplayOptions, file: &Path) -> Result<Self, CommandError> {
        let clock = match options.speed {
            Speed::Times(speed) => Clock::scaled(speed),
            Speed::Max => Clock::simulated(),
        };
        let recording = open(options, file, Pace::Dated, options.chunks())?;
        // A log has no times to wait for.
        let is_timeless = recording.start().is_none() && options.speed != Speed::Max;
        let recording = if is_timeless { recording.with_pace(Pace::Immediate) } else { recording };
        let played = Played::of(options, &recording)?;
        let resources = played.resources();
        let parts = resources.iter().map(|resource| Part::new(options, resource, &recording, &clock)).collect();
        let printed = resources.iter().map(|resource| Printed::new(name(resource), resource)).collect();
        let namespaces = resources.iter().any(|resource| !resource.path().contains("/namespaces/"));
        let objects = |output| Form::Objects { output, secrets: options.show_secrets, labels: false };
        let form = options.output.map_or(Form::Handlers(options.format), objects);
        let printer = Printer::new(stdout(), options.print(), form, printed, namespaces);
        let printed = options.print() == Some(Print::Events) && std::io::stdout().is_terminal();
        let progress = Progress::bar(recording.progress().file_bytes, !printed);
        let began = options.output.map_or_else(|| recording.began(), |_| began(file, &recording));
        Ok(Self {
            options,
            recording,
            played,
            clock,
            began,
            parts,
            queue: Arc::new(SharedWorkQueue::default()),
            reconciles: Arc::default(),
            printer,
            progress,
            counts: Counts::default(),
            changed: Changed::default(),
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
        played.and_then(|()| self.print_stores()).map_err(CommandError::Output)?;
        undecodable::report_rest(self.counts.undecodable, &self.options.file.display());
        let error = self.error();
        if let Some(cut) = self.recording.cut().filter(|_| error.is_none()) {
            messages::print(format_args!("{cut}; the recording was played up to there"));
        }
        if error.is_none() && self.options.print().is_some() {
            self.report_unlisted();
        }
        self.report(&time, error.is_none()).map_err(CommandError::Output)?;
        error.map_or(Ok(()), Err)
    }

    /// Prints every event, and adds its key to the work queue.
    async fn play_events(&mut self) -> std::io::Result<()> {
        self.printer.begin()?;
        let (is_log, mut has_relisted) = (self.recording.start().is_none(), false);
        let tells_summary = self.tells_summary();
        while let Some((part, event)) = self.next().await? {
            // What a log tells again behind the end of a watch is its own way to go on, and no change.
            has_relisted |= is_log && matches!(event, Event::Failed(_));
            if has_relisted && is_told_again(&event) {
                continue;
            }
            self.counts.note(&event);
            if self.parts[part].is_synced && tells_summary {
                self.changed.note(part, &event);
            }
            self.parts[part].is_synced |= matches!(event, Event::Synced);
            self.printer.show_at(self.date());
            self.printer.event(part, &event)?;
            if let Event::Undecodable(undecodable) = &event {
                let file = self.options.file.display();
                let message = undecodable::message(undecodable, self.counts.undecodable, &file);
                message.iter().for_each(|message| self.progress.suspend(|| messages::print(message)));
            }
            if let Some(key) = event.key() {
                self.queue.add((part, key.clone()));
            }
        }
        Ok(())
    }

    /// The date of the recording that is played now.
    fn date(&self) -> Option<WallTime> {
        Some(self.began? + self.clock.now().saturating_since(Instant::ZERO))
    }

    /// The next event, and its part. The output is flushed before a wait; a turn of the workers is no wait.
    async fn next(&mut self) -> std::io::Result<Option<(usize, Event<T>)>> {
        if let Some(event) = poll_once(next_of(&mut self.parts)).await {
            return Ok(event);
        }
        self.show_progress();
        yield_now().await;
        if let Some(event) = poll_once(next_of(&mut self.parts)).await {
            return Ok(event);
        }
        self.printer.settle()?;
        self.printer.out().flush()?;
        Ok(next_of(&mut self.parts).await)
    }

    /// Prints the caches. Behind objects that were printed as events, they would be the same objects again.
    fn print_stores(&mut self) -> std::io::Result<()> {
        self.printer.show_at(self.date());
        if self.options.output.is_none() || self.options.print() == Some(Print::Store) {
            for (index, part) in self.parts.iter().enumerate() {
                self.printer.store(index, part.store.list())?;
            }
        }
        self.printer.settle()?;
        self.printer.out().flush()
    }

    /// Why the recording was not played to its end, or had no state, or no object that can be decoded.
    fn error(&self) -> Option<CommandError> {
        let nothing_listed = || nothing_listed(self.options, &self.counts, self.recording.cut());
        let broken = self.parts.iter().find_map(|part| part.playback().error().cloned()).map(CommandError::Capture);
        let in_vain =
            || (!self.counts.synced).then(nothing_listed).or_else(|| nothing_decoded(self.options, &self.counts));
        broken.or_else(in_vain)
    }

    /// Says of which of several resources no list is whole, where no summary shows their statuses.
    fn report_unlisted(&self) {
        for part in self.parts.iter().filter(|part| !part.is_synced) {
            let (file, name) = (self.options.file.display(), Printable::new(&part.name));
            messages::print(format_args!("{file}: no list of {name} in it is complete, so nothing of it was played"));
        }
    }

    fn spawn_workers(&self, executor: &Executor<'static>) -> Workers<(usize, Key)> {
        let stores: Arc<[Store<T>]> = self.parts.iter().map(|part| part.store.clone()).collect();
        let reconciles = Arc::clone(&self.reconciles);
        let count = self.options.workers;
        Workers::spawn(executor, &self.queue, &self.clock, count, move |(part, key): (usize, Key)| {
            let (stores, reconciles) = (Arc::clone(&stores), Arc::clone(&reconciles));
            async move {
                // A controller begins with the newest state of the key, or its absence.
                let _newest = stores[part].get(&key);
                reconciles.fetch_add(1, Ordering::Relaxed);
                Outcome::Done
            }
        })
    }

    fn show_progress(&self) {
        if self.progress.is_visible() {
            let position = self.parts.iter().map(|part| part.playback().progress().file_bytes_played).max();
            let events = Counted(self.counts.events, "event", "events");
            let words = self.statuses().into_iter().next().map(|status| format!("; {status}")).unwrap_or_default();
            self.progress.show_at(position.unwrap_or_default(), &format!("{events}{words}"));
        }
    }

    /// The status of each informer, with its name if there are several.
    fn statuses(&self) -> Vec<String> {
        self.told(|part| vec![part.events.driver().informer().status(self.clock.now()).to_string()])
    }

    /// What is told of each part, with its name if there are several.
    fn told(&self, tell: impl Fn(&Part<T>) -> Vec<String>) -> Vec<String> {
        let told = |part| {
            let lines = tell(part);
            let named = |line| match self.parts.len() {
                1 => line,
                _ => Printable::new(format!("{}: {line}", part.name)).at_most(WIDTH).to_string(),
            };
            lines.into_iter().map(named).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(told).collect()
    }

    /// The counts of all parts. Those of a capture share what is left.
    fn summary(&self) -> Summary {
        let all = self.parts.iter().map(|part| part.playback().summary());
        let is_shared = self.recording.start().is_some();
        all.reduce(|mut all, part| {
            let own = [(&mut all.lists, part.lists), (&mut all.watches, part.watches)];
            let own = own.into_iter().chain([(&mut all.watch_lists, part.watch_lists)]);
            for (all, part) in own {
                all.answered += part.answered;
                all.refused += part.refused;
                all.left += if is_shared { 0 } else { part.left };
            }
            all.bad_lines = all.bad_lines.max(part.bad_lines);
            all.body_bytes += part.body_bytes;
            all
        })
        .unwrap_or_default()
    }

    /// Prints the summary for people, apart from the output for programs.
    fn report(self, time: &Clock, whole: bool) -> std::io::Result<()> {
        if !self.tells_summary() {
            return Ok(());
        }
        let values = |cache: &Indexer<_>, id| Counted(cache.index_values(id).count(), "value", "values").to_string();
        let indexes = self.told(|part| {
            let of =
                |(name, id): &(String, IndexId)| format!("{name}, {}", part.store.read(|cache| values(cache, *id)));
            part.indexes.iter().map(of).collect()
        });
        let elapsed = std::time::Duration::from_nanos(time.now().as_nanos());
        let names = self.parts.iter().filter(|_| self.parts.len() > 1).map(|part| part.name.clone()).collect();
        let report = Report {
            resources: self.played.told(&self.recording),
            file: self.options.file.display().to_string(),
            whole,
            is_verbose: self.options.verbose,
            began: self.began,
            length: self.clock.now().saturating_since(Instant::ZERO),
            names,
            is_cut: self.recording.cut().is_some(),
            playback: self.summary(),
            objects: self.parts.iter().map(|part| part.store.len()).sum(),
            statuses: self.statuses(),
            indexes,
            queue: self.queue.stats(),
            reconciles: self.reconciles.load(Ordering::Relaxed),
            elapsed,
            counts: self.counts,
            changed: self.changed,
        };
        let report = hide_credentials(report.to_string());
        match self.options.print() {
            None => output::print(report.as_bytes()),
            Some(_) => {
                messages::print_lines(&report);
                Ok(())
            }
        }
    }

    /// Whether the summary is the output, or a terminal shows it beside that.
    fn tells_summary(&self) -> bool {
        self.options.print().is_none() || std::io::stderr().is_terminal()
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> Part<T> {
    fn new(options: &ReplayOptions, resource: &Resource, recording: &Playback, clock: &Clock) -> Self {
        let mut indexer = Indexer::default();
        let indexes = options.indexes.iter().map(|by| (by.to_string(), add_index(&mut indexer, by.clone()))).collect();
        let writer = StoreWriter::new(indexer);
        let (name, store) = (name(resource), writer.store());
        let informer = Informer::with_cache(resource.clone(), config(options, recording, resource), writer);
        let events = Events::start(Driver::new(informer, recording.transport()), clock.clone());
        let events = events.until(|driver| driver.transport().is_complete());
        Self { name, store, indexes, events, is_synced: false, is_over: false }
    }
}

impl<T: DeserializeOwned> Part<T> {
    fn playback(&self) -> &Playback {
        self.events.driver().transport()
    }
}

/// The next event of any part.
async fn next_of<T: DeserializeOwned>(parts: &mut [Part<T>]) -> Option<(usize, Event<T>)> {
    poll_fn(|cx| {
        for (index, part) in parts.iter_mut().enumerate().filter(|(_, part)| !part.is_over) {
            match Pin::new(&mut part.events).poll_next(cx) {
                Poll::Ready(Some(event)) => return Poll::Ready(Some((index, event))),
                Poll::Ready(None) => part.is_over = true,
                Poll::Pending => {}
            }
        }
        if parts.iter().all(|part| part.is_over) { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// Whether an event tells of the state that was there.
fn is_told_again<T>(event: &Event<T>) -> bool {
    let Event::Updated { old, new } = event else { return false };
    let (old, new) = (old.meta(), new.meta());
    let version = new.resource_version();
    !version.is_empty() && version == old.resource_version() && old.uid() == new.uid()
}

/// The columns of a line of a summary about one of several resources.
const WIDTH: usize = 80;

/// The name of a resource in the output: `v1/pods`, or its path with a namespace and selectors.
fn name(resource: &Resource) -> String {
    let path = resource.to_string();
    let short = path.strip_prefix("/api/").or_else(|| path.strip_prefix("/apis/"));
    short.filter(|name| !name.contains("/namespaces/") && !name.contains('?')).unwrap_or(&path).to_owned()
}

/// The date at which a recording began. A capture that does not say it has that of its first objects.
fn began(file: &Path, recording: &Playback) -> Option<WallTime> {
    recording.began().or_else(|| History::from_file(file).ok()?.began())
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

fn open(options: &ReplayOptions, file: &Path, pace: Pace, chunks: Chunks) -> Result<Playback, CommandError> {
    let config = PlaybackConfig::new().pace(pace).chunks(chunks).skip_bad_lines(options.skip_bad_lines);
    Playback::with_config(file, config).map_err(CommandError::Capture)
}

/// A recording has the timeouts of its own client, watch-lists or none, and no other clients.
fn config(options: &ReplayOptions, playback: &Playback, resource: &Resource) -> InformerConfig {
    let mut config = InformerConfig::default();
    // The answers come at their times. A delay of our own would only make us late.
    let none = std::time::Duration::ZERO;
    config.reflector.backoff = Backoff { initial: none, max: none, probe: none };
    config.reflector.min_list_progress = 0;
    config.reflector.watch_timeout = None;
    config.reflector.answer_timeout = None;
    config.reflector.reconnect_jitter = std::time::Duration::ZERO;
    config.reflector.watch_list = playback.has_watch_lists_of(resource);
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
