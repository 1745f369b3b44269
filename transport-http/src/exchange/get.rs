//! A GET request, as text that any buffer can carry in pieces.

use super::error::{ProtocolError, RequestPart};
use core::fmt::{self, Write};

/// The server of the requests, and what each of them says of the program.
///
/// Its `Debug` hides the token.
///
/// ```
/// use listwatch_transport_http::exchange::Endpoint;
///
/// let endpoint = Endpoint::new("10.0.0.1:6443").with_token("abc").with_user_agent("thermostat/1.2");
/// assert!(!format!("{endpoint:?}").contains("abc"));
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct Endpoint<'a> {
    host: &'a str,
    user_agent: &'a str,
    token: Option<&'a str>,
}

impl<'a> Endpoint<'a> {
    /// A server by name or address, with its port if that is not the scheme's own.
    pub const fn new(host: &'a str) -> Self {
        Self { host, user_agent: concat!("listwatch/", env!("CARGO_PKG_VERSION")), token: None }
    }

    /// The same with a bearer token, such as that of a service account. White space around it is not sent.
    ///
    /// Use a connection with TLS: the token is part of each request.
    pub const fn with_token(mut self, token: &'a str) -> Self {
        self.token = Some(token.trim_ascii());
        self
    }

    /// The same with the program's own name for `User-Agent`, instead of `listwatch/` with a version.
    pub const fn with_user_agent(mut self, user_agent: &'a str) -> Self {
        self.user_agent = user_agent;
        self
    }

    /// A request for `target`, which is path and query, in one of the media types of `accept`.
    ///
    /// A `listwatch_core::request::Request` is a target, and has the media types. Bytes that a URL must not have are
    /// written as `%XX`; a `%` stays as it is.
    pub const fn get<T: fmt::Display>(&self, target: T, accept: &'a str) -> Get<'a, T> {
        Get { target, accept, endpoint: *self, closes: false }
    }
}

listwatch_core::summary!("Endpoint" for Endpoint<'_>, |it| { host: it.host, user_agent: it.user_agent });

/// A GET request, which any buffer can carry in pieces. Made by [`Endpoint::get`].
///
/// ```
/// use listwatch_transport_http::exchange::Endpoint;
///
/// let get = Endpoint::new("10.0.0.1").get("/api/v1/pods?labelSelector=a b", "application/json");
/// let mut buffer = [0; 256];
/// let len = get.try_write(0, &mut buffer)?;
/// let text = str::from_utf8(&buffer[..len]).expect("ASCII");
/// assert!(text.starts_with("GET /api/v1/pods?labelSelector=a%20b HTTP/1.1\r\nHost: 10.0.0.1\r\n"));
/// # Ok::<(), listwatch_transport_http::exchange::ProtocolError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Get<'a, T> {
    target: T,
    accept: &'a str,
    endpoint: Endpoint<'a>,
    closes: bool,
}

impl<T: fmt::Display> Get<'_, T> {
    /// The same with `Connection: close`: the server closes the connection behind the answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Writes the bytes of the request from `offset` on, as many as `buf` has room for, and returns their number. The
    /// request ends where that is less than the room.
    ///
    /// The target is formatted for each piece, and must not change.
    pub fn try_write(&self, offset: usize, buf: &mut [u8]) -> Result<usize, ProtocolError> {
        self.check()?;
        let mut window = Window { skipped: offset, buf, len: 0 };
        // An error says that the window is full.
        let _is_full = self.write(&mut window);
        Ok(window.len)
    }

    fn write(&self, out: &mut impl Write) -> fmt::Result {
        let Endpoint { host, user_agent, token } = self.endpoint;
        let authorization = token.map_or(["", "", ""], |token| ["Authorization: Bearer ", token, "\r\n"]);
        let end = if self.closes { "Connection: close\r\n\r\n" } else { "\r\n" };
        out.write_str("GET ")?;
        write!(Encoder(out), "{}", self.target)?;
        // Formatting these would take more flash.
        [" HTTP/1.1\r\nHost: ", host, "\r\nAccept: ", self.accept, "\r\nAccept-Encoding: identity\r\nUser-Agent: "]
            .into_iter()
            .chain([user_agent, "\r\n"])
            .chain(authorization)
            .chain([end])
            .try_for_each(|text| out.write_str(text))
    }

    /// Whether each part can be sent. A line break in one of them would be another header.
    fn check(&self) -> Result<(), ProtocolError> {
        let mut first = First(None);
        let is_path = write!(first, "{}", self.target).is_ok() && first.0 == Some(b'/');
        let is_text = |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_token = |token: &str| is_text(token) && !token.contains(' ');
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        let checks = [
            (RequestPart::Target, is_path),
            (RequestPart::Host, !self.endpoint.host.is_empty() && self.endpoint.host.bytes().all(is_host)),
            (RequestPart::Accept, is_text(self.accept)),
            (RequestPart::UserAgent, is_text(self.endpoint.user_agent)),
            (RequestPart::Token, self.endpoint.token.is_none_or(is_token)),
        ];
        let wrong = checks.into_iter().find_map(|(part, is_valid)| (!is_valid).then_some(part));
        wrong.map_or(Ok(()), |part| Err(ProtocolError::Unsendable(part)))
    }
}

/// The first byte of a text.
struct First(Option<u8>);

impl Write for First {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.or_else(|| text.bytes().next());
        Ok(())
    }
}

/// Keeps a part of a text: as much as the buffer has room for, from an offset on.
struct Window<'a> {
    /// How many bytes are still before the part.
    skipped: usize,
    buf: &'a mut [u8],
    len: usize,
}

impl Write for Window<'_> {
    /// Returns an error where the buffer is full, so that the source stops writing.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let skipped = self.skipped.min(text.len());
        self.skipped -= skipped;
        let (text, room) = (&text.as_bytes()[skipped..], &mut self.buf[self.len..]);
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text[..len]);
        self.len += len;
        if len < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Writes a path and a query, with `%XX` for bytes that a URL must not have. A `%` stays as it is.
struct Encoder<'a, W>(&'a mut W);

impl<W: Write> Write for Encoder<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value & 15)]);
        text.bytes().try_for_each(|byte| match is_allowed(byte) {
            true => self.0.write_char(byte.into()),
            false => ['%', digit(byte >> 4), digit(byte)].into_iter().try_for_each(|c| self.0.write_char(c)),
        })
    }
}

/// Whether a byte may stand in a path or a query (RFC 3986, sections 3.3 and 3.4), or begins an escape.
fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte)
}
