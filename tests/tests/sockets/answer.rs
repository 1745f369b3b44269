//! An answer as it is written: there are many ways to say the same.

use crate::sockets::connection::Connection;
use crate::sockets::server::Asked;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::transport::ResponseHead;
use listwatch_tests::sim::Dice;
use std::io::Write;

/// An answer that is not over.
pub(crate) struct Answer {
    asked: Asked,
    /// Once the head is written.
    body: Option<Body>,
    dice: Dice,
}

/// What shows where a body ends.
enum Body {
    Chunks,
    /// Chunks of a compressed body.
    Gzip(GzEncoder<Vec<u8>>),
    /// The end of the connection, which only TLS can tell from one that broke.
    Rest,
}

/// How an answer breaks off.
#[derive(Clone, Copy)]
enum Break {
    Reset,
    /// The connection is closed, without a word.
    Closed,
    /// Half of something is said before.
    Half,
    /// TLS ends in good order, but the answer does not.
    EndOfTls,
    /// The body ends in good order, but not what is compressed in it.
    EndOfBody,
}

const REDIRECTIONS: [u16; 5] = [301, 302, 303, 307, 308];

impl Answer {
    /// Written in one way or another, by `dice`.
    pub(crate) fn new(asked: Asked, dice: Dice) -> Self {
        Self { asked, body: None, dice }
    }

    /// Of what, if nothing was said yet.
    pub(crate) fn unsaid(&self) -> Option<&str> {
        self.body.is_none().then_some(&self.asked.head)
    }

    /// Writes the head.
    pub(crate) fn begin(&mut self, head: &ResponseHead) {
        let body = self.draw_body();
        let mut text = format!("HTTP/1.1 {} As It Is\r\nAudit-Id: 7\r\nDate: {}\r\n", head.status, date(0));
        if let Some(wait) = head.retry_after {
            let seconds = wait.as_secs();
            let value = if self.dice.chance(50) { seconds.to_string() } else { date(seconds) };
            text += &format!("Retry-After: {value}\r\n");
        }
        if let Some(name) = &head.content_type {
            let plain = self.dice.chance(50);
            let value = if plain { name.to_string() } else { format!("{}; charset=utf-8", name.to_uppercase()) };
            text += &format!("Content-Type: {value}\r\n");
        }
        text += match body {
            Body::Chunks => "Transfer-Encoding: chunked\r\n\r\n",
            Body::Gzip(_) => "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
            Body::Rest => "Connection: close\r\n\r\n",
        };
        let (one, other) = text.split_at(self.dice.below(text.len() as u64) as usize);
        self.send(one);
        self.send(other);
        self.body = Some(body);
    }

    /// Writes bytes of the body, so that they can be read at once.
    pub(crate) fn go_on(&mut self, bytes: &[u8]) {
        let sent = match self.body.as_mut().expect("a head comes first") {
            Body::Chunks => chunk(bytes),
            Body::Gzip(encoder) => {
                encoder.write_all(bytes).and_then(|()| encoder.flush()).unwrap();
                chunk(&std::mem::take(encoder.get_mut()))
            }
            Body::Rest => bytes.to_vec(),
        };
        self.send(sent);
    }

    /// Ends in good order. The request, if the next one may come over its connection.
    pub(crate) fn end(mut self) -> Option<Asked> {
        match self.body.take().expect("a head comes first") {
            Body::Rest => {
                self.asked.connection.end();
                return None;
            }
            Body::Chunks => self.send("0\r\n\r\n"),
            Body::Gzip(encoder) => self.send([&chunk(&encoder.finish().unwrap()), "0\r\n\r\n".as_bytes()].concat()),
        }
        // A server closes what it likes.
        (!self.dice.chance(10)).then_some(self.asked)
    }

    /// Breaks off: the client has to notice. The connection, if it is for the client to close it.
    pub(crate) fn break_off(mut self) -> Option<Connection> {
        match self.draw_break() {
            Break::Closed => {}
            Break::Reset => self.asked.connection.reset(),
            Break::EndOfTls => self.asked.connection.end(),
            Break::Half => self.send(if self.body.is_none() { "HTTP/1.1 200 OK\r\nConte" } else { "1f\r\n" }),
            Break::EndOfBody => {
                self.send("0\r\n\r\n");
                return Some(self.asked.connection);
            }
        }
        None
    }

    /// Points somewhere else. The connection is for the client to close.
    pub(crate) fn redirect(mut self) -> Connection {
        let status = self.dice.pick(&REDIRECTIONS);
        self.send(format!(
            "HTTP/1.1 {status} Elsewhere\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 9\r\n\r\nelsewhere"
        ));
        self.asked.connection
    }

    /// The connection of a request that was given up.
    pub(crate) fn into_connection(self) -> Connection {
        self.asked.connection
    }

    fn draw_body(&mut self) -> Body {
        let accepts_gzip = self.asked.header("accept-encoding") == Some("gzip");
        match self.dice.below(10) {
            0..5 if accepts_gzip => Body::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
            8.. if self.asked.connection.is_tls() => Body::Rest,
            _ => Body::Chunks,
        }
    }

    fn draw_break(&mut self) -> Break {
        let possible = [Break::Reset, Break::Closed, Break::Half, Break::EndOfTls, Break::EndOfBody];
        let is_rest = matches!(self.body, Some(Body::Rest));
        let is_possible = |how: &Break| match how {
            Break::Half => !is_rest,
            Break::EndOfTls => self.asked.connection.is_tls() && !is_rest,
            Break::EndOfBody => matches!(self.body, Some(Body::Gzip(_))),
            _ => true,
        };
        let possible: Vec<Break> = possible.into_iter().filter(is_possible).collect();
        self.dice.pick(&possible)
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.asked.connection.send(bytes.as_ref());
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// So many seconds after the time of every answer, as HTTP has dates.
fn date(seconds: u64) -> String {
    assert!(seconds < 60, "a wait of {seconds} s");
    format!("Sat, 21 Nov 2026 10:42:{seconds:02} GMT")
}
