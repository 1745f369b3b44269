//! `listwatch watch` and `listwatch record`: a resource of a cluster, live.

use crate::args::{Kind, Print, Server, WatchOptions};
use crate::complaint::complain;
use crate::live::Live;
use crate::printer::Printer;
use crate::reason::place;
use crate::source::Source;
use crate::stop::stop;
use crate::summary::{Counts, WatchReport};
use listwatch_runtime_smol::file::{CaptureError, CaptureErrorKind, Recorder, RecorderConfig};
use listwatch_runtime_smol::http::{Cluster, ClusterOptions, ConfigError, HttpTransport};
use listwatch_runtime_smol::{
    Clock, Driver, Event, Events, Executor, FailureReport, Indexer, Informer, InformerConfig, MetadataOnly,
    NotAResource, Object, Raw, Reaction, Resource, run,
};
use serde::de::DeserializeOwned;
use smol::stream::StreamExt;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Why a resource was not followed.
#[derive(Debug)]
pub(crate) enum WatchError {
    Config(ConfigError),
    Resource(NotAResource),
    /// The server refuses, and will until somebody changes something.
    Refused(String),
    /// It ended before there was a state; and what it was doing.
    NeverSynced(String),
    Capture(CaptureError),
    /// A recording of Secrets that was not asked for as one.
    Secrets,
    Signals(std::io::Error),
    Output(std::io::Error),
}

/// After how many events somebody who wants the end is heard.
const TURN: u64 = 64;
/// How often people are told what is going on.
const TICK: Duration = Duration::from_millis(500);

/// Follows a resource as the options say, until the end is asked for.
///
/// # Errors
/// Where it cannot be followed, recorded or printed.
pub(crate) fn watch(options: &WatchOptions) -> Result<(), WatchError> {
    match options.kind {
        Kind::Raw => follow::<Raw>(options),
        Kind::Meta => follow::<MetadataOnly>(options),
        Kind::Value => follow::<serde_json::Value>(options),
    }
}

fn follow<T: DeserializeOwned + Unpin>(options: &WatchOptions) -> Result<(), WatchError> {
    let cluster = cluster(options).map_err(WatchError::Config)?;
    let resource = resource(options).map_err(WatchError::Resource)?;
    let source = source(options, &resource, cluster.transport().map_err(WatchError::Config)?)?;
    let clock = Clock::real();
    let stop = stop(&clock, options.duration).map_err(WatchError::Signals)?;
    let informer = Informer::<T>::new(resource, config(options));
    let mut watch = Watch {
        options,
        clock: clock.clone(),
        events: Events::start(Driver::new(informer, source), clock.clone()),
        printer: Printer::new(options.print, options.format),
        live: Live::new(),
        counts: Counts::default(),
    };
    let followed = run(&clock, &Executor::new(), watch.follow(Box::pin(stop)));
    watch.live.finish();
    let told = followed.and_then(|()| watch.tell_the_end());
    let finished = watch.events.driver_mut().transport_mut().finish().map_err(WatchError::Capture);
    told.and(finished)
}

struct Watch<'a, T> {
    options: &'a WatchOptions,
    clock: Clock,
    events: Events<T, Source, Indexer<Arc<Object<T>>>>,
    printer: Printer,
    live: Live,
    counts: Counts,
}

/// What is waited for.
enum Happened<T> {
    Event(Event<T>),
    Tick,
    Stop,
}

type Stop = Pin<Box<dyn Future<Output = ()>>>;

impl<T: DeserializeOwned + Unpin> Watch<'_, T> {
    async fn follow(&mut self, mut stop: Stop) -> Result<(), WatchError> {
        loop {
            match self.next(&mut stop).await? {
                Happened::Event(event) => self.on_event(&event)?,
                Happened::Tick => {}
                Happened::Stop => return Ok(()),
            }
        }
    }

    /// What happens next. Nothing printed stays hidden while it is waited for.
    async fn next(&mut self, stop: &mut Stop) -> Result<Happened<T>, WatchError> {
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

    fn on_event(&mut self, event: &Event<T>) -> Result<(), WatchError> {
        if self.counts.events == 0 && event.object().is_some() {
            self.printer.begin().map_err(WatchError::Output)?;
        }
        self.counts.note(event);
        self.printer.event(event).map_err(WatchError::Output)?;
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
    fn on_failure(&self, failed: &FailureReport) -> Result<(), WatchError> {
        if let Some(error) = self.events.driver().transport().error() {
            return Err(WatchError::Capture(error.clone()));
        }
        let told = format!("{} {}", failed.failure, place(failed.during));
        let hopeless = failed.failure.class().needs_help() && failed.reaction != Reaction::ListInstead;
        if hopeless && !self.counts.synced && !self.options.keep_trying {
            return Err(WatchError::Refused(told));
        }
        if failed.attempts.is_power_of_two() && failed.reaction != Reaction::ListInstead {
            let status = self.status();
            self.live.aside(|| complain(format_args!("{told}; {status}")));
        }
        Ok(())
    }

    fn status(&self) -> String {
        self.events.driver().informer().status(self.clock.now()).to_string()
    }

    fn show(&mut self) -> Result<(), WatchError> {
        let printer = &mut self.printer;
        self.live.aside(|| printer.flush()).map_err(WatchError::Output)?;
        if self.live.is_visible() {
            let objects = self.events.driver().informer().cache().len();
            self.live.show(&format!("{} objects, {} events; {}", objects, self.counts.events, self.status()));
        }
        Ok(())
    }

    /// The cache, and what it all amounted to.
    fn tell_the_end(&mut self) -> Result<(), WatchError> {
        let cache = self.events.driver().informer().cache();
        self.printer.store(cache).map_err(WatchError::Output)?;
        let report = WatchReport {
            resource: &self.options.resource,
            requests: self.events.driver().transport().requests,
            counts: &self.counts,
            objects: cache.len(),
            status: self.status(),
            recorded: self.options.record.as_deref(),
        };
        let written = match self.options.print {
            Print::Nothing => write!(std::io::stdout(), "{report}"),
            _ if std::io::stderr().is_terminal() => write!(std::io::stderr(), "{report}"),
            _ => Ok(()),
        };
        written.map_err(WatchError::Output)?;
        if self.counts.synced { Ok(()) } else { Err(WatchError::NeverSynced(self.status())) }
    }
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

fn resource(options: &WatchOptions) -> Result<Resource, NotAResource> {
    let resource = Resource::named(&options.resource)?
        .in_namespace(options.namespace.as_deref().unwrap_or_default())
        .with_labels(options.labels.as_deref().unwrap_or_default())
        .with_fields(options.fields.as_deref().unwrap_or_default());
    Ok(if options.kind == Kind::Meta { resource.metadata_only() } else { resource })
}

fn source(options: &WatchOptions, resource: &Resource, transport: HttpTransport) -> Result<Source, WatchError> {
    let Some(file) = &options.record else { return Ok(Source::plain(transport)) };
    let config = RecorderConfig::new().started(wall_clock()).include_secrets(options.include_secrets);
    Recorder::create(file, resource, transport, config).map(Source::recorded).map_err(|error| match error.kind() {
        CaptureErrorKind::Secrets => WatchError::Secrets,
        _ => WatchError::Capture(error),
    })
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

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Resource(error) => error.fmt(f),
            Self::Refused(reason) => write!(f, "{reason} (with --keep-trying, this would not be the end)"),
            Self::NeverSynced(status) => write!(f, "ended before there was a state: {status}"),
            Self::Capture(error) => error.fmt(f),
            Self::Secrets => {
                f.write_str("this would write Secrets into a file; if that is meant, give --include-secrets")
            }
            Self::Signals(error) => write!(f, "cannot listen to Ctrl-C: {error}"),
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
        }
    }
}
