//! The loop of `watch` and `record`: events, output, signals.

use super::config;
use super::followed::{Followed, poll_next};
use super::report::Report;
use super::source::Source;
use crate::arguments::{FollowOptions, Format, Print, hide_credentials};
use crate::error::CommandError;
use crate::output::background::Background;
use crate::output::messages;
use crate::output::printer::{Form, Printer};
use crate::output::progress::Progress;
use crate::output::shown::Shown;
use crate::report::reason::detailed;
use crate::report::undecodable;
use crate::resource::{found_anew, unknown};
use crate::system::stop::Stop;
use listwatch::decode::Row;
use listwatch::http::Cluster;
use listwatch::informer::InformerStatus;
use listwatch::reactor::AsyncIo;
use listwatch::reflector::{FailureClass, FailureReport, Reaction};
use listwatch::text::{Counted, Printable};
use listwatch::time::Span;
use listwatch::{Clock, Event};
use serde::de::DeserializeOwned;
use smol::future::{or, pending, poll_once};
use std::fmt;
use std::future::poll_fn;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The events after which a request for the end is heard at the latest.
const TURN: u64 = 64;
/// How long a server has to tell its resources, while the others wait.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two updates of the progress line.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// Resources that are followed until the end is requested.
pub(super) struct Session<'a, T: DeserializeOwned> {
    pub(super) options: &'a FollowOptions,
    pub(super) print: Option<Print>,
    /// The file of the recording.
    pub(super) recorded: Option<&'a Path>,
    pub(super) clock: Clock,
    pub(super) printer: Printer<Background>,
    pub(super) form: Form,
    pub(super) cluster: &'a Cluster,
    pub(super) progress: Progress,
    /// Whether a plugin may ask for a credential at the terminal.
    pub(super) may_prompt: bool,
    pub(super) followed: Vec<Followed<T>>,
    /// The resource that is asked for an event first.
    pub(super) first: usize,
}

#[expect(clippy::large_enum_variant, reason = "nearly all are events")]
enum Wakeup<T> {
    /// An event of the resource with this index.
    Event(usize, Event<Row<T>>),
    /// The reader took output, or the output failed.
    Printed(std::io::Result<()>),
    Tick,
    Stop,
}

impl<T: DeserializeOwned + Shown + Unpin> Session<'_, T> {
    /// Follows the resources, and then prints and records the end.
    ///
    /// # Errors
    /// A resource cannot be followed, recorded or printed.
    pub(super) async fn run(mut self, stop: &mut Stop) -> Result<(), CommandError> {
        let followed = self.follow(stop).await;
        self.end(followed).await
    }

    async fn follow(&mut self, stop: &mut Stop) -> Result<(), CommandError> {
        loop {
            match self.next(stop).await {
                Wakeup::Event(index, event) => {
                    if let Err(error) = self.on_event(index, &event) {
                        return Err(self.named_in_full(index, &event, error, stop).await);
                    }
                    if is_not_found(&event) && or(stopped(stop), self.find_anew(index)).await {
                        return Ok(());
                    }
                }
                Wakeup::Printed(printed) => printed.map_err(CommandError::Output)?,
                Wakeup::Tick => {}
                Wakeup::Stop => return Ok(()),
            }
        }
    }

    /// The next wake-up. While the output is full, no event is read, so the server has to wait too.
    async fn next(&mut self, stop: &mut Stop) -> Wakeup<T> {
        if self.events().is_multiple_of(TURN) && poll_once(&mut *stop).await.is_some() {
            return Wakeup::Stop;
        }
        if !self.printer.out().is_full()
            && let Some((index, Some(event))) = poll_once(poll_fn(|cx| self.poll_event(cx))).await
        {
            return Wakeup::Event(index, event);
        }
        if let Err(error) = self.printer.settle() {
            return Wakeup::Printed(Err(error));
        }
        self.show();
        self.wait(stop).await
    }

    fn poll_event(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<(usize, Option<Event<Row<T>>>)> {
        poll_next(&mut self.followed, &mut self.first, cx)
    }

    async fn wait(&mut self, stop: &mut Stop) -> Wakeup<T> {
        let tick = self.clock.sleep(TICK);
        let Self { clock, followed, first, printer, progress, .. } = self;
        let (full, visible) = (printer.out().is_full(), progress.is_visible());
        let stopped = async {
            stop.await;
            Wakeup::Stop
        };
        let event = async {
            if full {
                return pending().await;
            }
            let (index, event) = poll_fn(|cx| poll_next(followed, first, cx)).await;
            event.map_or(Wakeup::Stop, |event| Wakeup::Event(index, event))
        };
        let printed = async { Wakeup::Printed(printer.out().progress(clock).await) };
        let tick = async {
            match visible {
                true => tick.await,
                false => pending().await,
            }
            Wakeup::Tick
        };
        or(stopped, or(event, or(printed, or(tick, messages::keep_writing())))).await
    }

    fn on_event(&mut self, index: usize, event: &Event<Row<T>>) -> Result<(), CommandError> {
        if self.events() == 0 && event.object().is_some() {
            self.printer.begin().map_err(CommandError::Output)?;
        }
        let resource = &mut self.followed[index];
        resource.counts.note(event);
        self.printer.event(index, event).map_err(CommandError::Output)?;
        match event {
            Event::Failed(failed) => self.on_failure(index, failed),
            Event::Undecodable(undecodable) => {
                let message = undecodable::message(undecodable, resource.counts.undecodable, &resource.name);
                message.iter().for_each(|message| self.progress.suspend(|| messages::report(message)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends the command if the user has to act, and reports other failures ever less often.
    fn on_failure(&mut self, index: usize, failed: &FailureReport) -> Result<(), CommandError> {
        let resource = &mut self.followed[index];
        if let Some(error) = resource.source().error() {
            return Err(CommandError::Capture(error));
        }
        if failed.reaction == Reaction::ListInstead {
            return Ok(());
        }
        if !resource.counts.synced && is_not_acceptable(failed) {
            return self.follow_without_table(index);
        }
        let (class, reason) = (failed.failure.class(), detailed(failed));
        if class.requires_intervention() && !resource.counts.synced && !self.options.keep_trying {
            let hint =
                if is_of_all_namespaces(failed) { "; if it has namespaces, -n NAMESPACE follows one" } else { "" };
            return self.on_refusal(index, format!("{reason}{hint}"));
        }
        if resource.repeats.is_due(class, failed.attempts) {
            let status = resource.status(&self.clock);
            self.report(index, format_args!("{reason}; {status}"));
        }
        Ok(())
    }

    /// Finds a resource anew that the server does not know any more: its kind may be there in another version. Attempts are as
    /// rare as the requests that fail. A recording names the version, and keeps it. Returns that the end was not requested.
    async fn find_anew(&mut self, index: usize) -> bool {
        let Followed { name, resource, refused, .. } = &self.followed[index];
        if self.recorded.is_some() || *refused {
            return false;
        }
        let found = self.in_time(found_anew(self.cluster, self.options, name)).await;
        if let Some(found) = found.filter(|found| found != resource) {
            self.report(index, format_args!("the server has it at {} now", Printable::new(found.path())));
            self.followed[index].go_on_with(found);
        }
        false
    }

    /// The error of a refusal. If the server does not know a name that was given in full, the error says what it has.
    async fn named_in_full(
        &self,
        index: usize,
        event: &Event<Row<T>>,
        error: CommandError,
        stop: &mut Stop,
    ) -> CommandError {
        if !is_not_found(event) || !matches!(error, CommandError::Refused(_)) {
            return error;
        }
        let stopped = async {
            stop.await;
            None
        };
        let missing = self.in_time(or(unknown(self.cluster, &self.followed[index].name), stopped)).await;
        missing.map_or(error, CommandError::Resource)
    }

    /// What a server tells of its resources, if it does so in time.
    async fn in_time<R>(&self, told: impl Future<Output = Option<R>>) -> Option<R> {
        let late = async {
            self.clock.sleep(PATIENCE).await;
            None
        };
        or(told, late).await
    }

    /// Follows a resource anew, whose server refuses a table instead of answering with objects.
    fn follow_without_table(&mut self, index: usize) -> Result<(), CommandError> {
        let Followed { name, resource, .. } = &self.followed[index];
        let source = Source::new(self.cluster.transport()?.with_reactor(Arc::new(AsyncIo)), None);
        let (name, resource) = (name.clone(), resource.clone());
        self.followed[index] = Followed::start(name, resource, false, config(self.options), source, &self.clock);
        Ok(())
    }

    /// Gives the resource up. If no other resource is left, the command ends.
    fn on_refusal(&mut self, index: usize, reason: String) -> Result<(), CommandError> {
        self.followed[index].refused = true;
        if self.followed.iter().all(|resource| resource.refused) {
            return Err(CommandError::Refused(self.named(index, reason)));
        }
        self.report(index, format_args!("{reason}; the other resources are followed all the same"));
        Ok(())
    }

    fn report(&self, index: usize, message: impl fmt::Display) {
        self.progress.suspend(|| messages::report(self.named(index, message)));
    }

    /// A message with its resource, if there are several.
    fn named(&self, index: usize, message: impl fmt::Display) -> String {
        match &self.followed[..] {
            [_] => message.to_string(),
            all => format!("{}: {message}", Printable::new(&all[index].name)),
        }
    }

    /// The number of events of all resources.
    fn events(&self) -> u64 {
        self.followed.iter().map(|resource| resource.counts.events).sum()
    }

    fn show(&mut self) {
        for index in 0..self.followed.len() {
            let resource = &mut self.followed[index];
            let status = resource.status(&self.clock);
            if resource.repeats.is_failing() && matches!(status, InformerStatus::Synced { .. }) {
                resource.repeats.recover();
                self.report(index, format_args!("recovered: {status}"));
            }
        }
        // Events on the same terminal, and a question for a credential, must stay readable.
        let asks = self.may_prompt && !self.followed.iter().any(|resource| resource.source().answered);
        if self.printer.out().is_empty() && !asks { self.show_status() } else { self.progress.hide() }
    }

    fn show_status(&self) {
        if self.progress.is_visible() {
            let objects: usize = self.followed.iter().map(|resource| resource.cache().len()).sum();
            let (objects, events) = (Counted(objects, "object", "objects"), Counted(self.events(), "event", "events"));
            self.progress.show(&format!("{}; {objects}, {events}", self.words()));
        }
    }

    /// The status of the one resource; of several, how many are synced, and the status of the first that is not.
    fn words(&self) -> String {
        let ages: Vec<_> = self.followed.iter().map(|resource| age(&resource.status(&self.clock))).collect();
        let behind = (0..ages.len()).find(|index| ages[*index].is_none() && !self.followed[*index].refused);
        match (&ages[..], behind) {
            ([_], _) => self.status(0),
            (_, Some(index)) => format!("{}; {}", synced(&ages), self.status(index)),
            (_, None) => synced(&ages),
        }
    }

    fn status(&self, index: usize) -> String {
        let resource = &self.followed[index];
        match resource.source().answered {
            true => self.named(index, resource.status(&self.clock)),
            // Of a server, or of a plugin that has the credentials.
            false => self.named(index, "waiting for the first answer"),
        }
    }

    /// Prints the rest, completes the recording, and waits for the reader.
    async fn end(mut self, followed: Result<(), CommandError>) -> Result<(), CommandError> {
        self.progress.hide();
        for resource in &self.followed {
            undecodable::report_rest(resource.counts.undecodable, &resource.name);
        }
        let printed = followed.and_then(|()| self.print_the_end().map_err(CommandError::Output));
        let recorded = self.finish_recordings();
        let finished = self.printer.out().finish(&self.clock).await.map_err(CommandError::from);
        // A recording that is lost counts more than a reader that is gone.
        recorded.and(printed).and(finished)?;
        if self.print.is_some() && std::io::stderr().is_terminal() {
            messages::print_lines(&self.summary());
        }
        self.result()
    }

    fn finish_recordings(&mut self) -> Result<(), CommandError> {
        let finish = |resource: &mut Followed<T>| resource.events.driver_mut().transport_mut().finish();
        let finished: Vec<_> = self.followed.iter_mut().map(finish).collect();
        finished.into_iter().collect::<Result<(), _>>().map_err(CommandError::Capture)
    }

    /// The error of a resource without a complete state.
    fn result(&self) -> Result<(), CommandError> {
        let refused = self.followed.iter().filter(|resource| resource.refused).map(|resource| resource.name.clone());
        let refused: Vec<String> = refused.collect();
        if !refused.is_empty() {
            return Err(CommandError::SomeRefused(refused));
        }
        match self.followed.iter().position(|resource| !resource.counts.synced) {
            Some(index) => {
                let status = self.followed[index].status(&self.clock);
                Err(CommandError::NeverSynced(self.named(index, status)))
            }
            None => Ok(()),
        }
    }

    /// Prints the caches, if their states were complete; or the summary, if nothing else is printed.
    fn print_the_end(&mut self) -> std::io::Result<()> {
        if self.print.is_none() {
            let summary = self.summary();
            return self.printer.out().write_all(summary.as_bytes());
        }
        // After a table of events, thousands of lines of the cache would be in the way.
        let wanted = self.print == Some(Print::Store) || self.form == Form::Handlers(Format::Json);
        for (index, resource) in self.followed.iter().enumerate().filter(|(_, it)| it.counts.synced && wanted) {
            self.printer.store(index, resource.cache().iter().cloned())?;
        }
        self.printer.settle()
    }

    fn summary(&self) -> String {
        let report = Report { followed: &self.followed, clock: &self.clock, recorded: self.recorded };
        hide_credentials(report.to_string())
    }
}

/// The time since the last update of a resource that is synced, unless its next bookmark is overdue.
fn age(status: &InformerStatus) -> Option<Duration> {
    match status {
        InformerStatus::Synced { age, overdue: false, .. } => Some(*age),
        _ => None,
    }
}

/// How many of the resources are synced, and the time since the last update of any of them.
fn synced(ages: &[Option<Duration>]) -> String {
    let count = format!("{} of {} resources synced", ages.iter().flatten().count(), ages.len());
    match ages.iter().flatten().min() {
        Some(age) => format!("{count}, last update {} ago", Span(*age)),
        None => count,
    }
}

/// Whether the user may not read all namespaces. In one of them, the user may.
fn is_of_all_namespaces(failed: &FailureReport) -> bool {
    let is_forbidden = failed.failure.status().is_some_and(|status| status.code == 403);
    is_forbidden && !failed.request.resource.path().contains("/namespaces/")
}

/// Whether the server refuses to answer in the requested form. One that has no Tables should send objects instead.
fn is_not_acceptable(failed: &FailureReport) -> bool {
    failed.request.resource.is_table() && failed.failure.status().is_some_and(|status| status.code == 406)
}

/// Whether the server does not know the resource.
fn is_not_found<T>(event: &Event<T>) -> bool {
    matches!(event, Event::Failed(failed) if failed.failure.class() == FailureClass::NotFound)
}

/// The end was requested.
async fn stopped(stop: &mut Stop) -> bool {
    stop.await;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_several_resources_counts_those_that_are_synced() {
        let ages = [Some(Duration::from_secs(9)), None, Some(Duration::from_secs(4))];
        assert_eq!(synced(&ages), "2 of 3 resources synced, last update 4 s ago");
        assert_eq!(synced(&[None, None]), "0 of 2 resources synced");
    }
}
