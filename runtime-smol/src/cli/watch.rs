//! `listwatch watch` and `listwatch record`: a resource of a cluster, live.

use crate::args::{Format, Kind, Print, Server, WatchOptions};
use crate::complaint::complain;
use crate::error::CommandError;
use crate::live::Live;
use crate::printer::Printer;
use crate::reason::in_full;
use crate::resource::resource;
use crate::source::Source;
use crate::stop::stop;
use crate::summary::{Counts, WatchReport};
use listwatch_runtime_smol::file::{Recorder, RecorderConfig};
use listwatch_runtime_smol::http::{Cluster, ClusterOptions, ConfigError, HttpTransport};
use listwatch_runtime_smol::{
    Clock, Driver, Event, Events, Executor, Failure, FailureClass, FailureReport, Indexer, Informer, InformerConfig,
    InformerStatus, MetadataOnly, Object, Raw, Reaction, Resource, TransportErrorKind, run,
};
use serde::de::DeserializeOwned;
use smol::stream::StreamExt;
use std::io::{IsTerminal, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// After how many events somebody who wants the end is heard.
const TURN: u64 = 64;
/// How often people are told what is going on.
const TICK: Duration = Duration::from_millis(500);

/// Follows a resource as the options say, until the end is asked for.
///
/// # Errors
/// Where it cannot be followed, recorded or printed.
pub(crate) fn watch(options: &WatchOptions) -> Result<(), CommandError> {
    match options.kind {
        Kind::Raw => follow::<Raw>(options),
        Kind::Meta => follow::<MetadataOnly>(options),
        Kind::Value => follow::<serde_json::Value>(options),
    }
}

fn follow<T: DeserializeOwned + Unpin>(options: &WatchOptions) -> Result<(), CommandError> {
    let cluster = cluster(options)?;
    let resource = resource(&cluster, options)?;
    let source = source(options, &resource, cluster.transport()?)?;
    let clock = Clock::real();
    let stop = stop(&clock, options.duration).map_err(CommandError::Signals)?;
    let informer = Informer::<T>::new(resource, config(options));
    let mut watch = Watch {
        options,
        clock: clock.clone(),
        events: Events::start(Driver::new(informer, source), clock.clone()),
        printer: Printer::new(options.print, options.format),
        live: Live::new(),
        counts: Counts::default(),
        told: None,
    };
    let followed = run(&clock, &Executor::new(), watch.follow(Box::pin(stop)));
    watch.live.finish();
    let told = followed.and_then(|()| watch.tell_the_end());
    let finished = watch.events.driver_mut().transport_mut().finish().map_err(CommandError::Capture);
    told.and(finished)
}

struct Watch<'a, T> {
    options: &'a WatchOptions,
    clock: Clock,
    events: Events<T, Source, Indexer<Arc<Object<T>>>>,
    printer: Printer,
    live: Live,
    counts: Counts,
    /// The kind of the last failure that was told, if it is not over.
    told: Option<FailureClass>,
}

/// What is waited for.
enum Happened<T> {
    Event(Event<T>),
    Tick,
    Stop,
}

type Stop = Pin<Box<dyn Future<Output = ()>>>;

impl<T: DeserializeOwned + Unpin> Watch<'_, T> {
    async fn follow(&mut self, mut stop: Stop) -> Result<(), CommandError> {
        loop {
            match self.next(&mut stop).await? {
                Happened::Event(event) => self.on_event(&event)?,
                Happened::Tick => {}
                Happened::Stop => return Ok(()),
            }
        }
    }

    /// What happens next. Nothing printed stays hidden while it is waited for.
    async fn next(&mut self, stop: &mut Stop) -> Result<Happened<T>, CommandError> {
        if self.counts.events.is_multiple_of(TURN) && smol::future::poll_once(&mut *stop).await.is_some() {
            return Ok(Happened::Stop);
        }
        if let Some(Some(event)) = smol::future::poll_once(self.events.next()).await {
            return Ok(Happened::Event(event));
        }
        self.show()?;
        let tick = self.clock.sleep_until(self.clock.now() + TICK);
        let (events, visible) = (&mut self.events, self.live.is_visible());
        let happened = smol::future::or(
            async {
                stop.await;
                Happened::Stop
            },
            smol::future::or(async { events.next().await.map_or(Happened::Stop, Happened::Event) }, async {
                match visible {
                    true => tick.await,
                    false => smol::future::pending().await,
                }
                Happened::Tick
            }),
        );
        Ok(happened.await)
    }

    fn on_event(&mut self, event: &Event<T>) -> Result<(), CommandError> {
        if self.counts.events == 0 && event.object().is_some() {
            self.printer.begin().map_err(CommandError::Output)?;
        }
        self.counts.note(event);
        self.printer.event(event).map_err(CommandError::Output)?;
        match event {
            Event::Failed(failed) => self.on_failure(failed),
            Event::Undecodable(undecodable) => {
                self.live.aside(|| complain(undecodable));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// People want to know at once what they have to change; and of other failures, that there are some.
    fn on_failure(&mut self, failed: &FailureReport) -> Result<(), CommandError> {
        if let Some(error) = self.events.driver().transport().error() {
            return Err(CommandError::Capture(error.clone()));
        }
        if failed.reaction == Reaction::ListInstead {
            return Ok(());
        }
        let told = in_full(failed);
        if needs_help(&failed.failure) && !self.counts.synced && !self.options.keep_trying {
            return Err(CommandError::Refused(told));
        }
        let class = Some(failed.failure.class());
        if failed.attempts.is_power_of_two() || self.told != class {
            self.told = class;
            self.live.aside(|| complain(format_args!("{told}; {}", self.status())));
        }
        Ok(())
    }

    /// Who was told of a failure wants to know that it is over.
    fn on_recovery(&mut self) {
        self.told = None;
        self.live.aside(|| complain(format_args!("well again: {}", self.status())));
    }

    fn status(&self) -> InformerStatus {
        self.events.driver().informer().status(self.clock.now())
    }

    fn show(&mut self) -> Result<(), CommandError> {
        let printer = &mut self.printer;
        self.live.aside(|| printer.flush()).map_err(CommandError::Output)?;
        if self.told.is_some() && matches!(self.status(), InformerStatus::Synced { .. }) {
            self.on_recovery();
        }
        if self.live.is_visible() {
            let objects = self.events.driver().informer().cache().len();
            self.live.show(&format!("{}; {objects} objects, {} events", self.status(), self.counts.events));
        }
        Ok(())
    }

    /// The cache, if there was ever a state, and what it all amounted to.
    fn tell_the_end(&mut self) -> Result<(), CommandError> {
        let cache = self.events.driver().informer().cache();
        // People who watched the changes do not want thousands of lines at the end.
        let wanted = self.options.print == Print::Store || self.options.format == Format::Json;
        if self.counts.synced && wanted {
            self.printer.store(cache).map_err(CommandError::Output)?;
        }
        let report = WatchReport {
            resource: &self.options.resource,
            requests: self.events.driver().transport().requests,
            counts: &self.counts,
            objects: cache.len(),
            status: self.status().to_string(),
            recorded: self.options.record.as_deref(),
        };
        let written = match self.options.print {
            Print::Nothing => write!(std::io::stdout(), "{report}"),
            _ if std::io::stderr().is_terminal() => write!(std::io::stderr(), "{report}"),
            _ => Ok(()),
        };
        written.map_err(CommandError::Output)?;
        if self.counts.synced { Ok(()) } else { Err(CommandError::NeverSynced(self.status().to_string())) }
    }
}

/// Whether waiting does not help: the server refuses, or there are no credentials to ask it with.
fn needs_help(failure: &Failure) -> bool {
    let unasked = matches!(failure, Failure::Transport(error) if error.kind == TransportErrorKind::Other);
    unasked || failure.class().needs_help()
}

fn cluster(options: &WatchOptions) -> Result<Cluster, ConfigError> {
    match &options.server {
        Server::At(url) => Cluster::at(url),
        Server::Kubeconfig { file, context } => {
            let found = context.iter().fold(ClusterOptions::new(), ClusterOptions::context);
            file.as_ref().map_or_else(|| found.infer(), |file| found.kubeconfig(file))
        }
    }
}

fn source(options: &WatchOptions, resource: &Resource, transport: HttpTransport) -> Result<Source, CommandError> {
    let Some(file) = &options.record else { return Ok(Source::plain(transport)) };
    let config = RecorderConfig::new().started(wall_clock()).include_secrets(options.include_secrets);
    Ok(Source::recorded(Recorder::create(file, resource, transport, config)?))
}

/// The date, for people who read a recording.
#[expect(clippy::disallowed_methods, reason = "nothing is decided by it")]
fn wall_clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// One person's command has no company that it must not come back with.
fn config(options: &WatchOptions) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = options.watch_list;
    config.reflector.reconnect_spread = Duration::ZERO;
    config.reflector.seed = seed();
    config
}

/// Another one in every run.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
