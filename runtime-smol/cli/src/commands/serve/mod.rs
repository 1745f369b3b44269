//! `listwatch serve`.

mod audience;
mod body;
mod date;
mod discovery;
mod http;
mod site;
pub(super) mod table;
mod timeline;

use crate::arguments::{Moment, ServeOptions, hide_credentials};
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::seconds::Seconds;
use crate::output::{self, messages};
use crate::resource::resource_of;
use crate::system::stop::stop;
use listwatch::file::{History, RecordedResource};
use listwatch::served;
use listwatch::testing::ServedKind;
use listwatch::text::Printable;
use listwatch::time::WallTime;
use listwatch::{Clock, Executor, run};
use site::Site;
use smol::future::{or, pending};
use smol::net::TcpListener;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use timeline::{Passing, Timeline};

const UNATTENDED: &str = "with --at and without --speed, time stands still, so --unattended changes nothing; give --speed too, \
                          or leave out --unattended";

/// Serves a recording until the end is requested.
///
/// # Errors
/// The options do not fit together, the recording has nothing to serve, the moment is none of it, or the address is taken.
pub(super) fn serve(options: &ServeOptions) -> Result<(), CommandError> {
    if options.unattended && passing(options).is_none() {
        return Err(CommandError::Arguments(UNATTENDED));
    }
    let clock = Clock::real();
    let input = Input::of(&options.file)?;
    let history = history(options, &input)?;
    let resources: Vec<Arc<RecordedResource>> = history.resources().cloned().collect();
    let mut timeline = Timeline::new(history);
    // A saved list is a state of that moment or a later one.
    match options.at.filter(|_| timeline.end().is_zero()) {
        Some(Moment::Date(date)) => timeline.began = timeline.began.max(date),
        Some(moment @ Moment::TimeOfDay(_)) => {
            timeline.began = timeline.began + moment.since(timeline.began).unwrap_or_default();
        }
        _ => {}
    }
    let moment = moment(options, &timeline)?;
    let site = Site::new(clock.clone(), options.writable, timeline.began + moment);
    timeline.skip_to(moment, &site);
    if let Some(fault) = timeline.error() {
        messages::print(format_args!("{fault}; the recording is served up to there"));
    }
    report_unreadable(&timeline);
    // Up to here, a signal ends the process by itself: the reading of a large recording heeds none.
    let stop = stop(&clock, None).map_err(CommandError::Signals)?;
    let executor = Executor::new();
    run(&clock, &executor, async {
        let address = SocketAddr::new(options.address, options.port);
        let unable = |error| CommandError::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(unable)?;
        let address = listener.local_addr().map_err(unable)?;
        if !address.ip().is_loopback() {
            messages::print("warning: whoever reaches this address can read the recording, without a credential");
        }
        output::print(greeting(options, &timeline, &resources, address).as_bytes()).map_err(CommandError::Output)?;
        let serving =
            async { match served::serve(listener, &executor, http::LIMITS, served::Plain, site.clone()).await {} };
        let playing = async {
            if let Some(passing) = passing(options) {
                timeline.play(&site, passing, &clock).await;
                report_end(&timeline);
            }
            pending::<()>().await;
        };
        or(stop, or(serving, or(playing, messages::keep_writing()))).await;
        Ok(())
    })
}

/// Reads the recording. Objects that do not say their resource are of the one that the options name.
fn history(options: &ServeOptions, input: &Input) -> Result<History, CommandError> {
    let unknown = "--resource needs the name of a resource, such as pods or stable.example.com/v1/shares";
    let read = match &options.resource {
        None => History::from_file(input.path()),
        Some(name) => {
            let resource = resource_of(name).ok_or(CommandError::Arguments(unknown))?;
            History::of_resource(input.path(), &resource)
        }
    };
    read.map_err(|error| input.error(error)).map_err(|error| match error.message().contains("names no resource") {
        true => CommandError::NoResource(error),
        false => CommandError::Capture(error),
    })
}

/// The moment at which the cluster begins, since the recording began.
fn moment(options: &ServeOptions, timeline: &Timeline) -> Result<Duration, CommandError> {
    let moment = match &options.at {
        None => timeline.position,
        Some(Moment::End) => timeline.end(),
        Some(moment) => moment.since(timeline.began).ok_or_else(|| out_of_range(options, timeline))?,
    };
    let is_past = !matches!(options.at, None | Some(Moment::End)) && moment > timeline.end();
    // The first state counts from the beginning.
    if is_past { Err(out_of_range(options, timeline)) } else { Ok(moment.max(timeline.position)) }
}

fn out_of_range(options: &ServeOptions, timeline: &Timeline) -> CommandError {
    let dates: [WallTime; 2] = [timeline.began, timeline.began + timeline.end()];
    let fault = timeline.error().cloned().map(Box::new);
    CommandError::OutOfRange { file: options.file.clone(), dates, length: timeline.end(), fault }
}

/// How time passes; `None` if it stands at a moment.
fn passing(options: &ServeOptions) -> Option<Passing> {
    let speed = options.speed.or_else(|| options.at.is_none().then_some(1.0))?;
    Some(Passing { speed, unattended: options.unattended })
}

/// The lines that say how to reach the cluster.
fn greeting(
    options: &ServeOptions,
    timeline: &Timeline,
    resources: &[Arc<RecordedResource>],
    address: SocketAddr,
) -> String {
    let (file, names) = (options.file.display().to_string(), names_of(resources));
    let date = timeline.date();
    let passes = match passing(options) {
        None => "time stands still".to_owned(),
        Some(Passing { speed, unattended }) => {
            let speed = if speed == 1.0 { String::new() } else { format!(", {speed} times as fast") };
            let when = if unattended { "passes" } else { "passes while a client watches" };
            format!("time {when}{speed}, up to {}", Seconds(timeline.end()))
        }
    };
    let paste = command_to_paste(resources.first(), address).map(|command| format!("\n  {command}\n"));
    hide_credentials(format!(
        "{} at http://{address}: {}\nat {} ({date}); {passes}\n{}",
        Printable::new(file),
        Printable::new(names),
        Seconds(timeline.position),
        paste.unwrap_or_default(),
    ))
}

/// How many resources the greeting names.
const NAMED: usize = 20;

/// The names of the first resources, and how many follow.
fn names_of(resources: &[Arc<RecordedResource>]) -> String {
    let names: Vec<&str> = resources.iter().take(NAMED).map(|resource| resource.collection.as_str()).collect();
    let more = match resources.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.join(", ") + &more
}

/// The command that follows a resource; `None` if its name in the recording is none that an API server takes.
fn command_to_paste(resource: Option<&Arc<RecordedResource>>, address: SocketAddr) -> Option<String> {
    let kind = resource.map(|resource| ServedKind::of_recorded(resource));
    let (plural, group, namespaced) =
        kind.as_ref().map_or(("pods", "", true), |kind| (&kind.plural, kind.group(), kind.namespaced));
    let is_safe = is_dns_label(plural) && (group.is_empty() || group.split('.').all(is_dns_label));
    let all = if namespaced { " -A" } else { "" };
    is_safe.then(|| format!("kubectl -s http://{address} get {plural}{all} --watch"))
}

/// Whether a text is a label of a domain name (RFC 1123), which a shell takes as one word.
fn is_dns_label(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&text.len()) && text.chars().all(is_part) && !text.starts_with('-') && !text.ends_with('-')
}

fn report_unreadable(timeline: &Timeline) {
    if let Some(unreadable) = timeline.unreadable() {
        messages::print(format_args!("{unreadable}"));
    }
}

fn report_end(timeline: &Timeline) {
    let end = Seconds(timeline.end());
    report_unreadable(timeline);
    match timeline.error() {
        None => messages::print(format_args!("the recording has ended, at {end}; its last state stays")),
        Some(fault) => messages::print(format_args!("{fault}; the last state before it, at {end}, stays")),
    }
}
