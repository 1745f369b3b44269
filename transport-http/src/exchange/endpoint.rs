use super::token::Token;

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
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    pub(super) host: &'a str,
    pub(super) user_agent: &'a str,
    pub(super) token: Option<Token<'a>>,
}

impl<'a> Endpoint<'a> {
    /// A server by name or address, with its port if that is not the scheme's own.
    #[must_use]
    pub const fn new(host: &'a str) -> Self {
        Self { host, user_agent: concat!("listwatch/", env!("CARGO_PKG_VERSION")), token: None }
    }

    /// The same with a bearer token, such as that of a service account. White space around it is not sent.
    ///
    /// Use a connection with TLS: the token is part of each request.
    #[must_use]
    pub const fn with_token(mut self, token: &'a str) -> Self {
        self.token = Some(Token::new(token));
        self
    }

    /// The same with the program's own name for `User-Agent`, instead of `listwatch/` with a version.
    #[must_use]
    pub const fn with_user_agent(mut self, user_agent: &'a str) -> Self {
        self.user_agent = user_agent;
        self
    }
}
