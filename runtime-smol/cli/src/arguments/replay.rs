//! `listwatch replay`.

use super::field_path::FieldPath;
use super::follow::duration;
use super::values::{Format, Kind, Output, Print};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use listwatch::fifo::Order;
use listwatch::file::Chunks;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  listwatch replay tonight.jsonl.zst
  listwatch replay tonight.jsonl.zst --print events --format json
  listwatch replay tonight.jsonl.zst --resource deployments
  listwatch replay tonight.jsonl.zst --index label:app --index owner --workers 8
  kubectl get pods -A --watch --output-watch-events -o json > pods.json
  listwatch replay pods.json --print store
  listwatch replay tonight.jsonl.zst -o yaml
  listwatch replay tonight.jsonl.zst --suggest-capacities --index label:app
  listwatch replay tape.jsonl.zst --against ./controller
  listwatch replay tape.jsonl.zst --against ./old --against './new --replay={}'

The summary counts events by kind; an object `vanished` if it was deleted unseen (client-go's \
DeletedFinalStateUnknown). It has the reason of each new list and each new watch, the objects that \
changed most behind the first list, and those that go back and forth. \
With --print or -o, it goes to standard error, if that is a terminal.

With --verbose, and if something was refused or left over, it counts the requests of the recording:
  answered   the recording has an answer
  refused    the recording has a refusal, or has no such request
  left over  the recording has more answers than requests were sent

With --suggest-capacities, the output is a module of Rust for listwatch-core with the feature `fixed`. \
Each constant says what the recording needed, and has a quarter more, rounded up to a multiple of 8. \
The fields are those of --field and of the indexes; without --index the cache is indexed by namespace.

With --against, the tape is one of a controller that recorded itself (World::recorded_to). The program \
gets the tape's path in place of each {} of its arguments, or as its last one, plays the tape as its \
world, and writes what it sends to the file that $LISTWATCH_REPLAY_WRITES names; a world does so by \
itself. Its standard output is not read, and of its standard error the last line, if it fails. The \
exit status is 0 if the writes are the same, 3 if they are not, and 1 if writes of Secrets were not \
compared, because the tape has hashes in place of their values. Two builds are always compared.";

/// Play a recording through reflector, queue, cache and workers
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReplayOptions {
    /// A file of `listwatch record`, lists or objects (`kubectl get -o json` or `-o yaml`), a watch log
    /// (`kubectl get --watch --output-watch-events -o json`), or an audit log or a folder of rotated
    /// ones, plain or compressed by gzip or Zstandard; a pipe is refused
    pub(crate) file: PathBuf,

    /// Play as fast as it was recorded (1), N times as fast, or without waiting (max)
    #[arg(long, value_name = "1|N|max", value_parser = speed, default_value = "max", help_heading = "Playback")]
    pub(crate) speed: Speed,

    /// Play the first of the recorded resources that has this name (pods, deployments.apps, v1/pods) or
    /// this path [default: all of them, in one time line]
    #[arg(long, value_name = "NAME", help_heading = "Playback")]
    pub(crate) resource: Option<String>,

    /// Split the answers into chunks of this size at the most
    #[arg(long, value_name = "BYTES", value_parser = chunk, help_heading = "Playback")]
    chunk: Option<NonZeroUsize>,

    /// Count the broken lines of FILE instead of ending at the first
    #[arg(long, help_heading = "Playback")]
    pub(crate) skip_bad_lines: bool,

    /// Keep objects as JSON text (raw), as their metadata alone (meta), or as parsed JSON (value)
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t = Kind::Raw, help_heading = "Informer")]
    pub(crate) kind: Kind,

    /// Deliver events in the order of their arrival, or key by key
    #[arg(long, value_parser = order(), default_value = "arrival", help_heading = "Informer")]
    pub(crate) order: Order,

    /// Index the cache by `namespace`, `owner` or `label:NAME`; with --suggest-capacities by `field:PATH`
    /// too; may be repeated
    #[arg(long = "index", value_name = "INDEX", value_parser = index, help_heading = "Informer")]
    pub(crate) indexes: Vec<IndexBy>,

    /// The number of workers that take keys from the work queue
    #[arg(long, value_name = "N", value_parser = workers, default_value_t = 2, help_heading = "Informer")]
    pub(crate) workers: usize,

    /// Replay the tape of a controller by this program, and compare its writes with those on the tape;
    /// given twice, compare the writes of the second build with those of the first
    #[arg(
        long,
        value_name = "PROGRAM",
        value_parser = program,
        conflicts_with_all = ["speed", "resource", "chunk", "skip_bad_lines", "kind", "order", "indexes", "workers", "print", "format"],
        help_heading = "Comparison"
    )]
    pub(crate) against: Vec<Program>,

    /// Stop a program that still runs after this time
    #[arg(
        long,
        value_name = "TIME",
        value_parser = duration,
        default_value = "10m",
        requires = "against",
        help_heading = "Comparison"
    )]
    pub(crate) within: Duration,

    /// Print the types and the capacities of an informer in fixed memory that holds the recording, with
    /// headroom, as Rust code to paste
    #[arg(
        long,
        conflicts_with_all = ["against", "speed", "kind", "order", "workers", "output", "show_secrets", "print", "format"],
        help_heading = "Capacities"
    )]
    pub(crate) suggest_capacities: bool,

    /// A field that is kept of each object, such as `spec.nodeName` or
    /// `status.conditions[type=Ready].status`; may be repeated
    #[arg(long = "field", value_name = "PATH", requires = "suggest_capacities", help_heading = "Capacities")]
    pub(crate) fields: Vec<FieldPath>,

    /// Print every change with its object (table, wide, json, yaml) or its name; with --against, the
    /// comparison as json [default: the summary]
    #[arg(short, long, value_name = "FORMAT", value_enum, conflicts_with = "format", help_heading = "Output")]
    pub(crate) output: Option<Output>,

    /// Print the values of Secrets too, with -o json or -o yaml
    #[arg(long, conflicts_with = "against", help_heading = "Output")]
    pub(crate) show_secrets: bool,

    /// Print every event and then the cache, or the cache alone [default: the summary]
    #[arg(long, value_enum, help_heading = "Output")]
    print: Option<Print>,

    /// Tell in the summary what the machines did, too: requests, informers, work queue, workers, memory
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,

    /// Print for programs what client-go's handlers get, as a table or as one JSON object a line
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Speed {
    Times(NonZeroU32),
    Max,
}

#[derive(Clone, PartialEq)]
pub(crate) enum IndexBy {
    Namespace,
    Label(String),
    Owner,
    Field(FieldPath),
}

/// A program with its arguments, of which the first is its path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program(pub(crate) Vec<String>);

impl ReplayOptions {
    /// The events and the cache that are printed; `None` for the summary alone.
    pub(crate) fn print(&self) -> Option<Print> {
        self.print.or_else(|| self.output.map(|_| Print::Events))
    }

    /// The size of `--chunk`.
    pub(crate) fn chunk_bytes(&self) -> Option<usize> {
        self.chunk.map(NonZeroUsize::get)
    }

    pub(crate) fn chunks(&self) -> Chunks {
        self.chunk.map_or(Chunks::Recorded, |bytes| Chunks::AtMost(bytes.get()))
    }
}

fn speed(text: &str) -> Result<Speed, &'static str> {
    match text {
        "max" => Ok(Speed::Max),
        times => times.parse().map(Speed::Times).map_err(|_| "give a whole number from 1, or `max`"),
    }
}

/// Splits a command as a shell does.
fn program(text: &str) -> Result<Program, &'static str> {
    let words = shlex::split(text).filter(|words| words.first().is_some_and(|program| !program.is_empty()));
    words.map(Program).ok_or("give a program with its arguments, quoted as for a shell")
}

fn chunk(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "give a number of bytes from 1")
}

fn order() -> impl TypedValueParser<Value = Order> {
    PossibleValuesParser::new(["arrival", "key"]).map(|order| match &*order {
        "key" => Order::ByKey,
        _ => Order::Arrival,
    })
}

fn index(text: &str) -> Result<IndexBy, &'static str> {
    match text.split_once(':') {
        Some(("field", path)) => path.parse().map(IndexBy::Field),
        None if text == "namespace" => Ok(IndexBy::Namespace),
        None if text == "owner" => Ok(IndexBy::Owner),
        Some(("label", name)) if !name.is_empty() => Ok(IndexBy::Label(name.into())),
        _ => Err("give `namespace`, `owner`, `label:NAME` or `field:PATH`"),
    }
}

fn workers(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=10_000).contains(count));
    count.ok_or("give a number from 1 to 10000")
}

impl fmt::Display for IndexBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => f.write_str("namespace"),
            Self::Owner => f.write_str("owner"),
            Self::Label(name) => write!(f, "label:{name}"),
            Self::Field(path) => write!(f, "field:{}", path.as_str()),
        }
    }
}
