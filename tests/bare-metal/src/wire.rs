//! A server behind a connection: what a tape has as the bytes of HTTP/1.1.

use crate::large::{LARGE, Repeated};
use crate::tape::{Answer, Query, Source, Tape};
use crate::transport::Ends;
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use listwatch_transport_http::exchange::{Connection, Endpoint, HttpSource};

/// The bytes of a request, or of the head of an answer, that are in memory at once.
pub const PIECE: usize = 128;

/// Lists and watches over a connection to the tape's server.
pub type Client = HttpSource<'static, Wire, PIECE>;

/// A connection to a server that answers as a tape says. A request without an answer ends it.
#[derive(Debug)]
pub struct Wire {
    tape: Tape,
    /// The object that the first watch behind the tape brings.
    large: Option<Repeated>,
    open: Option<Open>,
    is_over: bool,
    /// How much of these the request has so far: what makes it a watch, and its end.
    watch: Progress,
    end: Progress,
}

/// The answer that is read.
#[derive(Debug)]
struct Open {
    answer: Answer,
    large: Option<Repeated>,
}

/// How many bytes of a text the last bytes have been; all of them from then on.
#[derive(Debug)]
struct Progress(&'static [u8], usize);

const WATCH: Progress = Progress(b"watch=1", 0);
const END: Progress = Progress(b"\r\n\r\n", 0);

/// A client of this tape's server. Behind the tape comes an object that is larger than the memory of a device.
#[must_use]
pub fn client(tape: Tape) -> Client {
    let wire = Wire { tape, large: Some(LARGE), open: None, is_over: false, watch: WATCH, end: END };
    HttpSource::new(Endpoint::new("10.0.0.1:6443").with_token("eyJhbGciOi"), wire)
}

impl Wire {
    fn answer(&mut self, query: Query) -> Option<Open> {
        let played = self.tape.next(query).map(|answer| Open { answer, large: None });
        played.or_else(|| {
            let large = self.large.take_if(|_| query == Query::Watch);
            large.map(|large| Open { answer: Answer { status: 200, ended: true, body: HEAD }, large: Some(large) })
        })
    }
}

/// The head of an answer whose body ends with the connection.
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

impl Progress {
    fn see(&mut self, byte: u8) {
        let Self(text, at) = self;
        *at = match text.get(*at) {
            None => *at,
            Some(next) if *next == byte => *at + 1,
            Some(_) => (text.first() == Some(&byte)).into(),
        };
    }

    fn is_whole(&self) -> bool {
        self.1 == self.0.len()
    }
}

impl Connection for Wire {
    fn connect(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }

    fn close(&mut self) {
        (self.open, self.watch, self.end) = (None, WATCH, END);
    }
}

impl ErrorType for Wire {
    type Error = ErrorKind;
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        for byte in buf {
            self.watch.see(*byte);
            self.end.see(*byte);
        }
        if self.end.is_whole() {
            self.open = self.answer(if self.watch.is_whole() { Query::Watch } else { Query::List });
            self.is_over = self.open.is_none();
            (self.watch, self.end) = (WATCH, END);
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let Some(Open { answer, large }) = &mut self.open else { return Err(ErrorKind::TimedOut) };
        if answer.status == 0 {
            return Err(ErrorKind::ConnectionRefused);
        }
        match (Source::read(&mut answer.body, buf), large) {
            (0, Some(large)) => Ok(large.read(buf)),
            (0, None) if !answer.ended => Err(ErrorKind::ConnectionReset),
            (len, _) => Ok(len),
        }
    }
}

impl Ends for Client {
    fn is_over(&self) -> bool {
        self.connection().is_over
    }
}
