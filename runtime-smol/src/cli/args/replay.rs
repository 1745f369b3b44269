//! `listwatch replay`.

use super::Command;
use super::values::{Format, Kind, Print, format, kind, print};
use lexopt::{Arg, Parser, ValueExt};
use listwatch_runtime_smol::fifo::Order;
use listwatch_runtime_smol::file::Chunks;
use std::num::NonZeroU32;
use std::path::PathBuf;

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

#[derive(Clone, PartialEq)]
pub(crate) enum IndexBy {
    Namespace,
    Label(String),
    Owner,
}

pub(super) fn replay(mut parser: Parser) -> Result<Command, lexopt::Error> {
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

impl std::fmt::Display for IndexBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Namespace => f.write_str("namespace"),
            Self::Owner => f.write_str("owner"),
            Self::Label(name) => write!(f, "label:{name}"),
        }
    }
}
