//! What the user asks for.

use lexopt::{Arg, Parser, ValueExt};
use listwatch_runtime_smol::Order;
use listwatch_runtime_smol::file::Chunks;
use std::num::NonZeroU32;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
listwatch: Kubernetes informers, and recordings of what they saw

Usage: listwatch replay FILE [options]

Plays FILE through the whole machine (reflector, queue, cache, work queue and workers) and
prints what a controller would have seen. FILE is a capture (JSON lines), a saved list
(`kubectl get -o json`), or a watch log (`kubectl get --watch --output-watch-events -o json`),
gzipped or not.

Options:
  --speed 1|N|max        as fast as it was recorded, N times as fast, or without waiting [max]
  --type raw|meta|value  what objects are kept as: their JSON text, their metadata alone,
                         or parsed JSON [raw]
  --index INDEX          index the cache: `namespace`, `label:NAME` or `owner`; may be repeated
  --workers N            how many workers take keys from the work queue [2]
  --order arrival|key    tell changes as they came, or key by key [arrival]
  --chunk BYTES          let at most BYTES of an answer come at a time
  --print events|store   instead of the summary, print every notification and then the cache,
                         or the cache alone
  --format table|json    print for people, or one JSON object a line [table]
  --skip-bad-lines       count lines of FILE that are broken, and go on behind them
  -h, --help             print this
  -V, --version          print the version

The summary counts requests of the recording (answered; refused, as recorded or because it has
no such request; left over, because nobody asked), events by kind (vanished: deleted unseen,
client-go's DeletedFinalStateUnknown), and what made the reflector list or watch again. With
--print it goes to standard error, where that is a terminal.

Exit status: 0 when FILE was played to its end, 1 when it could not be, 2 for wrong usage.
";

pub(crate) enum Command {
    Help,
    Version,
    Replay(ReplayOptions),
}

pub(crate) struct ReplayOptions {
    pub(crate) file: PathBuf,
    pub(crate) speed: Speed,
    pub(crate) kind: Kind,
    pub(crate) indexes: Vec<IndexBy>,
    pub(crate) workers: usize,
    pub(crate) order: Order,
    pub(crate) chunks: Chunks,
    pub(crate) print: Print,
    pub(crate) format: Format,
    pub(crate) skip_bad_lines: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Speed {
    Times(NonZeroU32),
    Max,
}

/// What objects are decoded into.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Raw,
    Meta,
    Value,
}

#[derive(Clone, PartialEq)]
pub(crate) enum IndexBy {
    Namespace,
    Label(String),
    Owner,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Print {
    Nothing,
    Events,
    Store,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Format {
    Table,
    Json,
}

/// Reads the command line.
///
/// # Errors
/// Where it is wrong: what, in one line.
pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    match parser.next()? {
        Some(Arg::Short('h') | Arg::Long("help")) | None => Ok(Command::Help),
        Some(Arg::Short('V') | Arg::Long("version")) => Ok(Command::Version),
        Some(Arg::Value(name)) if name == "help" => Ok(Command::Help),
        Some(Arg::Value(name)) if name == "replay" => replay(parser),
        Some(Arg::Value(name)) => Err(format!("there is no command {name:?}").into()),
        Some(arg) => Err(arg.unexpected()),
    }
}

fn replay(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut options = ReplayOptions {
        file: PathBuf::new(),
        speed: Speed::Max,
        kind: Kind::Raw,
        indexes: Vec::new(),
        workers: 2,
        order: Order::Arrival,
        chunks: Chunks::Recorded,
        print: Print::Nothing,
        format: Format::Table,
        skip_bad_lines: false,
    };
    let mut file = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Long("speed") => options.speed = parser.value()?.parse_with(speed)?,
            Arg::Long("type") => options.kind = parser.value()?.parse_with(kind)?,
            Arg::Long("index") => options.indexes.push(parser.value()?.parse_with(index)?),
            Arg::Long("workers") => options.workers = parser.value()?.parse_with(workers)?,
            Arg::Long("order") => options.order = parser.value()?.parse_with(order)?,
            Arg::Long("chunk") => options.chunks = Chunks::AtMost(parser.value()?.parse_with(chunk)?),
            Arg::Long("print") => options.print = parser.value()?.parse_with(print)?,
            Arg::Long("format") => options.format = parser.value()?.parse_with(format)?,
            Arg::Long("skip-bad-lines") => options.skip_bad_lines = true,
            Arg::Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected()),
        }
    }
    options.file = file.ok_or("replay needs a file to play")?;
    Ok(Command::Replay(options))
}

fn speed(text: &str) -> Result<Speed, &'static str> {
    match text {
        "max" => Ok(Speed::Max),
        times => times.parse().map(Speed::Times).map_err(|_| "a speed is a whole number from 1, or `max`"),
    }
}

fn kind(text: &str) -> Result<Kind, &'static str> {
    match text {
        "raw" => Ok(Kind::Raw),
        "meta" => Ok(Kind::Meta),
        "value" => Ok(Kind::Value),
        _ => Err("a type is `raw`, `meta` or `value`"),
    }
}

fn index(text: &str) -> Result<IndexBy, &'static str> {
    match text.split_once(':') {
        None if text == "namespace" => Ok(IndexBy::Namespace),
        None if text == "owner" => Ok(IndexBy::Owner),
        Some(("label", name)) if !name.is_empty() => Ok(IndexBy::Label(name.into())),
        _ => Err("an index is `namespace`, `owner` or `label:NAME`"),
    }
}

fn workers(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=10_000).contains(count));
    count.ok_or("the number of workers is from 1 to 10000")
}

fn order(text: &str) -> Result<Order, &'static str> {
    match text {
        "arrival" => Ok(Order::Arrival),
        "key" => Ok(Order::ByKey),
        _ => Err("an order is `arrival` or `key`"),
    }
}

fn chunk(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|bytes| *bytes > 0).ok_or("a chunk has one byte at least")
}

fn print(text: &str) -> Result<Print, &'static str> {
    match text {
        "events" => Ok(Print::Events),
        "store" => Ok(Print::Store),
        _ => Err("what can be printed is `events` or `store`"),
    }
}

fn format(text: &str) -> Result<Format, &'static str> {
    match text {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        _ => Err("a format is `table` or `json`"),
    }
}

impl std::fmt::Display for IndexBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Namespace => f.write_str("namespace"),
            Self::Owner => f.write_str("owner"),
            Self::Label(name) => write!(f, "label:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Command, String> {
        parse(Parser::from_args(args)).map_err(|error| error.to_string())
    }

    #[test]
    fn every_option_is_taken() {
        let args = "replay x.jsonl --speed 10 --type meta --index label:app --index namespace --workers 8 --order key \
            --chunk 7 --print events --format json --skip-bad-lines";
        let Ok(Command::Replay(options)) = parsed(&args.split_whitespace().collect::<Vec<_>>()) else {
            panic!("refused")
        };
        assert_eq!(options.file, PathBuf::from("x.jsonl"));
        assert!(options.speed == Speed::Times(NonZeroU32::new(10).unwrap()) && options.kind == Kind::Meta);
        assert!(options.indexes == [IndexBy::Label("app".into()), IndexBy::Namespace] && options.workers == 8);
        assert!(options.order == Order::ByKey && options.chunks == Chunks::AtMost(7) && options.skip_bad_lines);
        assert!(options.print == Print::Events && options.format == Format::Json);
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let bad: [&[&str]; 9] = [
            &["replay"],
            &["replay", "a", "b"],
            &["reply", "a"],
            &["replay", "a", "--speed", "0"],
            &["--quick"],
            &["replay", "a", "--type", "pod"],
            &["replay", "a", "--index", "label:"],
            &["replay", "a", "--chunk", "0"],
            &["replay", "a", "--workers"],
        ];
        for args in bad {
            let error = parsed(args).err().unwrap_or_else(|| panic!("{args:?} was taken"));
            assert!(!error.is_empty() && !error.contains('\n'), "{args:?}: {error}");
        }
    }
}
