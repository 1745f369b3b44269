//! The records of a capture, version 1.
//!
//! ```text
//! {"capture":1,"started":"2026-11-20T10:41:52Z"}
//! {"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods?limit=50","headers":{}}}    "body" if one was sent
//! {"t":7,"id":1,"response":{"status":200,"headers":{"content-type":"application/json"}}}
//! {"t":8,"id":1,"data":"{\"kind\":\"PodList\",…"}      "base64" if the bytes are not UTF-8 by themselves
//! {"t":9,"id":1,"end":"eof"}                           eof, cut, or the error
//! {"t":9,"id":1,"end":"cut","by":"client"}             "by" if the client aborted the request
//! ```

use crate::error::{CaptureErrorKind, Fault};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// The version of the format.
pub(crate) const VERSION: u64 = 1;
const EXPECTED: &str = "a record of a capture";

/// One line of a capture.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// The first line.
    Start {
        version: u64,
        started: Option<Text<'a>>,
    },
    Record(Record<'a>),
}

/// A record: the time, the request, and the event.
#[derive(Debug, PartialEq)]
pub(crate) struct Record<'a> {
    /// Milliseconds since the recording began.
    pub(crate) t: u64,
    /// The id of the request.
    pub(crate) id: u64,
    pub(crate) payload: Payload<'a>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Payload<'a> {
    Request(RequestRecord<'a>),
    Response(ResponseRecord<'a>),
    Data(Cow<'a, [u8]>),
    End(End<'a>),
}

/// The end of a response.
#[derive(Debug, PartialEq)]
pub(crate) struct End<'a> {
    /// `eof`, `cut`, or the error.
    pub(crate) how: Cow<'a, str>,
    /// Whether the client aborted the request.
    pub(crate) by_client: bool,
}

/// A recorded request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestRecord<'a> {
    #[serde(borrow)]
    pub(crate) method: Cow<'a, str>,
    /// Path and query.
    #[serde(borrow)]
    pub(crate) path: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) headers: BTreeMap<Cow<'a, str>, Text<'a>>,
    /// The body, if any: as a string, or as JSON.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<RequestBody<'a>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResponseRecord<'a> {
    pub(crate) status: u16,
    #[serde(borrow, default)]
    pub(crate) headers: BTreeMap<Cow<'a, str>, Text<'a>>,
}

/// A body as its text in the line. A tree would take many times the memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestBody<'a>(#[serde(borrow)] &'a RawValue);

/// A string, borrowed from the line if it has no escapes. Inside of an `Option`, serde does not borrow a bare `Cow`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A line of JSON. The fields that are present tell its kind.
#[derive(Default, Serialize, Deserialize)]
#[serde(expecting = "an object")]
struct Fields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    started: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    request: Option<RequestRecord<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    response: Option<ResponseRecord<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    data: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    base64: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    end: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    by: Option<Text<'a>>,
}

impl RequestBody<'_> {
    /// The body, if it was recorded as a string.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        serde_json::from_str(self.json()).ok().map(|Text(text)| text)
    }

    /// The text of the recorded JSON.
    pub(crate) fn json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RequestBody<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

/// The `by` of an end that the client caused.
const CLIENT: &str = "client";

impl<'a> End<'a> {
    pub(crate) fn new(how: impl Into<Cow<'a, str>>) -> Self {
        Self { how: how.into(), by_client: false }
    }

    /// The end of a request that the client aborted.
    pub(crate) fn by_client() -> Self {
        Self { how: "cut".into(), by_client: true }
    }
}

impl<'a> Line<'a> {
    /// Parses one line.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, Fault> {
        let fields: Fields<'a> = serde_json::from_slice(line).map_err(|error| Fault::of_json(&error, EXPECTED))?;
        if let Some(version) = fields.capture {
            return Ok(Self::Start { version, started: fields.started });
        }
        let (Some(t), Some(id)) = (fields.t, fields.id) else {
            return Err(not_a_record("\"t\" and \"id\" are missing"));
        };
        Ok(Self::Record(Record { t, id, payload: fields.payload()? }))
    }

    /// Writes one line, without a line end.
    pub(crate) fn write(self, out: impl Write) -> std::io::Result<()> {
        let fields = match self {
            Self::Start { version, started } => Fields { capture: Some(version), started, ..Fields::default() },
            Self::Record(Record { t, id, payload }) => Fields { t: Some(t), id: Some(id), ..Fields::of(payload) },
        };
        serde_json::to_writer(out, &fields).map_err(std::io::Error::from)
    }
}

impl<'a> Fields<'a> {
    fn of(payload: Payload<'a>) -> Self {
        let fields = Self::default();
        match payload {
            Payload::Request(request) => Self { request: Some(request), ..fields },
            Payload::Response(response) => Self { response: Some(response), ..fields },
            Payload::Data(data) => match str::from_utf8(&data) {
                Ok(text) => Self { data: Some(Text(text.to_owned().into())), ..fields },
                Err(_) => Self { base64: Some(Text(BASE64_STANDARD.encode(&data).into())), ..fields },
            },
            Payload::End(End { how, by_client }) => {
                Self { end: Some(Text(how)), by: by_client.then(|| Text(CLIENT.into())), ..fields }
            }
        }
    }

    fn payload(self) -> Result<Payload<'a>, Fault> {
        match (self.request, self.response, self.data, self.base64, self.end) {
            (Some(request), None, None, None, None) => Ok(Payload::Request(request)),
            (None, Some(response), None, None, None) => Ok(Payload::Response(response)),
            (None, None, Some(Text(text)), None, None) => Ok(Payload::Data(match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            })),
            (None, None, None, Some(Text(text)), None) => match BASE64_STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => Ok(Payload::Data(Cow::Owned(bytes))),
                Err(_) => Err(not_a_record("\"base64\" holds no base64")),
            },
            (None, None, None, None, Some(Text(how))) => {
                let by_client = self.by.is_some_and(|Text(by)| by == CLIENT);
                Ok(Payload::End(End { how, by_client }))
            }
            (None, None, None, None, None) => {
                Err(not_a_record("none of \"request\", \"response\", \"data\", \"base64\" and \"end\" is there"))
            }
            _ => Err(not_a_record("more than one of \"request\", \"response\", \"data\", \"base64\" and \"end\"")),
        }
    }
}

fn not_a_record(why: impl std::fmt::Display) -> Fault {
    Fault::of_line(CaptureErrorKind::Record, format_args!("not {EXPECTED}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: &str) -> Record<'_> {
        match Line::parse(line.as_bytes()) {
            Ok(Line::Record(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_without_escapes_is_borrowed_from_the_line() {
        for line in [r#"{"t":1,"id":2,"data":"plain"}"#, r#"{"data":"plain","id":2,"t":1,"note":null}"#] {
            assert!(matches!(record(line).payload, Payload::Data(Cow::Borrowed(b"plain"))));
        }
        assert_eq!(record(r#"{"t":1,"id":2,"data":"\u00e4\n"}"#).payload, Payload::Data("ä\n".as_bytes().into()));
    }

    #[test]
    fn base64_gives_bytes_that_are_no_text() {
        assert_eq!(record(r#"{"t":1,"id":2,"base64":"8A=="}"#).payload, Payload::Data([0xf0][..].into()));
    }

    #[test]
    fn what_is_written_reads_back() {
        for line in [
            r#"{"capture":1,"started":"2026-11-20T10:41:52Z"}"#,
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods?limit=50","headers":{}}}"#,
            r#"{"t":0,"id":1,"request":{"method":"PUT","path":"/api/v1/pods/a","headers":{},"body":"{}"}}"#,
            r#"{"t":7,"id":1,"response":{"status":200,"headers":{"content-type":"application/json"}}}"#,
            r#"{"t":8,"id":1,"data":"{\"kind\":\"ü\"}\n"}"#,
            r#"{"t":8,"id":1,"base64":"8A=="}"#,
            r#"{"t":9,"id":1,"end":"eof"}"#,
            r#"{"t":9,"id":1,"end":"cut","by":"client"}"#,
        ] {
            let mut written = Vec::new();
            Line::parse(line.as_bytes()).unwrap().write(&mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), line);
        }
    }
}
