//! The loop of `watch` and `record`: events, output, signals.

use super::report::Report;
use super::source::Source;
use crate::arguments::{FollowOptions, Format, Print, hide_credentials};
use crate::error::CommandError;
use crate::output::background::Background;
use crate::output::messages;
use crate::output::printer::Printer;
use crate::output::progress::Progress;
use crate::report::counts::Counts;
use crate::report::reason::detailed;
use crate::report::repeats::Repeats;
use crate::report::undecodable;
use crate::system::stop::Stop;
use listwatch_runtime_smol::cache::Indexer;
use listwatch_runtime_smol::informer::InformerStatus;
use listwatch_runtime_smol::object::ObjectHandle;
use listwatch_runtime_smol::reflector::{FailureReport, Reaction};
use listwatch_runtime_smol::{Clock, Event, Events};
use serde::de::DeserializeOwned;
use smol::future::{or, pending, poll_once};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

/// The events after which a request for the end is heard at the latest.
const TURN: u64 = 64;
/// The time between two updates of the progress line.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// A resource that is followed until the end is requested.
pub(super) struct Session<'a, T: DeserializeOwned> {
    pub(super) options: &'a FollowOptions,
    pub(super) print: Option<Print>,
    /// The file of the recording.
    pub(super) recorded: Option<&'a Path>,
    pub(super) clock: Clock,
    pub(super) events: Events<T, Source, Indexer<ObjectHandle<T>>>,
    pub(super) printer: Printer<Background>,
    pub(super) progress: Progress,
    /// Whether a plugin may ask for a credential at the terminal.
    pub(super) may_prompt: bool,
    pub(super) counts: Counts,
    pub(super) repeats: Repeats,
}

enum Wakeup<T> {
    Event(Event<T>),
    /// The reader took output, or the output failed.
    Printed(std::io::Result<()>),
    Tick,
    Stop,
}

impl<T: DeserializeOwned + Unpin> Session<'_, T> {
    /// Follows the resource, and then prints and records the end.
    ///
    /// # Errors
    /// The resource cannot be followed, recorded or printed.
    pub(super) async fn run(mut self, stop: &mut Stop) -> Result<(), CommandError> {
        let followed = self.follow(stop).await;
        self.end(followed).await
    }

    async fn follow(&mut self, stop: &mut Stop) -> Result<(), CommandError> {
        loop {
            match self.next(stop).await {
                Wakeup::Event(event) => self.on_event(&event)?,
                Wakeup::Printed(printed) => printed.map_err(CommandError::Output)?,
                Wakeup::Tick => {}
                Wakeup::Stop => return Ok(()),
            }
        }
    }

    /// The next wake-up. While the output is full, no event is read, so the server has to wait too.
    async fn next(&mut self, stop: &mut Stop) -> Wakeup<T> {
        if self.counts.events.is_multiple_of(TURN) && poll_once(&mut *stop).await.is_some() {
            return Wakeup::Stop;
        }
        if !self.printer.out().is_full()
            && let Some(Some(event)) = poll_once(self.events.next()).await
        {
            return Wakeup::Event(event);
        }
        self.show();
        self.wait(stop).await
    }

    async fn wait(&mut self, stop: &mut Stop) -> Wakeup<T> {
        let tick = self.clock.sleep(TICK);
        let Self { events, printer, progress, .. } = self;
        let (full, visible) = (printer.out().is_full(), progress.is_visible());
        let stopped = async {
            stop.await;
            Wakeup::Stop
        };
        let event = async {
            match full {
                true => pending().await,
                false => events.next().await.map_or(Wakeup::Stop, Wakeup::Event),
            }
        };
        let printed = async { Wakeup::Printed(printer.out().progress().await) };
        let tick = async {
            match visible {
                true => tick.await,
                false => pending().await,
            }
            Wakeup::Tick
        };
        or(stopped, or(event, or(printed, or(tick, messages::keep_writing())))).await
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
                undecodable::report(undecodable, self.counts.undecodable, &self.options.resource, &self.progress);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends the command if the user has to act, and reports other failures ever less often.
    fn on_failure(&mut self, failed: &FailureReport) -> Result<(), CommandError> {
        if let Some(error) = self.events.driver().transport().error() {
            return Err(CommandError::Capture(error));
        }
        if failed.reaction == Reaction::ListInstead {
            return Ok(());
        }
        let (class, reason) = (failed.failure.class(), detailed(failed));
        if class.requires_intervention() && !self.counts.synced && !self.options.keep_trying {
            return Err(CommandError::Refused(reason));
        }
        if self.repeats.is_due(class, failed.attempts) {
            self.report(format_args!("{reason}; {}", self.status()));
        }
        Ok(())
    }

    fn report(&self, message: impl fmt::Display) {
        self.progress.suspend(|| messages::print(message));
    }

    fn status(&self) -> InformerStatus {
        self.events.driver().informer().status(self.clock.now())
    }

    fn show(&mut self) {
        if self.repeats.is_failing() && matches!(self.status(), InformerStatus::Synced { .. }) {
            self.repeats.recover();
            self.report(format_args!("recovered: {}", self.status()));
        }
        // Events on the same terminal, and a question for a credential, must stay readable.
        let asks = self.may_prompt && !self.events.driver().transport().answered;
        if self.printer.out().is_empty() && !asks { self.show_status() } else { self.progress.hide() }
    }

    fn show_status(&self) {
        if self.progress.is_visible() {
            let objects = self.events.driver().informer().cache().len();
            let status = match self.events.driver().transport().answered {
                true => self.status().to_string(),
                // Of a server, or of a plugin that has the credentials.
                false => "waiting for the first answer".to_owned(),
            };
            self.progress.show(&format!("{status}; {objects} objects, {} events", self.counts.events));
        }
    }

    /// Prints the rest, completes the recording, and waits for the reader.
    async fn end(mut self, followed: Result<(), CommandError>) -> Result<(), CommandError> {
        self.progress.hide();
        undecodable::report_rest(self.counts.undecodable, &self.options.resource);
        let printed = followed.and_then(|()| self.print_the_end().map_err(CommandError::Output));
        let recorded = self.events.driver_mut().transport_mut().finish().map_err(CommandError::Capture);
        let finished = self.printer.out().finish(&self.clock).await.map_err(CommandError::from);
        // A recording that is lost counts more than a reader that is gone.
        recorded.and(printed).and(finished)?;
        if self.print.is_some() && std::io::stderr().is_terminal() {
            messages::print_lines(&self.summary());
        }
        if self.counts.synced { Ok(()) } else { Err(CommandError::NeverSynced(self.status().to_string())) }
    }

    /// Prints the cache, if a state was complete; or the summary, if nothing else is printed.
    fn print_the_end(&mut self) -> std::io::Result<()> {
        if self.print.is_none() {
            let summary = self.summary();
            return self.printer.out().write_all(summary.as_bytes());
        }
        // After a table of events, thousands of lines of the cache would be in the way.
        let wanted = self.print == Some(Print::Store) || self.options.format == Format::Json;
        if self.counts.synced && wanted {
            self.printer.store(self.events.driver().informer().cache().iter().cloned())?;
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let report = Report {
            resource: &self.options.resource,
            requests: self.events.driver().transport().requests,
            counts: &self.counts,
            objects: self.events.driver().informer().cache().len(),
            status: self.status().to_string(),
            recorded: self.recorded,
        };
        hide_credentials(report.to_string())
    }
}
