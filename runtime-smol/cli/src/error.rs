//! The errors that end a command.

use crate::output::background::{Amount, FinishError};
use crate::output::seconds::Seconds;
use crate::resource::ResourceError;
use listwatch::file::{CaptureError, CaptureErrorKind};
use listwatch::http::ConfigError;
use listwatch::text::{Counted, Printable};
use listwatch::time::WallTime;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The characters of a list of names at the most.
const LONG: usize = 512;

/// Why a command failed: one line.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Standard output cannot be written.
    Output(io::Error),
    /// The reader of standard output did not take this much.
    Unread(Amount),
    Capture(CaptureError),
    /// The objects of the recording do not say their resource.
    NoResource(CaptureError),
    /// No list of the recording is whole; with the reason, if it is known.
    NothingListed(PathBuf, Option<String>),
    /// None of so many objects of the recording can be decoded; with the last reason.
    NothingDecoded(PathBuf, u64, Option<String>),
    Config(ConfigError),
    /// The argument of `--server` is no address.
    Address(ConfigError),
    Resource(ResourceError),
    /// The server refuses, and a retry is in vain.
    Refused(String),
    /// The server refused the first request for these resources; the others were followed to the end.
    SomeRefused(Vec<String>),
    /// The command ended before the first state was complete, in this status.
    NeverSynced(String),
    Signals(io::Error),
    /// The comparison found differences.
    WritesDiffer,
    /// Two recordings differ.
    RecordingsDiffer,
    /// So many objects of two servers differ.
    Differs(usize),
    /// The comparison found no difference, and left out this many writes of Secrets.
    WritesNotCompared(u64),
    /// The file is no tape of a controller.
    NoReconciles(PathBuf),
    /// The arguments do not fit together.
    Arguments(&'static str),
    /// A field cannot be kept in fixed memory: its path, and why.
    Field(String, &'static str),
    /// Fixed memory cannot hold the recording: what is too much.
    TooMuch(String),
    /// A file, a folder or an archive cannot be converted: why.
    Unfit(PathBuf, String),
    /// A file or a folder cannot be written.
    Unwritten(PathBuf, io::Error),
    /// A name of a new operator does not fit: its option, and why.
    Name(&'static str, String, String),
    /// No directory for the writes of the programs can be made.
    NoRoom(io::Error),
    /// The writes of a program cannot be compared: its name, and why.
    Program(String, String),
    /// No server can listen at this address.
    Listen(SocketAddr, io::Error),
    /// The recording does not have the resource of this name, but these.
    NotRecorded {
        file: PathBuf,
        name: String,
        names: Vec<String>,
    },
    /// The recording has no such moment; with the fault that cuts it.
    OutOfRange {
        file: PathBuf,
        dates: [WallTime; 2],
        length: Duration,
        fault: Option<Box<CaptureError>>,
    },
}

impl CommandError {
    /// Whether the arguments are wrong for every cluster.
    pub(crate) fn is_wrong_usage(&self) -> bool {
        match self {
            Self::Resource(error) => error.is_wrong_usage(),
            Self::Capture(error) => error.kind() == CaptureErrorKind::Secrets,
            Self::Address(_)
            | Self::OutOfRange { .. }
            | Self::NotRecorded { .. }
            | Self::Arguments(_)
            | Self::Field(..)
            | Self::Name(..) => true,
            _ => false,
        }
    }

    /// Whether the reader of standard output closed it, because it has read enough.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == ErrorKind::BrokenPipe)
    }
}

impl From<CaptureError> for CommandError {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<FinishError> for CommandError {
    fn from(error: FinishError) -> Self {
        match error {
            FinishError::Write(error) => Self::Output(error),
            FinishError::Unread(amount) => Self::Unread(amount),
        }
    }
}

impl From<ResourceError> for CommandError {
    fn from(error: ResourceError) -> Self {
        Self::Resource(error)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
            Self::Unread(Amount { lines, bytes }) => {
                let (lines, bytes) = (Counted(*lines, "line", "lines"), Counted(*bytes, "byte", "bytes"));
                write!(f, "the reader of standard output stopped before the last {lines} ({bytes})")
            }
            Self::Capture(error) if error.kind() == CaptureErrorKind::Secrets => {
                f.write_str("the recording would hold Secrets; to allow that, give --include-secrets")
            }
            Self::Capture(error) => error.fmt(f),
            Self::NoResource(error) => write!(f, "{error}; or give --resource NAME, such as v1/pods"),
            Self::NothingListed(file, reason) => {
                write!(f, "{}: no list in it is complete", file.display())?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))?;
                f.write_str("; record or save it again from the beginning")
            }
            Self::NothingDecoded(file, count, reason) => {
                let none = Counted(*count, "object in it, which cannot", "objects in it, of which none can");
                write!(f, "{}: {none} be decoded", file.display())?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))?;
                f.write_str("; save whole objects, as with `-o json`, without `as=Table` in the header Accept")
            }
            Self::Config(error) if error.is_missing() => {
                write!(
                    f,
                    "{error}; or give --kubeconfig FILE, or --server URL (`kubectl proxy` is at http://127.0.0.1:8001)"
                )
            }
            Self::Config(error) | Self::Address(error) => error.fmt(f),
            Self::Resource(error) => error.fmt(f),
            Self::Refused(reason) => write!(f, "{reason}; to retry all the same, give --keep-trying"),
            Self::SomeRefused(names) => {
                write!(
                    f,
                    "not followed, because the server refused: {}",
                    Printable::new(names.join(", ")).at_most(LONG)
                )
            }
            Self::NeverSynced(status) => write!(f, "ended before the first state was complete: {status}"),
            Self::Listen(address, error) if error.kind() == ErrorKind::AddrInUse => {
                write!(f, "{address} is in use; give another --port, or 0 for any that is free")
            }
            Self::Listen(address, error) => write!(f, "cannot listen at {address}: {error}"),
            Self::NotRecorded { file, names, .. } if names.is_empty() => {
                let none = "no resource is recorded by its name, as in a list, a watch log, or an audit log without bodies; name none";
                write!(f, "{}: {none}", file.display())
            }
            Self::NotRecorded { file, name, names } => write!(
                f,
                "{}: {} was not recorded; choose one of {}",
                file.display(),
                Printable::new(name).at_most(LONG),
                Printable::new(names.join(", ")).at_most(LONG)
            ),
            Self::OutOfRange { file, dates: [first, last], length, fault } => {
                let (file, length) = (file.display(), Seconds(*length));
                write!(f, "{file}: --at is outside of the recording, which lasts {length}, from {first} to {last}")?;
                fault.as_ref().map_or(Ok(()), |fault| write!(f, ", where it is cut: {fault}"))
            }
            Self::WritesDiffer => f.write_str("the writes differ"),
            Self::RecordingsDiffer => f.write_str("the recordings differ"),
            Self::Differs(objects) => write!(f, "{}", Counted(*objects as u64, "object differs", "objects differ")),
            Self::WritesNotCompared(writes) => write!(
                f,
                "{} not compared; compare two builds, or make a tape with the values by \
                 `World::recorded_with_secrets_to`",
                Counted(*writes, "write of Secrets was", "writes of Secrets were")
            ),
            Self::NoReconciles(file) => write!(
                f,
                "{}: no controller recorded itself on it, so there are no writes to compare; \
                 make a tape by `World::recorded_to`",
                file.display()
            ),
            Self::Arguments(why) => f.write_str(why),
            Self::Field(path, why) => {
                let path = Printable::new(path).at_most(LONG);
                write!(f, "the field `{path}` {why}; give --field a path such as `spec.nodeName`")
            }
            Self::TooMuch(what) => write!(f, "no fixed memory holds this recording: {what}"),
            Self::Unfit(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Unwritten(path, error) => write!(f, "{}: cannot be written: {error}", path.display()),
            Self::Name(option, name, why) => write!(f, "{option} {}: {why}", Printable::new(name).at_most(LONG)),
            Self::NoRoom(error) => write!(f, "cannot make a directory for the writes of the programs: {error}"),
            Self::Program(name, why) => {
                write!(f, "{}: {}", Printable::new(name).at_most(LONG), Printable::new(why))
            }
            Self::Signals(error) => write!(f, "cannot receive signals such as Ctrl-C: {error}"),
        }
    }
}
