//! The last lines of a tape in memory, within a limit of bytes.
//!
//! Lines stand in segments. If there is too much, the oldest segments are compressed, so that an event takes what differs from
//! the events before it. Old segments pass into the [state](Aged) with which a dump begins; earlier, if there is too much
//! although all are compressed.

use super::aged::Aged;
use super::mark::{Kept, Mark};
use crate::capture::format::{Line, Payload, Record};
use crate::packed::LEVEL;
use core::time::Duration;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// The lines of a tape with a window.
pub(super) struct Ring {
    /// In milliseconds.
    window: u64,
    /// How many bytes it may hold.
    most: usize,
    /// How many bytes of lines a segment has.
    segment: usize,
    /// The newest lines, as [`Kept`] writes them.
    hot: Vec<u8>,
    /// Whether none of them has a time.
    is_new: bool,
    /// The time of the first one of them, and of the last line.
    first: u64,
    last: u64,
    segments: VecDeque<Arc<Segment>>,
    /// The bytes of the segments.
    sealed: usize,
    aged: Aged,
    /// The number of lines, which a dump counts anew.
    lines: u64,
}

/// Lines behind one another.
pub(super) struct Segment {
    lines: Lines,
    /// The times of its first and its last line.
    pub(super) first: u64,
    last: u64,
}

enum Lines {
    Plain(Box<[u8]>),
    Packed { frame: Vec<u8>, len: usize },
}

/// What a dump is written of: a state, and the lines behind it.
pub(super) struct Cut {
    pub(super) at: u64,
    pub(super) until: u64,
    pub(super) aged: Aged,
    pub(super) segments: Vec<Arc<Segment>>,
}

/// The most bytes of lines of a segment: more have recurring objects farther apart than a frame looks back.
const LONGEST: usize = 512 * 1024;
const SHORTEST: usize = 16 * 1024;

/// How many parts of the window pass into the state one by one.
const PARTS: u64 = 16;

impl Ring {
    pub(super) fn new(window: Duration, most: usize) -> Self {
        Self {
            window: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
            most,
            segment: (most / 16).clamp(SHORTEST, LONGEST),
            hot: Vec::new(),
            is_new: true,
            first: 0,
            last: 0,
            segments: VecDeque::new(),
            sealed: 0,
            aged: Aged::new(most / 4),
            lines: 0,
        }
    }

    pub(super) fn write(&mut self, line: Line<'_>) -> io::Result<()> {
        let t = line.time().unwrap_or(self.last);
        if core::mem::take(&mut self.is_new) {
            self.first = t;
        }
        self.last = t;
        match line {
            Line::Record(Record { t, id, payload: Payload::Data(data) }) => {
                Kept::Data { t, id, bytes: &data.bytes() }.write(&mut self.hot);
            }
            line => line.write(&mut self.lines, &mut self.hot)?,
        }
        self.pass(t)
    }

    /// Adds what is for the memory alone.
    pub(super) fn mark(&mut self, mark: Mark<'_>) -> io::Result<()> {
        mark.write(&mut self.hot)
    }

    /// How many bytes it holds.
    pub(super) fn held(&self) -> usize {
        self.hot.capacity() + self.sealed + self.aged.held()
    }

    /// What it has at this time, for a dump. `next_request` is the number of the next request.
    pub(super) fn cut(&mut self, t: u64) -> io::Result<Cut> {
        self.last = self.last.max(t);
        self.seal();
        self.age(self.last)?;
        let at = self.segments.front().map_or(self.last, |first| first.first);
        let segments = self.segments.iter().map(Arc::clone).collect();
        Ok(Cut { at, until: self.last, aged: self.aged.clone(), segments })
    }

    /// Closes a segment that is full, and lets what is old pass into the state.
    fn pass(&mut self, t: u64) -> io::Result<()> {
        let part = self.window / PARTS;
        let is_full = self.hot.len() >= self.segment || self.hot.capacity() > 2 * self.segment;
        if is_full || t.saturating_sub(self.first) > part {
            self.seal();
            self.age(t)?;
        }
        Ok(())
    }

    /// Whether it holds too much, once the newest lines fill their room.
    fn is_over(&self) -> bool {
        self.held() + (2 * self.segment).saturating_sub(self.hot.capacity()) > self.most
    }

    fn seal(&mut self) {
        if self.hot.is_empty() {
            return;
        }
        // The next segment is about as long, unless this one has a large answer.
        let room = self.hot.len() + self.hot.len() / 8;
        let next = if room > 2 * self.segment { Vec::new() } else { Vec::with_capacity(room) };
        let lines = core::mem::replace(&mut self.hot, next).into_boxed_slice();
        let segment = Segment { lines: Lines::Plain(lines), first: self.first, last: self.last };
        self.sealed += segment.held();
        self.segments.push_back(Arc::new(segment));
        (self.is_new, self.first) = (true, self.last);
    }

    /// Compresses the oldest segment that is not. Returns whether there was one.
    fn pack(&mut self) -> io::Result<bool> {
        let packed = self.segments.partition_point(|segment| matches!(segment.lines, Lines::Packed { .. }));
        let Some(segment) = self.segments.get_mut(packed) else { return Ok(false) };
        let Lines::Plain(lines) = &segment.lines else { return Ok(false) };
        let (len, mut frame) = (lines.len(), zstd::bulk::compress(lines, LEVEL)?);
        frame.shrink_to_fit();
        self.sealed -= segment.held();
        *segment = Arc::new(Segment { lines: Lines::Packed { frame, len }, first: segment.first, last: segment.last });
        self.sealed += segment.held();
        Ok(true)
    }

    /// Lets segments pass into the state. None ends within a list whose rest is there.
    fn age(&mut self, t: u64) -> io::Result<()> {
        loop {
            let is_over = self.is_over();
            if is_over && self.pack()? {
                continue;
            }
            if is_over && self.segments.is_empty() {
                self.aged.shed(self.most.saturating_sub(2 * self.segment));
                return Ok(());
            }
            if !is_over && !self.front_is_old(t) && !self.aged.is_listing() {
                return Ok(());
            }
            let Some(oldest) = self.segments.pop_front() else { return Ok(()) };
            self.sealed -= oldest.held();
            let aged = &mut self.aged;
            oldest.each(|kept| aged.take(kept))?;
        }
    }

    fn front_is_old(&self, t: u64) -> bool {
        self.segments.front().is_some_and(|oldest| oldest.last.saturating_add(self.window) < t)
    }
}

impl Segment {
    pub(super) fn each(&self, mut take: impl FnMut(Kept<'_>)) -> io::Result<()> {
        let lines = match &self.lines {
            Lines::Plain(lines) => Cow::Borrowed(&**lines),
            Lines::Packed { frame, len } => zstd::bulk::decompress(frame, *len)?.into(),
        };
        let mut rest = &*lines;
        while let Some(kept) = Kept::take_from(&mut rest) {
            take(kept);
        }
        Ok(())
    }

    fn held(&self) -> usize {
        let lines = match &self.lines {
            Lines::Plain(lines) => lines.len(),
            Lines::Packed { frame, .. } => frame.len(),
        };
        size_of::<Self>() + lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Data;
    use crate::capture::format::{End, RequestRecord, ResponseRecord};
    use crate::recording::mark::Begun;
    use listwatch_core::request::Query;
    use std::collections::BTreeMap;

    /// A ring that is told of one list-and-watch.
    struct Told {
        ring: Ring,
        t: u64,
        id: u64,
        seed: u64,
    }

    impl Told {
        fn within(most: usize) -> Self {
            Self { ring: Ring::new(Duration::from_secs(60), most), t: 0, id: 0, seed: 7 }
        }

        fn record(&mut self, payload: Payload<'_>) {
            self.ring.write(Line::Record(Record { t: self.t, id: self.id, payload })).unwrap();
            let (held, most) = (self.ring.held(), self.ring.most);
            assert!(held <= most, "{held} of {most} bytes at {}", self.t);
        }

        fn open(&mut self, query: Query, path: &str) {
            self.id += 1;
            self.ring.mark(Mark::Begun(Begun { id: self.id, transport: 1, query, name: "pods" })).unwrap();
            self.record(Payload::Request(RequestRecord::new("GET", path.to_owned())));
            self.record(Payload::Response(ResponseRecord { status: 200, headers: BTreeMap::new() }));
        }

        fn data(&mut self, text: &str) {
            self.record(Payload::Data(Data::new(text.as_bytes(), false)));
        }

        /// Text that no compressor makes smaller than a half.
        fn noise(&mut self, len: usize) -> String {
            let mut digit = || {
                self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from_digit((self.seed >> 33) as u32 % 16, 16).unwrap()
            };
            (0..len).map(|_| digit()).collect()
        }

        fn object(&mut self, name: usize, version: usize, len: usize) -> String {
            let noise = self.noise(len);
            format!(r#"{{"kind":"Pod","metadata":{{"name":"p{name}","resourceVersion":"{version}"}},"x":"{noise}"}}"#)
        }

        /// A list of so many objects, of which each is a part of the body.
        fn list(&mut self, count: usize, version: usize, len: usize) {
            self.open(Query::List, "/api/v1/pods");
            self.data(&format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"{version}"}},"items":["#));
            for name in 0..count {
                let object = self.object(name, version, len);
                self.data(&[if name == 0 { "" } else { "," }, &object].concat());
            }
            self.data("]}");
            self.record(Payload::End(End::new("eof")));
        }

        fn modify(&mut self, name: usize, version: usize, len: usize) {
            let object = self.object(name, version, len);
            self.data(&format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n"));
        }

        /// The names and versions of the state with which a dump begins; `None` if it is not known.
        fn state(&mut self) -> Option<Vec<(String, u64)>> {
            let aged = self.ring.cut(self.t).unwrap().aged;
            let stream = aged.streams.get(&1).filter(|stream| stream.version.is_some())?;
            let mut found = Vec::new();
            let read = stream.each(|text| {
                let object: serde_json::Value = serde_json::from_str(text).unwrap();
                let metadata = &object["metadata"];
                let version = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
                found.push((metadata["name"].as_str().unwrap().to_owned(), version));
                Ok(())
            });
            read.unwrap();
            found.sort();
            Some(found)
        }
    }

    #[test]
    fn no_more_than_the_bytes_is_held_under_a_flood_and_the_newest_states_are_kept() {
        for most in [256 << 10, 1 << 20] {
            let mut told = Told::within(most);
            told.list(20, 1, 2_000);
            told.open(Query::Watch, "/api/v1/pods?watch=1&resourceVersion=1");
            for version in 2..2_002 {
                told.t += 1;
                told.modify(version % 20, version, 2_000);
            }
            let state = told.state().unwrap();
            assert_eq!(state.len(), 20);
            assert!(state.iter().all(|(_, version)| *version > 1), "{state:?}");
            told.modify(1, 2_002, most / 3);
            told.modify(2, 2_003, 2_000);
        }
    }

    #[test]
    fn events_older_than_the_window_are_in_the_state_and_newer_ones_are_not() {
        let mut told = Told::within(16 << 20);
        told.list(3, 1, 100);
        told.open(Query::Watch, "/api/v1/pods?watch=1&resourceVersion=1");
        for version in 2..200 {
            told.t += 1_000;
            told.modify(version % 3, version, 100);
        }
        let state = told.state().unwrap();
        // A part of the window may be older than it.
        let newest = state.iter().map(|(_, version)| *version).max().unwrap();
        assert!((130..=140).contains(&newest), "{state:?}");
    }

    #[test]
    fn a_list_that_does_not_fit_is_forgotten_and_a_later_one_is_known_again() {
        let mut told = Told::within(512 << 10);
        told.list(10, 1, 2_000);
        told.list(2_000, 2, 2_000);
        told.t += 100_000;
        told.open(Query::Watch, "/api/v1/pods?watch=1&resourceVersion=2");
        told.modify(1, 3, 2_000);
        told.t += 100_000;
        told.list(0, 3, 0);
        assert_eq!(told.state(), None);
        told.list(5, 4, 2_000);
        told.t += 100_000;
        told.open(Query::Watch, "/api/v1/pods?watch=1&resourceVersion=4");
        told.t += 100_000;
        told.modify(9, 9, 100);
        let names: Vec<_> = (0..5).map(|name| (format!("p{name}"), 4)).collect();
        assert_eq!(told.state(), Some(names));
    }
}
