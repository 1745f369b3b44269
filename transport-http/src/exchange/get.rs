use super::encoded::Encoded;
use super::endpoint::Endpoint;
use super::error::{ProtocolError, RequestPart};
use super::token::Token;
use super::window::Window;
use core::fmt::{self, Write};

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

impl<'a> Endpoint<'a> {
    /// A request for `target`, which is path and query, in one of the media types of `accept`.
    ///
    /// A `listwatch_core::request::Request` is a target, and has the media types. Bytes that a URL must not have are
    /// written as `%XX`; a `%` stays as it is.
    #[must_use]
    pub const fn get<T: fmt::Display>(&self, target: T, accept: &'a str) -> Get<'a, T> {
        Get { target, accept, endpoint: *self, closes: false }
    }
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
        let mut window = Window::new(offset, buf);
        // An error says that the window is full.
        let _is_full = self.write(&mut window);
        Ok(window.len())
    }

    fn write(&self, out: &mut impl Write) -> fmt::Result {
        let Endpoint { host, user_agent, token } = self.endpoint;
        let authorization = token.map_or(["", "", ""], |token| ["Authorization: Bearer ", token.reveal(), "\r\n"]);
        let end = if self.closes { "Connection: close\r\n\r\n" } else { "\r\n" };
        write!(out, "GET {}", Encoded(&self.target))?;
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
        let is_token = |token: Token<'_>| is_text(token.reveal()) && !token.reveal().contains(' ');
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
