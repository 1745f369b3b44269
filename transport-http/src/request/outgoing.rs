use crate::limits::Limits;
use listwatch_core::api::{ApiRequest, Method, SendGate};
use listwatch_core::request::{Query, Request, Verb};
use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;
use ureq::http;

/// A request in its own memory, which any thread may send.
pub(crate) struct OutgoingRequest {
    pub(super) method: http::Method,
    /// Path and query.
    pub(super) target: String,
    /// Names and values.
    pub(super) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) body: Vec<u8>,
    /// The statuses of an answer that is no refusal.
    proper: Range<u16>,
    /// How long the server may send nothing.
    pub(super) idle: Option<Duration>,
    /// Asked when it leaves.
    pub(super) gate: Option<SendGate>,
}

impl OutgoingRequest {
    /// A list or a watch. Lists accept gzip; in a watch, it would delay events.
    pub(crate) fn stream(request: &Request, limits: &Limits) -> Self {
        let encoding = if request.query() == Query::List { "gzip" } else { "identity" };
        Self {
            method: http::Method::GET,
            target: request.to_string(),
            headers: vec![("accept", request.accept().into()), ("accept-encoding", encoding.into())],
            body: Vec::new(),
            proper: 200..201,
            idle: idle(request, limits),
            gate: None,
        }
    }

    /// A single request.
    pub(crate) fn single(request: &ApiRequest, limits: &Limits) -> Self {
        let mut headers = vec![("accept", request.accept.into()), ("accept-encoding", "gzip".into())];
        headers.extend(request.content_type.map(|content_type| ("content-type", content_type.into())));
        let trace = request.trace.map(|trace| trace.headers()).into_iter().flatten();
        headers.extend(trace.map(|(name, value)| (name, value.into())));
        Self {
            method: method(request.method),
            target: request.to_string(),
            headers,
            body: request.body.clone(),
            proper: 200..300,
            idle: limits.idle_timeout,
            gate: request.gate.clone(),
        }
    }

    /// Whether an answer with this status is a refusal.
    pub(super) fn is_refused_by(&self, status: u16) -> bool {
        !self.proper.contains(&status)
    }
}

/// How long the server may send nothing. A watch may be silent until the server ends it.
fn idle(request: &Request, limits: &Limits) -> Option<Duration> {
    let limit = limits.idle_timeout?;
    match request.verb {
        Verb::List { .. } => Some(limit),
        Verb::Watch { timeout, .. } => timeout.map(|timeout| timeout.saturating_add(limit)),
    }
}

fn method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    }
}
