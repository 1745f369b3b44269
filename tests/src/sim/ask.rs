//! A request as a server sees it.

use listwatch_core::request::{Query, Request, Verb};
use std::time::Duration;

/// A request, and what of it is not in [`Request`].
#[derive(Clone, Debug)]
pub struct Ask {
    /// What is asked.
    pub request: Request,
    /// A list of exactly that version, not of one that is not older.
    pub exact: bool,
}

impl Ask {
    /// Reads what came over a socket: the target of the request, and its header `Accept`.
    #[must_use]
    pub fn parse(target: &str, accept: &str) -> Self {
        let mut request = Request::parse(target);
        if accept.contains("as=PartialObjectMetadata") {
            request.resource = request.resource.metadata_only();
        }
        Self { request, exact: target.contains("resourceVersionMatch=Exact") }
    }

    /// Which of the three questions it is.
    #[must_use]
    pub fn query(&self) -> Query {
        self.request.query()
    }
}

impl From<&Request> for Ask {
    /// What a server reads of it: a target says nothing of parts of a second.
    fn from(request: &Request) -> Self {
        let mut request = request.clone();
        if let Verb::Watch { timeout: Some(timeout), .. } = &mut request.verb {
            *timeout = Duration::from_secs(timeout.as_secs());
        }
        Self { request, exact: false }
    }
}
