//! The head of an answer, line by line.

use super::error::ProtocolError;
use super::lines::{Line, Lines, Short, trimmed};
use core::fmt;
use core::time::Duration;
use listwatch_core::time::retry_after;
use listwatch_core::transport::ResponseHead;

/// The status of an answer, and the headers that the machines use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) media_type: Option<Short<48>>,
}

impl Head {
    /// The status code: 200 to 999, without 1xx.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The delay that the server requests (`Retry-After`). A date counts from the answer's own `Date`.
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The media type, in lower case and without parameters; 48 bytes of it at most.
    pub fn content_type(&self) -> Option<&str> {
        self.media_type.as_ref().map(Short::as_str)
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("status", &self.status)
            .field("retry_after", &self.retry_after)
            .field("content_type", &self.content_type())
            .finish()
    }
}

/// Without core's feature `alloc`, a media type that the machines do not tell apart is left out.
impl From<Head> for ResponseHead {
    fn from(head: Head) -> Self {
        let header = |name: &str| head.content_type().filter(|_| name == "content-type");
        Self { retry_after: head.retry_after, ..Self::from_headers(head.status, header) }
    }
}

/// Reads the head of an answer, and passes over interim answers (1xx) before it.
#[derive(Debug)]
pub(super) struct HeadReader {
    lines: Lines,
    has_begun: bool,
    /// What the lines said; `None` before the status line.
    fields: Option<Fields>,
}

impl HeadReader {
    pub(super) const fn new() -> Self {
        Self { lines: Lines::new(), has_begun: false, fields: None }
    }

    /// Whether a byte of the answer has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Reads bytes up to the end of the head. Returns how many it took, and what the head says once it is complete.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Fields>), ProtocolError> {
        self.has_begun |= !bytes.is_empty();
        let mut at = 0;
        loop {
            let read = self.lines.handle_bytes(&bytes[at..]).ok_or(ProtocolError::LongHead)?;
            // Where a status line is due, other bytes are another protocol.
            let (taken, is_line) =
                read.map_err(|e| if self.fields.is_some() { e } else { ProtocolError::StatusLine })?;
            at += taken;
            if !is_line {
                return Ok((at, None));
            }
            if let Some(fields) = self.handle_line()? {
                return Ok((at, Some(fields)));
            }
            self.lines.next_line();
        }
    }

    /// Reads the line that is complete. Returns what the head says behind its last line.
    fn handle_line(&mut self) -> Result<Option<Fields>, ProtocolError> {
        let line = self.lines.line();
        let Some(fields) = &mut self.fields else {
            self.fields = Some(Fields::of_status_line(line.text)?);
            return Ok(None);
        };
        if !line.is_empty() {
            return fields.handle_header(&line).map(|()| None);
        }
        match fields.status {
            101 => Err(ProtocolError::Upgrade),
            100..200 => {
                self.fields = None;
                Ok(None)
            }
            _ => Ok(self.fields.take()),
        }
    }
}

/// What the lines of a head say.
#[derive(Debug, Default)]
pub(super) struct Fields {
    status: u16,
    is_http_1_0: bool,
    pub(super) length: Option<u64>,
    pub(super) is_chunked: bool,
    closes: bool,
    keeps_alive: bool,
    media_type: Option<Short<48>>,
    retry_after: Option<Short<40>>,
    date: Option<Short<40>>,
}

impl Fields {
    pub(super) fn of_status_line(line: &[u8]) -> Result<Self, ProtocolError> {
        let (is_http_1_0, rest) = match line.split_at_checked(9) {
            Some((b"HTTP/1.0 ", rest)) => (true, rest),
            Some((b"HTTP/1.1 ", rest)) => (false, rest),
            _ => return Err(ProtocolError::StatusLine),
        };
        Ok(Self { status: status_of(rest).ok_or(ProtocolError::StatusLine)?, is_http_1_0, ..Self::default() })
    }

    pub(super) fn handle_header(&mut self, line: &Line<'_>) -> Result<(), ProtocolError> {
        let (name, value) = line.header()?;
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        if is(b"content-type") {
            self.media_type = Some(media_type(value));
        } else if is(b"retry-after") {
            self.retry_after = Some(Short::of(value));
        } else if is(b"date") {
            self.date = Some(Short::of(value));
        } else if is(b"content-length") {
            self.handle_length(line.whole(value)?)?;
        } else if is(b"transfer-encoding") {
            self.handle_transfer_coding(line.whole(value)?)?;
        } else if is(b"content-encoding") {
            handle_content_coding(line.whole(value)?)?;
        } else if is(b"connection") {
            line.whole(value)?.split(|byte| *byte == b',').for_each(|option| self.handle_option(trimmed(option)));
        }
        Ok(())
    }

    pub(super) fn head(&self) -> Head {
        let date = self.date.as_ref().map(Short::as_str);
        let wait = self.retry_after.as_ref().and_then(|value| retry_after(value.as_str(), date));
        Head { status: self.status, retry_after: wait, media_type: self.media_type }
    }

    /// Whether the server keeps the connection open. A length where no body is allowed makes its end doubtful.
    pub(super) fn is_persistent(&self) -> bool {
        let is_kept = !self.closes && (!self.is_http_1_0 || self.keeps_alive);
        let is_clear = !(self.is_http_1_0 && self.is_chunked);
        let is_bare = !self.is_chunked && self.length.unwrap_or(0) == 0;
        is_kept && is_clear && (is_bare || !self.has_no_body())
    }

    pub(super) fn has_no_body(&self) -> bool {
        matches!(self.status, 204 | 304)
    }

    fn handle_length(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        self.must_be_the_first_length()?;
        self.length = Some(decimal(value).ok_or(ProtocolError::Length)?);
        Ok(())
    }

    fn handle_transfer_coding(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        self.must_be_the_first_length()?;
        self.is_chunked = value.eq_ignore_ascii_case(b"chunked");
        if self.is_chunked { Ok(()) } else { Err(ProtocolError::TransferCoding) }
    }

    fn must_be_the_first_length(&self) -> Result<(), ProtocolError> {
        if self.is_chunked || self.length.is_some() { Err(ProtocolError::TwoLengths) } else { Ok(()) }
    }

    fn handle_option(&mut self, option: &[u8]) {
        self.closes |= option.eq_ignore_ascii_case(b"close");
        self.keeps_alive |= option.eq_ignore_ascii_case(b"keep-alive");
    }
}

fn handle_content_coding(value: &[u8]) -> Result<(), ProtocolError> {
    let is_plain = value.is_empty() || value.eq_ignore_ascii_case(b"identity");
    if is_plain { Ok(()) } else { Err(ProtocolError::ContentCoding) }
}

/// The code of three digits, behind which a reason may stand.
fn status_of(text: &[u8]) -> Option<u16> {
    match text {
        [first @ b'1'..=b'9', second, third] | [first @ b'1'..=b'9', second, third, b' ', ..] => {
            let digit = |byte: &u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
            Some(digit(first)? * 100 + digit(second)? * 10 + digit(third)?)
        }
        _ => None,
    }
}

/// The number of 64 bits; nothing but digits.
fn decimal(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let append = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(byte)?);
    if text.is_empty() { None } else { text.iter().try_fold(0, append) }
}

/// In lower case, without parameters.
fn media_type(value: &[u8]) -> Short<48> {
    let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
    let mut media_type = Short::of(trimmed(&value[..end]));
    media_type.make_ascii_lowercase();
    media_type
}
