//! Which server is talked to, and how.

use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;

/// How much is read from a connection at once.
pub(crate) const BUFFER: usize = 16 * 1024;

/// How long connecting may take, as with client-go. It is all that is limited here: nothing else can interrupt it.
const CONNECT: Duration = Duration::from_secs(30);

/// The address of an API server, and what every connection to it needs.
#[derive(Debug)]
pub(crate) struct Server {
    base: String,
    config: Config,
}

impl Server {
    /// The server at `base`, such as `http://127.0.0.1:8001`, which may have a path.
    pub(crate) fn new(base: &str) -> Self {
        let config = Agent::config_builder()
            // The body of a refusal says why.
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("listwatch/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .accept_encoding("")
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT))
            .build();
        Self { base: base.trim_end_matches('/').to_owned(), config }
    }

    /// The address of a request target.
    pub(crate) fn url(&self, target: impl std::fmt::Display) -> String {
        format!("{}{target}", self.base)
    }

    /// A client of its own, so that shutting it down ends one request and no other.
    pub(crate) fn agent(&self) -> Agent {
        Agent::new_with_config(self.config.clone())
    }
}
