//! `listwatch watch` and `listwatch record`.

use super::Command;
use super::values::{Format, Kind, Print, format, kind, print};
use lexopt::{Arg, Parser, ValueExt};
use std::path::PathBuf;
use std::time::Duration;

pub(crate) struct WatchOptions {
    pub(crate) resource: String,
    pub(crate) server: Server,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Option<String>,
    pub(crate) fields: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) print: Print,
    pub(crate) format: Format,
    pub(crate) watch_list: bool,
    /// Whether a refusal at the beginning is no reason to end.
    pub(crate) keep_trying: bool,
    /// After which time to end.
    pub(crate) duration: Option<Duration>,
    /// The file to write.
    pub(crate) record: Option<PathBuf>,
    pub(crate) include_secrets: bool,
}

/// Where the server is found.
#[derive(Clone)]
pub(crate) enum Server {
    At(String),
    /// In this file or the usual ones, in this context or the current one.
    Kubeconfig {
        file: Option<PathBuf>,
        context: Option<String>,
    },
}

pub(super) fn watch(parser: Parser) -> Result<Command, lexopt::Error> {
    read(parser, Print::Events, false)
}

pub(super) fn record(parser: Parser) -> Result<Command, lexopt::Error> {
    read(parser, Print::Nothing, true)
}

fn read(mut parser: Parser, printed: Print, recorded: bool) -> Result<Command, lexopt::Error> {
    let mut options = WatchOptions {
        resource: String::new(),
        server: Server::Kubeconfig { file: None, context: None },
        namespace: None,
        labels: None,
        fields: None,
        kind: Kind::Raw,
        print: printed,
        format: Format::Table,
        watch_list: true,
        keep_trying: false,
        duration: None,
        record: None,
        include_secrets: false,
    };
    let (mut url, mut file, mut context, mut all) = (None, None, None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("server") => url = Some(parser.value()?.string()?),
            Arg::Long("context") => context = Some(parser.value()?.string()?),
            Arg::Long("kubeconfig") => file = Some(PathBuf::from(parser.value()?)),
            Arg::Short('n') | Arg::Long("namespace") => {
                options.namespace = Some(parser.value()?.parse_with(namespace)?);
            }
            Arg::Short('A') | Arg::Long("all-namespaces") => all = true,
            Arg::Short('l') | Arg::Long("selector") => options.labels = Some(parser.value()?.string()?),
            Arg::Long("field-selector") => options.fields = Some(parser.value()?.string()?),
            Arg::Long("type") => options.kind = parser.value()?.parse_with(kind)?,
            Arg::Long("print") => options.print = parser.value()?.parse_with(print)?,
            Arg::Long("format") => options.format = parser.value()?.parse_with(format)?,
            Arg::Long("no-watch-list") => options.watch_list = false,
            Arg::Long("keep-trying") => options.keep_trying = true,
            Arg::Long("for") => options.duration = Some(parser.value()?.parse_with(duration)?),
            Arg::Short('o') | Arg::Long("output") if recorded => options.record = Some(parser.value()?.into()),
            Arg::Long("include-secrets") if recorded => options.include_secrets = true,
            Arg::Value(name) if options.resource.is_empty() => options.resource = name.string()?,
            other => return Err(other.unexpected()),
        }
    }
    options.server = match (url, file, context) {
        (Some(url), None, None) => Server::At(url),
        (None, file, context) => Server::Kubeconfig { file, context },
        (Some(_), ..) => return Err("--server is instead of a kubeconfig and its context".into()),
    };
    if all {
        options.namespace = None;
    }
    if options.resource.is_empty() {
        return Err("what is to be followed is missing, such as `v1/pods`".into());
    }
    if options.record.as_deref().is_some_and(|file| file.as_os_str() == "-") {
        return Err("a recording is not written to standard output, but to a file: -o FILE".into());
    }
    if recorded && options.record.is_none() {
        return Err("record needs a file to write: -o FILE".into());
    }
    Ok(Command::Watch(options))
}

/// What Kubernetes allows as the name of a namespace.
fn namespace(text: &str) -> Result<String, &'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let bounded = !text.starts_with('-') && !text.ends_with('-') && (1..=63).contains(&text.len());
    let is_name = bounded && text.chars().all(allowed);
    is_name
        .then(|| text.into())
        .ok_or("a namespace is named by small letters, digits and dashes within them, 63 at most")
}

/// Seconds, or a number with its unit.
fn duration(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let time = seconds.or_else(|| humantime::parse_duration(text).ok());
    time.ok_or("a time is a number of seconds, or a number with its unit, such as `90s` or `10m`")
}
