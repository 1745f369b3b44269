//! Bytes of bodies in lines, without escapes where they are long.
//!
//! A chunk of a body is divided at its newlines. A piece that is long, or looks like an object, stands in its line as it
//! is, so that recording it costs a copy and a checksum. The others are strings of JSON.

use super::seal::{content, number, push_number, seal};
use base64::prelude::{BASE64_STANDARD, Engine};
use memchr::memchr;
use memchr::memmem::Finder;
use std::borrow::Cow;

/// A chunk of a body, or the piece of one that is in a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Data<'a> {
    pub(super) text: Cow<'a, [u8]>,
    /// Whether a newline belongs to it, behind the text.
    newline: bool,
    /// Whether the next line of its exchange has more of the chunk.
    pub(crate) more: bool,
}

/// The least bytes of a piece that stands in its line as it is, unless it looks like an object.
const LONG: usize = 256;

const MORE: &[u8] = b"\"more\":true,";
/// The name of a piece that a newline ends.
const LINE: &[u8] = b"\"line\":";
/// The name of a piece without a newline.
const PART: &[u8] = b"\"part\":";

impl<'a> Data<'a> {
    pub(crate) fn new(text: impl Into<Cow<'a, [u8]>>, more: bool) -> Self {
        Self { text: text.into(), newline: false, more }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.text.into_owned();
        bytes.extend(self.newline.then_some(b'\n'));
        bytes
    }

    /// The text of a whole line, without its newline.
    pub(crate) fn line(&self) -> Option<&[u8]> {
        self.newline.then_some(&*self.text)
    }

    /// The bytes, without a copy where no newline belongs to them.
    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        if self.newline { Cow::Owned([&*self.text, b"\n"].concat()) } else { Cow::Borrowed(&self.text) }
    }

    /// Whether it is whole lines of the body, without this text in them.
    pub(crate) fn is_lines_without(&self, text: &Finder<'_>) -> bool {
        (self.newline || self.text.ends_with(b"\n")) && text.find(&self.text).is_none()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.newline
    }

    /// Writes the lines of a chunk. `lines` counts the lines of the file.
    pub(super) fn write(&self, t: u64, id: u64, lines: &mut u64, out: &mut Vec<u8>) {
        let mut rest = &*self.text;
        loop {
            let piece = Piece::first_of(rest);
            rest = &rest[piece.len()..];
            *lines += 1;
            let start = out.len();
            out.extend_from_slice(b"{\"t\":");
            push_number(out, t);
            out.extend_from_slice(b",\"id\":");
            push_number(out, id);
            out.push(b',');
            out.extend_from_slice(if rest.is_empty() { b"" } else { MORE });
            piece.write(out);
            seal(out, start, *lines);
            out.push(b'\n');
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Reads a line that has its piece as it is, with the time and the request; `None` for every other line.
    pub(super) fn parse(line: &'a [u8]) -> Option<(u64, u64, Self)> {
        // A line of an edited file may lack its checksum.
        let text = content(line).or_else(|| line.strip_suffix(b"}"))?;
        let (t, id, rest) = record_head(text)?;
        let (more, rest) = rest.strip_prefix(MORE).map_or((false, rest), |rest| (true, rest));
        let (newline, text) = match rest.strip_prefix(LINE) {
            Some(text) => (true, text),
            None => (false, rest.strip_prefix(PART)?),
        };
        Some((t, id, Self { text: text.into(), newline, more }))
    }
}

/// The time and the request of a record as a recorder writes it, and the text behind them: `{"t":7,"id":1,`.
pub(crate) fn record_head(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (t, rest) = number(line.strip_prefix(b"{\"t\":")?)?;
    let (id, rest) = number(rest.strip_prefix(b",\"id\":")?)?;
    Some((t, id, rest.strip_prefix(b",")?))
}

/// The bytes of a chunk that one line has.
enum Piece<'a> {
    /// A line of the body, without its newline.
    Line(&'a [u8]),
    /// A part of a line of the body.
    Part(&'a [u8]),
    Text(&'a [u8]),
}

impl<'a> Piece<'a> {
    /// Short lines stand together, as a string.
    fn first_of(chunk: &'a [u8]) -> Self {
        let mut short = 0;
        while short < chunk.len() {
            let rest = &chunk[short..];
            let end = memchr(b'\n', rest);
            let text = &rest[..end.unwrap_or(rest.len())];
            if is_whole(text) {
                return match end {
                    _ if short > 0 => Self::Text(&chunk[..short]),
                    Some(_) => Self::Line(text),
                    None => Self::Part(text),
                };
            }
            short += text.len() + usize::from(end.is_some());
        }
        Self::Text(chunk)
    }

    fn len(&self) -> usize {
        match self {
            Self::Line(text) => text.len() + 1,
            Self::Part(text) | Self::Text(text) => text.len(),
        }
    }

    /// Writes the field, without the closing brace.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Line(text) => {
                out.extend_from_slice(LINE);
                out.extend_from_slice(text);
            }
            Self::Part(text) => {
                out.extend_from_slice(PART);
                out.extend_from_slice(text);
            }
            Self::Text(text) => match str::from_utf8(text) {
                Ok(text) => {
                    out.extend_from_slice(b"\"data\":");
                    // Into memory, a text can always be written.
                    let _written = serde_json::to_writer(&mut *out, text);
                }
                Err(_) => {
                    out.extend_from_slice(b"\"base64\":\"");
                    out.extend_from_slice(BASE64_STANDARD.encode(text).as_bytes());
                    out.push(b'"');
                }
            },
        }
    }
}

/// Whether a piece stands in its line as it is. One that begins or ends within a character would make a file of text
/// one of bytes.
fn is_whole(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return false };
    let is_object = *first == b'{' && *last == b'}';
    is_object || (text.len() >= LONG && first & 0xc0 != 0x80 && last.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::format::{Line, Payload, Record};

    /// The lines that a chunk is written as.
    fn written(chunk: &[u8]) -> Vec<Vec<u8>> {
        let (mut lines, mut out) = (4, Vec::new());
        Data::new(chunk, false).write(8, 1, &mut lines, &mut out);
        let out: Vec<Vec<u8>> =
            out.split_inclusive(|byte| *byte == b'\n').map(|line| line[..line.len() - 1].into()).collect();
        assert_eq!(lines - 4, out.len() as u64);
        out
    }

    /// The chunk in these lines.
    fn read(lines: &[Vec<u8>]) -> Vec<u8> {
        let mut chunk = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            let Ok(Line::Record(Record { t: 8, id: 1, payload: Payload::Data(data) })) = Line::parse(line) else {
                panic!("{}", String::from_utf8_lossy(line))
            };
            assert_eq!(data.more, place + 1 < lines.len());
            chunk.extend(data.into_bytes());
        }
        chunk
    }

    fn names(chunk: &[u8]) -> Vec<String> {
        let field = |line: &Vec<u8>| {
            let text = String::from_utf8_lossy(line).replace("\"more\":true,", "");
            text.split('"').nth(5).unwrap().to_owned()
        };
        written(chunk).iter().map(field).collect()
    }

    #[test]
    fn a_piece_stands_as_it_is_if_it_is_an_object_or_long() {
        let long = "x".repeat(LONG);
        assert_eq!(names(b"{\"type\":\"ADDED\"}\n{}\n{\"a\":1}"), ["line", "line", "part"]);
        assert_eq!(names(format!("{long}\n{long}").as_bytes()), ["line", "part"]);
        assert_eq!(names(b"no\nobject\n{\"a\":1}\nok"), ["data", "line", "data"]);
        assert_eq!(names("a: 1\nb: 2\n".repeat(1_000).as_bytes()), ["data"]);
        assert_eq!(names(&[&b"\x93"[..], long.as_bytes()].concat()), ["base64"], "it begins within a character");
        assert_eq!(names(&[long.as_bytes(), b"\xe2\x80"].concat()), ["base64"], "it ends within one");
    }

    #[test]
    fn a_chunk_reads_back_as_it_was_however_it_is_divided() {
        let long = "{\"é\":1".repeat(40);
        let pieces: [&[u8]; 12] = [
            b"",
            b"\n",
            b"{}",
            b"{\"a\":\"\\n\"}\n",
            long.as_bytes(),
            b"\r\n",
            b"\xff\n",
            b"ok",
            b"\xe2\x80",
            br#","n":5,"crc":"00000000"}"#,
            br#"{"more":true,"line":"#,
            br#"{},"n":5,"crc":"00000000"}"#,
        ];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let chunk = [first, second, third].concat();
                    assert_eq!(read(&written(&chunk)), chunk, "{}", String::from_utf8_lossy(&chunk));
                }
            }
        }
    }

    #[test]
    fn an_event_is_one_line_of_json_that_is_not_parsed_again() {
        let event = r#"{"type":"ADDED","object":{"metadata":{"name":"\"a\""}}}"#;
        let lines = written(format!("{event}\n").as_bytes());
        let line: serde_json::Value = serde_json::from_slice(&lines[0]).unwrap();
        assert_eq!((lines.len(), &line["n"]), (1, &5.into()));
        assert_eq!(line["line"], serde_json::from_str::<serde_json::Value>(event).unwrap());
        let (_, _, data) = Data::parse(&lines[0]).unwrap();
        assert!(matches!(data.text, Cow::Borrowed(_)));
    }
}
