//! `listwatch watch` and `listwatch record`: a resource of a cluster, live.

use crate::args::{Format, Kind, Print, Server, WatchOptions};
use crate::asking::Asking;
use crate::complaint::{self, complain, tell};
use crate::error::CommandError;
use crate::live::Live;
use crate::outlet::Outlet;
use crate::printer::Printer;
use crate::reason::in_full;
use crate::resource::resource;
use crate::source::Source;
use crate::stop::stop;
use crate::summary::{Counts, WatchReport};
use crate::undecodable::{complain_of, complain_of_the_rest};
use listwatch_runtime_smol::cache::Indexer;
use listwatch_runtime_smol::decode::{MetadataOnly, Raw};
use listwatch_runtime_smol::file::{Recorder, RecorderConfig};
use listwatch_runtime_smol::http::{Cluster, ClusterOptions, HttpTransport};
use listwatch_runtime_smol::informer::InformerStatus;
use listwatch_runtime_smol::object::ObjectHandle;
use listwatch_runtime_smol::reflector::{FailureClass, FailureReport, Reaction};
use listwatch_runtime_smol::{Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Resource, run};
use serde::de::DeserializeOwned;
use smol::future::{or, pending, poll_once};
use smol::stream::StreamExt;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::pin::Pin;
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
    let clock = Clock::real();
    let mut stop: Stop = Box::pin(stop(&clock, options.duration).map_err(CommandError::Signals)?);
    run(&clock, &Executor::new(), async {
        let live = Live::words(!is_read_by_a_program(options));
        let cluster = cluster_unless(&mut stop, options).await?;
        for warning in cluster.warnings() {
            complain(format_args!("warning: {warning}"));
        }
        let resource = resource_unless(&mut stop, &cluster, options, &clock, &live).await?;
        let source = source(options, &resource, cluster.transport()?)?;
        let informer = Informer::<T>::new(resource, config(options));
        let mut watch = Watch {
            options,
            clock: clock.clone(),
            events: Events::start(Driver::new(informer, source), clock.clone()),
            printer: Printer::new(Outlet::stdout(), options.print, options.format),
            live,
            may_ask: cluster.may_ask(),
            counts: Counts::default(),
            told: None,
        };
        let followed = watch.follow(&mut stop).await;
        watch.end(followed).await
    })
}

/// The cluster, unless the end is asked for before: a file of a kubeconfig may be a pipe that nobody writes to.
async fn cluster_unless(stop: &mut Stop, options: &WatchOptions) -> Result<Cluster, CommandError> {
    let (file, context) = match options.server.clone() {
        Server::At(url) => return Cluster::at(&url).map_err(CommandError::Address),
        Server::Kubeconfig { file, context } => (file, context),
    };
    let stopped = async {
        stop.await;
        Err(CommandError::NeverSynced("reading the kubeconfig".into()))
    };
    or(smol::unblock(move || configured(file.as_deref(), context)), stopped).await
}

/// The resource, unless the end is asked for before it is known.
async fn resource_unless(
    stop: &mut Stop,
    cluster: &Cluster,
    options: &WatchOptions,
    clock: &Clock,
    live: &Live,
) -> Result<Resource, CommandError> {
    let asking = Asking::new(options, clock.clone(), live);
    let stopped = async {
        stop.await;
        None
    };
    let shown = async {
        // A question at the terminal is not to be written over.
        while live.is_visible() && !cluster.may_ask() {
            live.show(&asking.status());
            clock.sleep(TICK).await;
        }
        pending().await
    };
    let found =
        or(stopped, or(async { Some(resource(cluster, options, &asking).await) }, or(shown, complaint::progress())))
            .await;
    live.hide();
    found.unwrap_or_else(|| Err(CommandError::NeverSynced(asking.status())))
}

struct Watch<'a, T: DeserializeOwned> {
    options: &'a WatchOptions,
    clock: Clock,
    events: Events<T, Source, Indexer<ObjectHandle<T>>>,
    printer: Printer<Outlet>,
    live: Live,
    /// Whether somebody may be asked for a credential at the terminal.
    may_ask: bool,
    counts: Counts,
    /// The kind of the last failure that was told, if it is not over.
    told: Option<FailureClass>,
}

/// What is waited for.
enum Happened<T> {
    Event(Event<T>),
    /// What was printed was taken, or cannot be.
    Printed(std::io::Result<()>),
    Tick,
    Stop,
}

type Stop = Pin<Box<dyn Future<Output = ()>>>;

impl<T: DeserializeOwned + Unpin> Watch<'_, T> {
    async fn follow(&mut self, stop: &mut Stop) -> Result<(), CommandError> {
        loop {
            match self.next(stop).await {
                Happened::Event(event) => self.on_event(&event)?,
                Happened::Printed(printed) => printed.map_err(CommandError::Output)?,
                Happened::Tick => {}
                Happened::Stop => return Ok(()),
            }
        }
    }

    /// What happens next. While nobody reads what was printed, no event does, and so the server has to wait too.
    async fn next(&mut self, stop: &mut Stop) -> Happened<T> {
        if self.counts.events.is_multiple_of(TURN) && poll_once(&mut *stop).await.is_some() {
            return Happened::Stop;
        }
        if !self.printer.out().is_full()
            && let Some(Some(event)) = poll_once(self.events.next()).await
        {
            return Happened::Event(event);
        }
        self.show();
        self.wait(stop).await
    }

    async fn wait(&mut self, stop: &mut Stop) -> Happened<T> {
        let tick = self.clock.sleep(TICK);
        let Self { events, printer, live, .. } = self;
        let (full, visible) = (printer.out().is_full(), live.is_visible());
        let stopped = async {
            stop.await;
            Happened::Stop
        };
        let event = async {
            match full {
                true => pending().await,
                false => events.next().await.map_or(Happened::Stop, Happened::Event),
            }
        };
        let printed = async { Happened::Printed(printer.out().progress().await) };
        let tick = async {
            match visible {
                true => tick.await,
                false => pending().await,
            }
            Happened::Tick
        };
        or(stopped, or(event, or(printed, or(tick, complaint::progress())))).await
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
                complain_of(undecodable, self.counts.undecodable, &self.options.resource, &self.live);
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
        if failed.failure.class().requires_intervention() && !self.counts.synced && !self.options.keep_trying {
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

    fn show(&mut self) {
        if self.told.is_some() && matches!(self.status(), InformerStatus::Synced { .. }) {
            self.on_recovery();
        }
        // Standard output is perhaps the same terminal; and who is asked there wants to read the question.
        let asks = self.may_ask && !self.events.driver().transport().answered;
        if self.printer.out().is_empty() && !asks { self.show_status() } else { self.live.hide() }
    }

    fn show_status(&self) {
        if self.live.is_visible() {
            let objects = self.events.driver().informer().cache().len();
            let status = match self.events.driver().transport().answered {
                true => self.status().to_string(),
                // By a server, or by a plugin that has the credentials.
                false => "waiting for a first answer".to_owned(),
            };
            self.live.show(&format!("{status}; {objects} objects, {} events", self.counts.events));
        }
    }

    /// Prints the rest, ends the recording, and waits for who reads what was printed.
    async fn end(mut self, followed: Result<(), CommandError>) -> Result<(), CommandError> {
        self.live.hide();
        complain_of_the_rest(self.counts.undecodable, &self.options.resource);
        let told = followed.and_then(|()| self.print_the_end().map_err(CommandError::Output));
        let recorded = self.events.driver_mut().transport_mut().finish().map_err(CommandError::Capture);
        let printed = self.printer.out().finish(&self.clock).await;
        // What was lost of a recording counts before a reader who has gone.
        recorded.and(told).and(printed)?;
        if self.options.print != Print::Nothing && std::io::stderr().is_terminal() {
            tell(&self.report().to_string());
        }
        if self.counts.synced { Ok(()) } else { Err(CommandError::NeverSynced(self.status().to_string())) }
    }

    /// The cache, if there was ever a state; or, where nothing is printed, what it all amounted to.
    fn print_the_end(&mut self) -> std::io::Result<()> {
        if self.options.print == Print::Nothing {
            let report = self.report().to_string();
            return self.printer.out().write_all(report.as_bytes());
        }
        // People who watched the changes do not want thousands of lines at the end.
        let wanted = self.options.print == Print::Store || self.options.format == Format::Json;
        if self.counts.synced && wanted {
            self.printer.store(self.events.driver().informer().cache().iter().cloned())?;
        }
        Ok(())
    }

    fn report(&self) -> WatchReport<'_> {
        WatchReport {
            resource: &self.options.resource,
            requests: self.events.driver().transport().requests,
            counts: &self.counts,
            objects: self.events.driver().informer().cache().len(),
            status: self.status().to_string(),
            recorded: self.options.record.as_deref(),
        }
    }
}

/// Whether a program reads what is printed, which may write to the same terminal.
fn is_read_by_a_program(options: &WatchOptions) -> bool {
    options.print != Print::Nothing && is_pipe()
}

#[cfg(unix)]
fn is_pipe() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    stdout.and_then(|stdout| stdout.metadata()).is_ok_and(|stdout| stdout.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe() -> bool {
    false
}

fn configured(file: Option<&Path>, context: Option<String>) -> Result<Cluster, CommandError> {
    let found = context.into_iter().fold(ClusterOptions::new(), ClusterOptions::context);
    Ok(file.map_or_else(|| found.infer(), |file| found.kubeconfig(file))?)
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
    config.reflector.reconnect_jitter = Duration::ZERO;
    config
}
