//! The lines of a capture.
//!
//! ```text
//! {"capture":2,"started":"2026-11-20T10:41:52.123Z","server":"https://…","cluster":"<uid>","seed":42}
//! {"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods?limit=50","headers":{}}}    "body" if one was sent
//! {"t":7,"id":1,"response":{"status":200,"headers":{"content-type":"application/json"}}}
//! {"t":8,"id":1,"line":{"type":"ADDED",…}}             a piece of the body, as it came, and a newline behind it
//! {"t":8,"id":1,"part":{"kind":"PodList",…}            a piece as it came, without a newline
//! {"t":8,"id":1,"data":"ok\n"}                         a short piece; "base64" if it is not UTF-8 by itself
//! {"t":8,"id":1,"more":true,"line":…}                  the next line of the request has more of the same chunk
//! {"t":9,"id":1,"end":"eof"}                           eof, cut, or the error
//! {"t":9,"id":1,"end":"cut","by":"client"}             "by" if the client aborted the request
//! {"t":10,"id":2,"request":{…},"by":12}                "by" if a reconcile sent it: the number of the reconcile
//! {"t":11,"id":3,"request":{…,"hashed":true}}          keyed hashes stand for values in both bodies
//! {"t":11,"id":4,"request":{…,"user":"jane","from":"10.0.0.1"}}    as an audit log tells
//! {"t":11,"id":4,"request":{…,"received":7}}           the time of the request, if its line stands later
//! {"t":10,"reconcile":12,"of":"foos","key":"web/a","attempt":1,"causes":["…"],"note":1}
//! {"t":11,"reconcile":12,"of":"foos","at":{"/api/v1/pods":{"changes":141,"version":"815"}},"note":2}
//! {"t":11,"reconcile":12,"of":"foos","date":"2026-11-20T10:41:52.134521Z","note":3}
//! {"t":12,"reconcile":12,"of":"foos","outcome":"done","note":4}
//! {"t":13,"finished":true}                             the last line, of the tape of a controller that was not cut
//! ```
//!
//! The lines are in the order in which things happened. An id may be used again behind the end of its request. Lines about
//! reconciles are numbered by `note`, so that a missing one is found.
//!
//! # Tapes, and captures of others
//!
//! A file whose first line says `"capture":2` is a tape, which a recorder of this crate wrote. Each of its lines ends with
//! `,"n":17,"crc":"89abcdef"}`: its number in the file from one, and the CRC-32 of the text before `,"crc"`, the one of
//! gzip. A `line` or `part` is found by its place, between its name and that end. It is not parsed and may be no JSON, where
//! the reads of the recorded client divided an object.
//!
//! Other programs write captures by hand: `request`, `response`, `data` or `base64`, and `end`, without numbers and
//! checksums. Their first line may be missing, or say `"capture":1`. They are read alike, and are not checked; a tape that
//! was edited and says `"capture":1` is one of them. If it says `"audit":true`, its watches are in order for each object
//! alone.
//!
//! # What later versions read
//!
//! A later version of this crate reads the tapes that this one writes, and captures of others. It may add fields, and kinds
//! of lines with another name than those above: a reader passes over fields that it does not know, and refuses lines that it
//! does not know. If a line means something else, the tape says `"capture":3`, which this version refuses as a whole.

use super::collection::Collection;
use super::data::Data;
use super::note::{Note, TapeStart};
pub(crate) use super::seal::VERSION;
use super::seal::seal;
use crate::error::{CaptureErrorKind, Fault};
use base64::prelude::{BASE64_STANDARD, Engine};
use listwatch_core::request::{Query, Request};
use listwatch_core::transport::ResponseHead;
use memchr::memmem;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::BTreeMap;

const EXPECTED: &str = "a record of a capture";

/// The last time of a line: a hundred years of milliseconds. No clock could wait for one far behind it.
pub(crate) const MOST_TIME: u64 = 100 * 366 * 24 * 60 * 60 * 1000;
const TOO_LATE: &str = "\"t\" is more than a hundred years";

/// One line of a capture.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// The first line, with the version of the format.
    Start(u64, TapeStart),
    Record(Record<'a>),
    /// A line about a reconcile, with its time and its number among such lines, from one.
    Note(u64, u64, Note),
    /// The last line of a tape that was finished, with its time.
    Finished(u64),
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
    Data(Data<'a>),
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
    /// Whether keyed hashes stand for the values in the body and in the data of the response, which are confidential.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) hashed: bool,
    /// The number of the reconcile that sent it, which stands beside the request.
    #[serde(skip)]
    pub(crate) by: Option<u64>,
    /// The user that sent it, where a server tells.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<Text<'a>>,
    /// The addresses that it came from, where a server tells.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Text<'a>>,
    /// The time of its arrival, if the line stands later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) received: Option<u64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResponseRecord<'a> {
    pub(crate) status: u16,
    #[serde(borrow, default)]
    pub(crate) headers: BTreeMap<Cow<'a, str>, Text<'a>>,
}

/// A body as its text in the line. A tree would take many times the memory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestBody<'a>(#[serde(borrow, deserialize_with = "borrowed")] Cow<'a, RawValue>);

/// A string, borrowed from the line if it has no escapes. Inside of an `Option`, serde does not borrow a bare `Cow`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The first line.
#[derive(Serialize)]
struct StartLine<'a> {
    capture: u64,
    #[serde(flatten)]
    start: &'a TapeStart,
}

#[derive(Serialize)]
struct NoteLine<'a> {
    t: u64,
    #[serde(flatten)]
    note: &'a Note,
    #[serde(rename = "note")]
    number: u64,
}

/// A line of JSON. The fields that are present tell its kind. Those of the first line and of notes are read by themselves.
#[derive(Default, Serialize, Deserialize)]
#[serde(expecting = "an object")]
struct Fields<'a> {
    #[serde(skip_serializing)]
    capture: Option<u64>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<bool>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    end: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    by: Option<By<'a>>,
    #[serde(skip_serializing)]
    note: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<bool>,
}

/// The party that sent a request, or ended it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum By<'a> {
    /// The reconcile of this number.
    Reconcile(u64),
    #[serde(borrow)]
    Party(Text<'a>),
}

impl<'a> RequestRecord<'a> {
    /// A request without headers and body.
    pub(crate) fn new(method: &'a str, path: String) -> Self {
        let (method, path, headers) = (method.into(), path.into(), BTreeMap::new());
        Self { method, path, headers, body: None, hashed: false, by: None, user: None, from: None, received: None }
    }

    /// The list or the watch that it asks for; `None` for a write, a single object, or discovery.
    pub(crate) fn asked(&self) -> Option<Request> {
        let mut request = Request::parse(&self.path);
        if self.asks_for_metadata_only() {
            request.resource = request.resource.metadata_only();
        }
        let is_list_or_watch = request.query() != Query::List || Collection::parse(request.resource.path()).is_some();
        Some(request).filter(|_| self.method == "GET" && is_list_or_watch)
    }

    pub(crate) fn asks_for_metadata_only(&self) -> bool {
        header(&self.headers, "accept").is_some_and(|types| types.contains("as=PartialObjectMetadata"))
    }

    /// The media type of the body.
    pub(crate) fn content_type(&self) -> Option<&str> {
        header(&self.headers, "content-type")
    }
}

impl ResponseRecord<'_> {
    pub(crate) fn head(&self) -> ResponseHead {
        ResponseHead::from_headers(self.status, |name| header(&self.headers, name).map(str::trim))
    }
}

/// The value of a header, whose name is in any case.
pub(super) fn header<'h>(headers: &'h BTreeMap<Cow<'_, str>, Text<'_>>, name: &str) -> Option<&'h str> {
    headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, Text(value))| &**value)
}

/// Whether a line may have a request. Few bodies have the name of its field.
pub(super) fn may_have_request(line: &[u8]) -> bool {
    memmem::find(line, b"\"request\"").is_some()
}

impl<'a> RequestBody<'a> {
    /// A body as JSON of the line, in which no line ends.
    pub(crate) fn of_json(body: &'a RawValue) -> Self {
        Self(Cow::Borrowed(body))
    }

    /// A body as a string of the line.
    pub(crate) fn of(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        // A text is always JSON.
        Self(to_raw_value(&text).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned))
    }

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
    /// The time, in milliseconds since the recording began; `None` for the first line.
    pub(crate) fn time(&self) -> Option<u64> {
        match self {
            Self::Start(..) => None,
            Self::Record(Record { t, .. }) | Self::Note(t, ..) | Self::Finished(t) => Some(*t),
        }
    }

    /// Parses one line.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, Fault> {
        let line = Self::of_any_time(line)?;
        match line {
            Self::Record(Record { t, .. }) | Self::Note(t, ..) | Self::Finished(t) if t > MOST_TIME => {
                Err(not_a_record(TOO_LATE))
            }
            _ => Ok(line),
        }
    }

    fn of_any_time(line: &'a [u8]) -> Result<Self, Fault> {
        if let Some((t, id, data)) = Data::parse(line) {
            return Ok(Self::Record(Record { t, id, payload: Payload::Data(data) }));
        }
        let fields: Fields<'a> = read(line)?;
        match fields {
            Fields { capture: Some(version), .. } => Ok(Self::Start(version, read(line)?)),
            Fields { request: Some(_), .. } if !may_have_request(line) => {
                Err(not_a_record("the name of \"request\" has escapes"))
            }
            Fields { t: Some(t), id: Some(id), .. } => Ok(Self::Record(Record { t, id, payload: fields.payload()? })),
            Fields { t: Some(t), note: Some(number), .. } => Ok(Self::Note(t, number, read(line)?)),
            Fields { t: Some(t), finished: Some(true), .. } => Ok(Self::Finished(t)),
            _ => Err(not_a_record("\"t\" and \"id\" are missing")),
        }
    }

    /// Writes the line with its end. A chunk of a body may take several. `lines` counts the lines of the file.
    pub(crate) fn write(self, lines: &mut u64, out: &mut Vec<u8>) -> std::io::Result<()> {
        let start = out.len();
        match self {
            // Most of a file are these lines, and most of the time of writing goes into them.
            Self::Record(Record { t, id, payload: Payload::Data(data) }) => {
                data.write(t, id, lines, out);
                return Ok(());
            }
            Self::Start(capture, start) => serde_json::to_writer(&mut *out, &StartLine { capture, start: &start }),
            Self::Record(Record { t, id, payload }) => {
                serde_json::to_writer(&mut *out, &Fields { t: Some(t), id: Some(id), ..Fields::of(payload) })
            }
            Self::Note(t, number, note) => serde_json::to_writer(&mut *out, &NoteLine { t, note: &note, number }),
            Self::Finished(t) => {
                serde_json::to_writer(&mut *out, &Fields { t: Some(t), finished: Some(true), ..Fields::default() })
            }
        }?;
        // The end goes before the closing brace.
        out.pop();
        *lines += 1;
        seal(out, start, *lines);
        out.push(b'\n');
        Ok(())
    }
}

impl<'a> Fields<'a> {
    fn of(payload: Payload<'a>) -> Self {
        let fields = Self::default();
        match payload {
            Payload::Request(request) => Self { by: request.by.map(By::Reconcile), request: Some(request), ..fields },
            Payload::Response(response) => Self { response: Some(response), ..fields },
            // It is written by itself.
            Payload::Data(_) => fields,
            Payload::End(End { how, by_client }) => {
                Self { end: Some(Text(how)), by: by_client.then(|| By::Party(Text(CLIENT.into()))), ..fields }
            }
        }
    }

    fn payload(self) -> Result<Payload<'a>, Fault> {
        let more = self.more == Some(true);
        match (self.request, self.response, self.data, self.base64, self.end) {
            (Some(request), None, None, None, None) => {
                let by = self.by.and_then(|by| if let By::Reconcile(number) = by { Some(number) } else { None });
                Ok(Payload::Request(RequestRecord { by, ..request }))
            }
            (None, Some(response), None, None, None) => Ok(Payload::Response(response)),
            (None, None, Some(Text(text)), None, None) => Ok(Payload::Data(match text {
                Cow::Borrowed(text) => Data::new(text.as_bytes(), more),
                Cow::Owned(text) => Data::new(text.into_bytes(), more),
            })),
            (None, None, None, Some(Text(text)), None) => match BASE64_STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => Ok(Payload::Data(Data::new(bytes, more))),
                Err(_) => Err(not_a_record("\"base64\" holds no base64")),
            },
            (None, None, None, None, Some(Text(how))) => {
                let by_client = matches!(self.by, Some(By::Party(Text(by))) if by == CLIENT);
                Ok(Payload::End(End { how, by_client }))
            }
            (None, None, None, None, None) => {
                Err(not_a_record("none of \"request\", \"response\", \"data\", \"base64\" and \"end\" is there"))
            }
            _ => Err(not_a_record("more than one of \"request\", \"response\", \"data\", \"base64\" and \"end\"")),
        }
    }
}

fn read<'l, T: Deserialize<'l>>(line: &'l [u8]) -> Result<T, Fault> {
    serde_json::from_slice(line).map_err(|error| Fault::of_json(&error, EXPECTED))
}

fn borrowed<'de: 'a, 'a, D: Deserializer<'de>>(body: D) -> Result<Cow<'a, RawValue>, D::Error> {
    <&RawValue>::deserialize(body).map(Cow::Borrowed)
}

fn not_a_record(why: impl std::fmt::Display) -> Fault {
    Fault::of_line(CaptureErrorKind::Record, format_args!("not {EXPECTED}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn record(line: &str) -> Record<'_> {
        match Line::parse(line.as_bytes()) {
            Ok(Line::Record(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    fn data(line: &str) -> Cow<'_, [u8]> {
        match record(line).payload {
            Payload::Data(data) => data.text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_without_escapes_is_borrowed_from_the_line() {
        for line in [r#"{"t":1,"id":2,"data":"plain"}"#, r#"{"data":"plain","id":2,"t":1,"note":null}"#] {
            assert!(matches!(data(line), Cow::Borrowed(b"plain")));
        }
        assert_eq!(data(r#"{"t":1,"id":2,"data":"\u00e4\n"}"#), "ä\n".as_bytes());
    }

    #[test]
    fn base64_gives_bytes_that_are_no_text() {
        assert_eq!(data(r#"{"t":1,"id":2,"base64":"8A=="}"#), &[0xf0][..]);
    }

    #[test]
    fn what_is_written_reads_back() {
        for line in [
            r#"{"capture":2,"started":"2026-11-20T10:41:52Z"}"#,
            r#"{"capture":1,"started":"2026-11-20T10:41:52.007Z","server":"https://a:6443","cluster":"u-1","seed":42}"#,
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods?limit=50","headers":{}}}"#,
            r#"{"t":0,"id":1,"request":{"method":"PUT","path":"/api/v1/pods/a","headers":{},"body":"{}"}}"#,
            r#"{"t":7,"id":1,"response":{"status":200,"headers":{"content-type":"application/json"}}}"#,
            r#"{"t":8,"id":1,"part":{"kind":"ü"}}"#,
            r#"{"t":8,"id":1,"data":"\"ü\"\n"}"#,
            r#"{"t":8,"id":1,"base64":"8A=="}"#,
            r#"{"t":9,"id":1,"end":"eof"}"#,
            r#"{"t":9,"id":1,"end":"cut","by":"client"}"#,
            r#"{"t":0,"id":1,"request":{"method":"PUT","path":"/api/v1/pods/a","headers":{},"body":"{}"},"by":12}"#,
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/secrets","headers":{},"hashed":true}}"#,
            r#"{"t":5,"reconcile":12,"of":"foos","key":"web/a","attempt":1,"causes":["x"],"note":4}"#,
            r#"{"t":5,"reconcile":13,"of":"foos","key":"web/a","attempt":1,"causes":[],"late":[{"source":"/api/v1/pods","object":"web/a","version":"7"}],"note":1}"#,
            r#"{"t":6,"reconcile":12,"of":"foos","at":{"/api/v1/pods":{"changes":141,"read":3}},"note":2}"#,
            r#"{"t":6,"reconcile":12,"of":"foos","date":"2026-11-20T10:41:52.134521Z","note":3}"#,
            r#"{"t":6,"reconcile":12,"of":"foos","at":{"/api/v1/pods":{"changes":141}},"note":3}"#,
            r#"{"t":9,"reconcile":12,"of":"foos","outcome":"requeue 5s","note":5}"#,
        ] {
            let (mut lines, mut written) = (16, Vec::new());
            Line::parse(line.as_bytes()).unwrap().write(&mut lines, &mut written).unwrap();
            let written = String::from_utf8(written).unwrap();
            let end = written.strip_prefix(&line[..line.len() - 1]).unwrap_or_else(|| panic!("{written}"));
            assert!(end.starts_with(",\"n\":17,\"crc\":\"") && end.ends_with("\"}\n") && lines == 17, "{written}");
        }
    }

    fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
        ResponseHead::from_headers(503, |name| if name == "retry-after" { Some(value) } else { date }).retry_after
    }

    #[test]
    fn a_date_to_retry_after_is_taken_against_the_answers_own() {
        let date = Some("Fri, 20 Nov 2026 10:43:07 GMT");
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:44:00 GMT", date), Some(Duration::from_secs(53)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:00:00 GMT", date), Some(Duration::ZERO));
        assert_eq!(retry_after("7", None), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:44:00 GMT", None), None);
    }

    #[test]
    fn header_names_are_read_in_any_case_and_media_types_without_parameters() {
        let line = br#"{"t":1,"id":1,"response":{"status":503,"headers":{"Content-Type":"Text/Plain; charset=utf-8","Retry-After":"1"}}}"#;
        let Payload::Response(response) = record(str::from_utf8(line).unwrap()).payload else { panic!() };
        let head = response.head();
        assert_eq!(head.content_type.as_deref(), Some("text/plain"));
        assert_eq!((head.status, head.retry_after), (503, Some(Duration::from_secs(1))));
    }
}
