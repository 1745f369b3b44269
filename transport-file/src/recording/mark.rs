//! What a tape in memory keeps, and the marks among it, which are in no dump as they are.

use listwatch_core::request::Query;
use memchr::memchr;
use std::io::{self, Write};

/// What a tape in memory keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept<'l> {
    /// Bytes of a body, which need no checksum there.
    Data { t: u64, id: u64, bytes: &'l [u8] },
    /// A line of the tape, or a mark.
    Line(&'l [u8]),
}

impl<'l> Kept<'l> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data { t, id, bytes } => {
                out.push(b':');
                [*t, *id, bytes.len() as u64].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
                out.extend_from_slice(bytes);
            }
            Self::Line(line) => out.extend_from_slice(line),
        }
        out.push(b'\n');
    }

    /// The first of what [`write`](Self::write) wrote; `None` at the end, or if it did not. The bytes behind it are left.
    pub(super) fn take_from(kept: &mut &'l [u8]) -> Option<Self> {
        let Some(rest) = kept.strip_prefix(b":") else {
            let (line, behind) = kept.split_at_checked(memchr(b'\n', kept)?)?;
            *kept = &behind[1..];
            return Some(Self::Line(line));
        };
        let (numbers, rest) = rest.split_at_checked(3 * size_of::<u64>())?;
        let mut numbers = numbers.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
        let (t, id, len) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let (bytes, behind) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        *kept = behind.get(1..)?;
        Some(Self::Data { t, id, bytes })
    }
}

/// A line that is in no dump as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark<'l> {
    /// The next request is one of a transport.
    Begun(Begun<'l>),
    /// How many changes the cache had before the next data of a request.
    Position { id: u64, changes: u64 },
    /// A transport is gone.
    Left { transport: u64 },
}

/// The beginning of a request of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun<'l> {
    pub(super) id: u64,
    pub(super) transport: u64,
    pub(super) query: Query,
    /// The name of the list-and-watch, if it has one.
    pub(super) name: &'l str,
}

impl<'l> Mark<'l> {
    pub(super) fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Begun(Begun { id, transport, query, name }) => {
                writeln!(out, "#{id} {transport} {} {name}", letter(*query))
            }
            Self::Position { id, changes } => writeln!(out, "@{id} {changes}"),
            Self::Left { transport } => writeln!(out, "~{transport} 0"),
        }
    }

    /// The mark that a line of the ring is; `None` for a line of the tape.
    pub(super) fn parse(line: &'l [u8]) -> Option<Self> {
        let (first, rest) = line.split_first().filter(|(first, _)| **first != b'{')?;
        let mut parts = str::from_utf8(rest).ok()?.splitn(4, ' ');
        let id = parts.next()?.parse().ok()?;
        let number = parts.next()?.parse().ok()?;
        match first {
            b'#' => {
                let query = query(parts.next()?)?;
                Some(Self::Begun(Begun { id, transport: number, query, name: parts.next().unwrap_or_default() }))
            }
            b'@' => Some(Self::Position { id, changes: number }),
            b'~' => Some(Self::Left { transport: id }),
            _ => None,
        }
    }
}

const LETTERS: [(Query, char); 3] = [(Query::List, 'L'), (Query::Watch, 'W'), (Query::WatchList, 'S')];

fn letter(query: Query) -> char {
    LETTERS.into_iter().find(|(known, _)| *known == query).map_or('L', |(_, letter)| letter)
}

fn query(letter: &str) -> Option<Query> {
    LETTERS.into_iter().find(|(_, known)| letter.starts_with(*known)).map(|(query, _)| query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let all = [
            Kept::Line(b"{}"),
            Kept::Data { t: 10, id: 58, bytes: b"0123456\n:\n" },
            Kept::Data { t: u64::MAX, id: 2, bytes: b"" },
            Kept::Line(b"#1 2 L"),
        ];
        let mut lines = Vec::new();
        all.iter().for_each(|kept| kept.write(&mut lines));
        let mut rest = &*lines;
        let read: Vec<_> = core::iter::from_fn(|| Kept::take_from(&mut rest)).collect();
        assert_eq!(read, all);
    }

    #[test]
    fn a_mark_reads_back_and_a_line_of_the_tape_is_none() {
        let begun = Mark::Begun(Begun { id: 7, transport: 2, query: Query::WatchList, name: "/api/v1/pods #2" });
        let (position, left) = (Mark::Position { id: 7, changes: 41 }, Mark::Left { transport: 2 });
        let mut lines = Vec::new();
        [begun, position, left].iter().for_each(|mark| mark.write(&mut lines).unwrap());
        let read: Vec<_> = lines.split(|byte| *byte == b'\n').map(Mark::parse).collect();
        assert_eq!(read, [Some(begun), Some(position), Some(left), None]);
        assert_eq!(Mark::parse(br#"{"t":1,"id":7,"end":"eof"}"#), None);
    }
}
