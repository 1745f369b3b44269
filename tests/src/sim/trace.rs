//! The trace of a run: always as one number, and on request as a capture.

use listwatch_core::Instant;
use listwatch_core::api::ApiRequest;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{ResponseHead, TransportError};
use std::fmt::Write;

/// A hash over everything that happened, in its order, and a capture of what went over the wire.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    capture: Option<String>,
    /// How many requests the earlier lives of the client made: each begins with the first id again.
    before: u64,
    last: u64,
}

impl Trace {
    /// Nothing yet; a capture is written if `captured`.
    #[must_use]
    pub fn new(captured: bool) -> Self {
        let start = "{\"capture\":1,\"started\":\"2026-01-01T00:00:00Z\"}\n".to_owned();
        Self { hash: 0xcbf2_9ce4_8422_2325, capture: captured.then_some(start), before: 0, last: 0 }
    }

    /// The hash of what happened so far.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The capture, in the format that playback reads.
    #[must_use]
    pub fn capture(&self) -> Option<&str> {
        self.capture.as_deref()
    }

    /// The client was killed, and begins again.
    pub fn begin_anew(&mut self) {
        self.before += core::mem::take(&mut self.last);
    }

    /// Something that does not go over the wire.
    pub fn note(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.mix(*number));
    }

    /// A request was sent.
    pub fn request(&mut self, now: Instant, id: RequestId, request: &Request) {
        self.note(&[now.as_nanos(), id.0, 1]);
        let target = request.to_string();
        self.mix_bytes(target.as_bytes());
        self.record(now, id, |out| {
            write!(
                out,
                r#""request":{{"method":"GET","path":"{target}","headers":{{"Accept":"{}"}}}}"#,
                request.accept()
            )
        });
    }

    /// A client asked something.
    pub fn call(&mut self, now: Instant, id: RequestId, request: &ApiRequest) {
        self.note(&[now.as_nanos(), id.0, 6, request.method as u64]);
        let target = request.to_string();
        self.mix_bytes(target.as_bytes());
        self.mix_bytes(&request.body);
        self.record(now, id, |out| {
            write!(out, r#""request":{{"method":"{}","path":"{target}""#, request.method.name())?;
            if !request.body.is_empty() {
                out.write_str(r#","body":""#)?;
                write_text(out, &request.body)?;
                out.write_char('"')?;
            }
            out.write_char('}')
        });
    }

    /// A client does not wait for an answer any more.
    pub fn given_up(&mut self, now: Instant, id: RequestId) {
        self.note(&[now.as_nanos(), id.0, 7]);
        self.record(now, id, |out| out.write_str(r#""end":"cut","by":"client""#));
    }

    /// An answer began.
    pub fn head(&mut self, now: Instant, id: RequestId, head: &ResponseHead) {
        let wait = head.retry_after.map_or(u64::MAX, |wait| wait.as_nanos() as u64);
        self.note(&[now.as_nanos(), id.0, 2, head.status.into(), wait]);
        self.mix_bytes(head.content_type.as_deref().unwrap_or_default().as_bytes());
        self.record(now, id, |out| {
            let media_type = head.content_type.as_deref().unwrap_or_default();
            write!(out, r#""response":{{"status":{},"headers":{{"content-type":"{media_type}""#, head.status)?;
            if let Some(wait) = head.retry_after {
                write!(out, r#","retry-after":"{}""#, wait.as_secs())?;
            }
            out.write_str("}}")
        });
    }

    /// Bytes came; they are ASCII, as all that the simulated server writes.
    pub fn data(&mut self, now: Instant, id: RequestId, bytes: &[u8]) {
        self.note(&[now.as_nanos(), id.0, 3]);
        self.mix_bytes(bytes);
        self.record(now, id, |out| {
            out.write_str(r#""data":""#)?;
            write_text(out, bytes)?;
            out.write_char('"')
        });
    }

    /// An answer ended. What else an error says than its kind is for people, and different for each transport.
    pub fn end(&mut self, now: Instant, id: RequestId, error: Option<&TransportError>) {
        self.note(&[now.as_nanos(), id.0, 4, error.map_or(0, |error| 1 + error.kind as u64)]);
        let end = error.map_or_else(|| "eof".to_owned(), |error| error.kind.to_string());
        self.record(now, id, |out| write!(out, r#""end":"{end}""#));
    }

    fn record(&mut self, now: Instant, id: RequestId, what: impl FnOnce(&mut String) -> std::fmt::Result) {
        let Some(out) = &mut self.capture else { return };
        self.last = self.last.max(id.0);
        let (t, id) = (now.as_nanos() / 1_000_000, self.before + id.0);
        let written =
            write!(out, r#"{{"t":{t},"id":{id},"#).and_then(|()| what(out)).and_then(|()| out.write_str("}\n"));
        written.unwrap_or_default();
    }

    fn mix(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn mix_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.mix((*byte).into()));
    }
}

/// Writes ASCII into a string of JSON.
fn write_text(out: &mut String, bytes: &[u8]) -> std::fmt::Result {
    for byte in bytes {
        match byte {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            _ => out.write_char((*byte).into())?,
        }
    }
    Ok(())
}
