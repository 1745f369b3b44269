//! Divides a body into frames, which are decoded one by one.

use super::outline::{Ended, Layout, Outline, Step, Values};
use super::scan::Scanner;
#[cfg(feature = "json")]
use super::scan::is_space;
#[cfg(feature = "json")]
use memchr::memchr;

/// How a body is divided into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One frame a JSON value, of any layout: a watch. An API server sends a line for each, and a proxy or kubectl may not.
    ///
    /// A value that breaks off would swallow those behind it. So it ends with its line if that ends in a string. It also
    /// ends before a line that begins with a brace where no value can begin.
    Values,
    /// One frame an item of a list, and one a field around the items.
    List,
    /// The same, or one frame a row of a `meta.k8s.io` Table: whichever of `items` and `rows` the body has.
    Table,
}

/// A part of a body, borrowed from the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'b> {
    /// A value, or a line that begins none.
    Value(&'b [u8]),
    /// An item of a list.
    Item(&'b [u8]),
    /// A row of a Table.
    Row(&'b [u8]),
    /// Another field of a list.
    Field {
        /// Its name, without the quotes.
        name: &'b [u8],
        /// Its value.
        value: &'b [u8],
    },
    /// The list is complete.
    ListEnd,
    /// A frame was longer than the limit and was skipped. The frames behind it follow.
    TooLong,
    /// The body is no list, or has its items twice. No other frame follows.
    NotAList,
}

/// Finds the frames in a body that arrives in pieces.
///
/// It owns no bytes. The caller keeps the bytes in a buffer, passes all of it to each call, and drops as many from its
/// front as [`reclaim`](Self::reclaim) says. The framer scans each byte once. It skips a frame over the limit without
/// storing it.
///
/// ```
/// use listwatch_core::framing::{Frame, Framer, Framing};
///
/// let mut framer = Framer::new(Framing::List, 1024);
/// let mut buffer = Vec::from(r#"{"kind":"PodList","items":[{"a":1},{"#);
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::Field { name: b"kind", value: br#""PodList""# }));
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::Item(br#"{"a":1}"#)));
/// assert_eq!(framer.next_frame(&buffer), None);
///
/// buffer.drain(..framer.reclaim());
/// buffer.extend_from_slice(br#""a":2}]}"#);
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::Item(br#"{"a":2}"#)));
/// assert_eq!(framer.next_frame(&buffer), Some(Frame::ListEnd));
/// assert!(framer.is_complete());
/// ```
#[derive(Clone, Debug)]
pub struct Framer {
    outline: Outline,
    scanner: Scanner,
    limit: usize,
    /// Where the unfinished frame begins. The bytes before it can be dropped.
    start: usize,
    /// How far the buffer has been scanned.
    scanned: usize,
    /// The unfinished frame is over the limit: its bytes are dropped as they come.
    skipping: bool,
    /// Where the name of a field ends, and where its value begins, from the frame's start.
    field: (usize, usize),
    /// Where the last guessed line began.
    #[cfg(feature = "json")]
    guess: usize,
    /// A line was guessed that was not one value.
    #[cfg(feature = "json")]
    has_misguessed: bool,
}

impl Framer {
    /// A framer at the beginning of a body, for frames of at most `limit` bytes.
    pub fn new(framing: Framing, limit: usize) -> Self {
        let layout = match framing {
            Framing::Values => Layout::Events,
            Framing::List => Layout::List(&[b"items"]),
            Framing::Table => Layout::List(&[b"items", b"rows"]),
        };
        Self {
            outline: Outline::new(layout),
            scanner: Scanner::NEW,
            limit,
            start: 0,
            scanned: 0,
            skipping: false,
            field: (0, 0),
            #[cfg(feature = "json")]
            guess: 0,
            #[cfg(feature = "json")]
            has_misguessed: false,
        }
    }

    /// The next frame in `buffer`, which holds every byte that has arrived and was not reclaimed. `None` if the framer
    /// needs more bytes.
    #[must_use]
    pub fn next_frame<'b>(&mut self, buffer: &'b [u8]) -> Option<Frame<'b>> {
        while self.scanned < buffer.len() {
            if let Some(ended) = self.step(buffer) {
                return Some(self.frame(buffer, ended));
            }
        }
        None
    }

    /// How many bytes at the front of the buffer are no longer needed. The caller drops them before the next call.
    #[must_use]
    pub fn reclaim(&mut self) -> usize {
        let count = core::mem::take(&mut self.start);
        self.scanned -= count;
        count
    }

    /// Whether the body is complete if it ends here. A value, and a list, needs all its brackets.
    pub fn is_complete(&self) -> bool {
        self.outline.is_in_gap() || self.outline.is_done()
    }

    /// The line that a value begins, as a guess: nearly always it is that value and nothing else. To look for the end of a
    /// line takes a tenth of the time that the brackets take. A caller that cannot decode it asks
    /// [`misguessed`](Self::misguessed). `None` if the brackets have to tell.
    #[cfg(feature = "json")]
    pub(crate) fn guess_line<'b>(&mut self, buffer: &'b [u8]) -> Option<&'b [u8]> {
        while self.outline.is_in_gap() && !self.has_misguessed && self.scanned < buffer.len() {
            self.step(buffer);
        }
        if !self.outline.is_in_first_line() || self.skipping || self.has_misguessed {
            return None;
        }
        let end = self.scanned + memchr(b'\n', &buffer[self.scanned..])?;
        if end - self.start > self.limit {
            return None;
        }
        self.outline.end_line();
        self.guess = core::mem::replace(&mut self.start, end + 1);
        self.scanned = end + 1;
        Some(&buffer[self.guess..end])
    }

    /// Whether the last guessed line is not one value and nothing else. Then its frames follow, and no line is guessed any
    /// more.
    #[cfg(feature = "json")]
    pub(crate) fn misguessed(&mut self, buffer: &[u8]) -> bool {
        let line = &buffer[self.guess..self.start];
        let rest = Scanner::default().end_of_value(line).map(|len| &line[len..]);
        self.has_misguessed = rest.is_none_or(|rest| !rest.iter().all(|byte| is_space(*byte)));
        if self.has_misguessed {
            (self.start, self.scanned) = (self.guess, self.guess);
        }
        self.has_misguessed
    }

    /// Reads on; returns what has ended. A frame over the limit is dropped as it comes.
    fn step(&mut self, buffer: &[u8]) -> Option<Ended> {
        let mut rest = &buffer[self.scanned..];
        let step = self.outline.step(&mut rest, &mut self.scanner);
        self.scanned = buffer.len() - rest.len();
        match step {
            Step::Between => (self.start, self.skipping) = (self.scanned, false),
            Step::Within => {}
            Step::Named => self.field.0 = self.scanned - 1 - self.start,
            Step::Valued => self.field.1 = self.scanned - self.start,
            Step::Ended(ended) => return Some(ended),
        }
        self.skipping |= self.scanned - self.start > self.limit;
        if self.skipping {
            self.start = self.scanned;
        }
        None
    }

    fn frame<'b>(&mut self, buffer: &'b [u8], ended: Ended) -> Frame<'b> {
        let end = if ended == Ended::Stray { self.scanned - 1 } else { self.scanned };
        let frame = &buffer[core::mem::replace(&mut self.start, self.scanned)..end];
        let is_too_long = core::mem::take(&mut self.skipping) || frame.len() > self.limit;
        match ended {
            Ended::List => Frame::ListEnd,
            Ended::NotAList => Frame::NotAList,
            _ if is_too_long => Frame::TooLong,
            Ended::Item { is_row: true } => Frame::Row(frame),
            Ended::Item { .. } => Frame::Item(frame),
            Ended::Field => Frame::Field { name: &frame[1..self.field.0], value: &frame[self.field.1..] },
            Ended::Value | Ended::Cut(_) | Ended::Stray | Ended::Metadata => Frame::Value(frame),
        }
    }
}

impl Values for Scanner {
    const READS_METADATA: bool = false;

    fn begin(&mut self, _: bool) {
        *self = Self::NEW;
    }

    fn read(&mut self, bytes: &mut &[u8], most: usize) -> bool {
        let end = self.end_of_value(&bytes[..most]);
        *bytes = &bytes[end.unwrap_or(most)..];
        end.is_some()
    }

    fn is_in_string(&self) -> bool {
        self.is_in_string()
    }
}

#[cfg(test)]
mod tests;
