//! The requests that are open, with what was answered up to a line.

use super::format::{End, Payload, RequestRecord, Text, header};
use core::time::Duration;
use listwatch_core::api::ApiResponse;
use listwatch_core::request::Query;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentCall {
    /// The id of the request on the tape.
    #[serde(skip)]
    pub id: u64,
    /// The HTTP method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// The body; empty for none.
    #[serde(with = "text_or_bytes")]
    pub body: Vec<u8>,
    /// Whether keyed hashes stand for the values of a Secret or a token, in the body and in that of the response.
    pub hashed: bool,
}

/// A request of a recording, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The request.
    pub request: SentCall,
    /// When it was sent, since the recording began.
    pub at: Duration,
    /// Whether it lists or watches a collection, and how.
    pub query: Option<Query>,
    /// The number of the reconcile that sent it.
    pub reconcile: Option<u64>,
    /// The user that sent it, where a server tells.
    pub user: Option<String>,
    /// The addresses that it came from, where a server tells.
    pub from: Option<String>,
    /// The program that sent it: its `User-Agent`.
    pub program: Option<String>,
    /// The answer, if one began. The body of a list or a watch is left out where the server took the request.
    pub answer: Option<ApiResponse>,
    /// Whether the body is not whole, because it is too long.
    pub is_cut: bool,
    /// How it ended.
    pub end: CallEnd,
}

/// How a [`Call`] ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// The recording ends before it.
    #[default]
    Unknown,
    /// The answer is whole.
    Answered,
    /// Its client gave it up.
    GivenUp,
    /// The connection failed, or broke off within the answer.
    Failed(String),
}

/// A body as a text, if it is one.
mod text_or_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Body {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(body) {
            Ok(text) => text.serialize(serializer),
            Err(_) => body.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Body::deserialize(deserializer).map(|body| match body {
            Body::Text(text) => text.into_bytes(),
            Body::Bytes(bytes) => bytes,
        })
    }
}

/// The requests that are open.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: HashMap<u64, Call>,
    /// The bytes of their answers.
    pub(crate) bytes: u64,
}

impl Calls {
    pub(crate) fn open(&mut self, call: Call) {
        self.open.insert(call.request.id, call);
    }

    /// Takes what a line tells of a request before its end, up to this length of its answer.
    pub(crate) fn take(&mut self, id: u64, payload: &Payload<'_>, most: usize) {
        let Some(call) = self.open.get_mut(&id) else { return };
        match (payload, &mut call.answer) {
            (Payload::Response(response), answer) => {
                let (head, mut own) = (response.head(), ApiResponse::new(response.status, Vec::new()));
                own.retry_after = head.retry_after;
                *answer = Some(own);
            }
            (Payload::Data(data), Some(answer)) => {
                let bytes = data.bytes();
                let taken = bytes.len().min(most.saturating_sub(answer.body.len()));
                answer.body.extend_from_slice(&bytes[..taken]);
                call.is_cut |= taken < bytes.len();
                self.bytes += taken as u64;
            }
            _ => {}
        }
    }

    /// What is open under this id.
    pub(crate) fn of(&self, id: u64) -> Option<&Call> {
        self.open.get(&id)
    }

    /// Ends a request.
    pub(crate) fn end(&mut self, id: u64, end: &End<'_>) -> Option<Call> {
        let call = self.open.remove(&id)?;
        self.bytes -= call.answer.as_ref().map_or(0, |answer| answer.body.len() as u64);
        let end = match &*end.how {
            _ if end.by_client => CallEnd::GivenUp,
            "eof" if call.answer.is_some() => CallEnd::Answered,
            how => CallEnd::Failed(how.to_owned()),
        };
        Some(Call { end, ..call })
    }

    /// The requests whose end the recording does not have, in the order in which they were sent.
    pub(crate) fn left(&mut self) -> Vec<Call> {
        let mut left: Vec<Call> = self.open.drain().map(|(_, call)| call).collect();
        left.sort_by_key(|call| (call.at, call.request.id));
        left
    }
}

impl Call {
    pub(crate) fn of(t: u64, id: u64, request: &RequestRecord<'_>) -> Self {
        let text = |text: &Option<Text<'_>>| text.as_ref().map(|Text(text)| String::from(&**text));
        Self {
            request: SentCall::of(id, request),
            at: Duration::from_millis(request.received.map_or(t, |received| received.min(t))),
            query: request.asked().map(|asked| asked.query()),
            reconcile: request.by,
            user: text(&request.user),
            from: text(&request.from),
            program: header(&request.headers, "user-agent").map(str::to_owned),
            answer: None,
            is_cut: false,
            end: CallEnd::Unknown,
        }
    }

    /// The status of the answer, if one began.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }
}

impl SentCall {
    fn of(id: u64, request: &RequestRecord<'_>) -> Self {
        let body =
            request.body.as_ref().map(|body| body.text().map_or_else(|| body.json().into(), |text| text.into_owned()));
        Self {
            id,
            method: request.method.as_ref().to_owned(),
            target: request.path.as_ref().to_owned(),
            content_type: request.content_type().map(str::to_owned),
            body: body.unwrap_or_default().into_bytes(),
            hashed: request.hashed,
        }
    }
}
