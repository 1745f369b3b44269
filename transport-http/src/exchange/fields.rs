use super::body::Body;
use super::chunks::Chunks;
use super::error::ProtocolError;
use super::head::Head;
use super::lines::{Line, trimmed};
use super::short::Short;
use listwatch_core::time::retry_after;

/// What the lines of a head say.
#[derive(Debug)]
pub(super) struct Fields {
    status: u16,
    is_http_1_0: bool,
    length: Option<u64>,
    is_chunked: bool,
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
        Ok(Self {
            status: status_of(rest).ok_or(ProtocolError::StatusLine)?,
            is_http_1_0,
            length: None,
            is_chunked: false,
            closes: false,
            keeps_alive: false,
            media_type: None,
            retry_after: None,
            date: None,
        })
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

    /// How the body ends (RFC 9112, section 6.3).
    pub(super) fn body(&self) -> Body {
        match self.length {
            _ if self.has_no_body() => Body::Counted(0),
            _ if self.is_chunked => Body::Chunked(Chunks::new()),
            Some(length) => Body::Counted(length),
            None => Body::UntilClose,
        }
    }

    /// Whether the server keeps the connection open. A length where no body is allowed makes its end doubtful.
    pub(super) fn is_persistent(&self) -> bool {
        let is_kept = !self.closes && (!self.is_http_1_0 || self.keeps_alive);
        let is_clear = !(self.is_http_1_0 && self.is_chunked);
        let is_bare = !self.is_chunked && self.length.unwrap_or(0) == 0;
        is_kept && is_clear && (is_bare || !self.has_no_body())
    }

    fn has_no_body(&self) -> bool {
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
