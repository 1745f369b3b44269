use super::reader::{Reader, Text};
use crate::object::Uid;
use crate::text::write_status;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use serde::Deserialize;
use serde_json::value::RawValue;

/// `metav1.Status`: the reason that an API server gives for a failure.
///
/// Decoding is lenient, because the reaction depends on it: a field of the wrong type counts as absent. A text of more
/// than 4,096 characters is cut there, and no more than 64 causes are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status code, also of an error event in a watch.
    pub code: u16,
    /// The reason for programs, such as `Expired`.
    pub reason: String,
    /// The message for operators.
    pub message: String,
    /// These four are of `details`.
    name: String,
    uid: String,
    retry_after_seconds: u64,
    causes: Vec<Cause>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cause {
    reason: String,
    message: String,
}

/// A longer text of a status is cut, in characters. No name or reason of Kubernetes is as long.
const LONGEST: usize = 4096;
/// The code of a status that names none, where the response has that of a success.
const UNNAMED: u16 = 500;
/// The reason of a cause where the requested version is newer than the server's.
const VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";
/// The most causes that are kept.
const MOST_CAUSES: usize = 64;

/// The fields of a status, of its details and of a cause, each unread: no tree is built of a value of the wrong type.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
struct Fields<'a> {
    kind: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
    code: Option<&'a RawValue>,
    reason: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    details: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    uid: Option<&'a RawValue>,
    retry_after_seconds: Option<&'a RawValue>,
    causes: Option<&'a RawValue>,
}

/// Reads a `T`, or its default where the value is no `T`.
fn lenient<'a, T: Deserialize<'a> + Default>(value: Option<&'a RawValue>) -> T {
    value.and_then(|value| Reader::value(value.get()).ok()).unwrap_or_default()
}

/// Reads a text, or its beginning.
fn text(value: Option<&RawValue>) -> String {
    let text: Text<'_> = lenient(value);
    let text = text.as_str();
    text[..text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end)].into()
}

impl Status {
    /// A status that has only a code, for a response without a readable body.
    pub fn of_code(code: u16) -> Self {
        Self { code, ..Self::default() }
    }

    /// A status of which these parts alone are known.
    #[cfg(feature = "fixed")]
    pub(in crate::decode) fn of_parts(
        code: u16,
        reason: &str,
        message: &str,
        retry_after: Option<Duration>,
        is_version_too_large: bool,
    ) -> Self {
        let cause = Cause { reason: VERSION_TOO_LARGE.into(), ..Cause::default() };
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            retry_after_seconds: retry_after.map_or(0, |delay| delay.as_secs()),
            causes: is_version_too_large.then_some(cause).into_iter().collect(),
            ..Self::default()
        }
    }

    /// Reads the body of a response, or the object of an error event, where the response has `code`. If the body is no
    /// status (a proxy's page, for example), its first 200 characters without markup become the message.
    pub fn read(code: u16, body: &[u8]) -> Self {
        let status = str::from_utf8(body).map_or_else(|_| Self::default(), Self::parse);
        match status.code {
            0 if status == Self::default() => Self { code, message: readable(body), ..status },
            0 => Self { code, ..status },
            _ => status,
        }
    }

    /// Reads a status; empty where the text is none.
    pub(super) fn parse(body: &str) -> Self {
        Self::of(&Reader::value(body).unwrap_or_default())
    }

    fn of(status: &Fields<'_>) -> Self {
        let Fields { name, uid, retry_after_seconds, causes, .. } = lenient(status.details);
        let causes: Vec<&RawValue> = lenient(causes);
        let causes = causes.into_iter().take(MOST_CAUSES).map(|cause| {
            let Fields { reason, message, .. } = lenient(Some(cause));
            Cause { reason: text(reason), message: text(message) }
        });
        Self {
            code: lenient(status.code),
            reason: text(status.reason),
            message: text(status.message),
            name: text(name),
            uid: text(uid),
            retry_after_seconds: lenient(retry_after_seconds),
            causes: causes.collect(),
        }
    }

    /// Reads a refusal that came where something else should have been, such as in the body of a 200.
    pub(super) fn instead(body: &[u8]) -> Option<Self> {
        let fields: Fields<'_> = str::from_utf8(body).ok().and_then(|body| Reader::value(body).ok())?;
        let is_refusal = text(fields.kind) == "Status" && text(fields.status) != "Success";
        is_refusal.then(|| Self::read(UNNAMED, body))
    }

    /// Whether the requested version or continue token has expired: `410`, by code or by reason (client-go
    /// `isExpiredError`).
    pub fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    /// Whether the requested version is newer than the server's (client-go `isTooLargeResourceVersionError`).
    pub fn is_version_too_large(&self) -> bool {
        let causes = &self.causes;
        let said = causes.iter().map(|cause| &cause.message).chain([&self.message]);
        self.has_cause(VERSION_TOO_LARGE)
            || (self.reason == "Timeout" && said.into_iter().any(|said| said.contains("Too large resource version")))
    }

    /// The name of the object that the status is about (`details.name`).
    pub fn name(&self) -> Option<&str> {
        Some(self.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The uid of the object that the status is about (`details.uid`); the answer to a deletion has it, for example.
    pub fn uid(&self) -> Option<Uid> {
        Some(self.uid.as_str()).filter(|uid| !uid.is_empty()).map(Uid::from)
    }

    /// Whether one of the causes (`details.causes`) has this reason, such as `FieldManagerConflict`.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.causes.iter().any(|cause| cause.reason == reason)
    }

    /// The delay that the server requests (`details.retryAfterSeconds`); `None` where it is zero or absent.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Status {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=u16} {=str}: {=str}", self.code, self.reason.as_str(), self.message.as_str());
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_status(f, self.code, &self.reason, &self.message)
    }
}

/// How many characters of a body are kept.
const MOST: usize = 200;

/// The beginning of a body's text, without markup and control characters, on one line. Empty if the body is no text.
fn readable(body: &[u8]) -> String {
    let (mut said, mut length, mut gap) = (String::new(), 0, false);
    let mut rest = if body.contains(&0) { "" } else { utf8(body) };
    while let Some(next) = rest.chars().next() {
        let after = after_markup(rest);
        rest = after.unwrap_or_else(|| &rest[next.len_utf8()..]);
        if after.is_some() || next.is_whitespace() || next.is_control() {
            gap = length > 0;
            continue;
        }
        if length >= MOST {
            said.push('…');
            break;
        }
        if core::mem::take(&mut gap) {
            said.push(' ');
        }
        said.push(next);
        length += 1;
    }
    said
}

/// The longest prefix that is UTF-8.
fn utf8(body: &[u8]) -> &str {
    let valid = core::str::from_utf8(body).map_or_else(|error| error.valid_up_to(), str::len);
    core::str::from_utf8(&body[..valid]).unwrap_or_default()
}

/// The text behind the tag or comment that it begins with; `None` where it begins with neither.
fn after_markup(text: &str) -> Option<&str> {
    let tag = text.strip_prefix('<')?;
    let is_named = |name: &str| tag.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
    if tag.starts_with("!--") {
        return tag.split_once("-->").map(|(_, after)| after);
    }
    if is_named("style") || is_named("script") {
        return tag.find("</").map(|end| &tag[end..]);
    }
    let is_tag = tag.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '!' | '?'));
    tag.split_once('>').filter(|_| is_tag).map(|(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::string::ToString;

    #[test]
    fn the_answer_to_a_deletion_names_the_object_that_is_gone() {
        let body =
            br#"{"kind":"Status","metadata":{},"status":"Success","details":{"name":"a","kind":"pods","uid":"u-1"}}"#;
        let status = Status::read(200, body);
        assert_eq!((status.name(), status.uid()), (Some("a"), Some(Uid::from("u-1"))));
        assert_eq!((Status::of_code(404).name(), Status::of_code(404).uid()), (None, None));
    }

    #[test]
    fn a_status_is_read_as_the_server_wrote_it() {
        let body =
            br#"{"kind":"Status","status":"Failure","message":"Timeout: Too large resource version: 9, current: 1",
            "reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}],
            "retryAfterSeconds":1},"code":504}"#;
        let status = Status::read(504, body);
        assert!(status.is_version_too_large() && !status.is_expired());
        assert_eq!((status.code, status.retry_after()), (504, Some(Duration::from_secs(1))));
    }

    #[test]
    fn a_status_with_fields_of_other_types_is_still_one() {
        let body = br#"{"code":410,"reason":"Expired","message":7,"details":null,"metadata":[]}"#;
        assert!(Status::read(500, body).is_expired());
        let body = br#"{"code":"x","reason":"Gone","details":{"causes":[null],"retryAfterSeconds":-1}}"#;
        assert_eq!((Status::read(500, body).code, Status::read(500, body).is_expired()), (500, true));
    }

    #[test]
    fn the_texts_and_causes_of_a_status_have_limits() {
        let [long, short] = ["ä".repeat(1 << 16), "ä".repeat(LONGEST)];
        let causes = std::vec![json!({ "reason": long, "message": long }); 2];
        let details = json!({ "name": long, "uid": long, "causes": causes });
        let body = json!({ "code": 410, "reason": long, "message": long, "details": details }).to_string();
        let status = Status::read(500, body.as_bytes());
        assert_eq!((status.code, status.name().map(str::len)), (410, Some(short.len())));
        assert!(status.uid() == Some(Uid::from(&*short)), "a uid of {} bytes", status.uid.len());
        let causes = status.causes.iter().flat_map(|cause| [&cause.reason, &cause.message]);
        for text in causes.chain([&status.reason, &status.message]) {
            assert!(*text == short && text.capacity() < 2 * short.len(), "{} bytes", text.len());
        }
        let causes = json!({ "details": { "causes": std::vec![json!({}); 1 << 16] } }).to_string();
        let causes = Status::read(500, causes.as_bytes()).causes;
        assert!(causes.len() == MOST_CAUSES && causes.capacity() < 2 * MOST_CAUSES, "{}", causes.len());
    }

    #[test]
    fn what_is_nothing_amounts_to_its_code() {
        assert_eq!(Status::read(502, b"<html>"), Status::of_code(502));
        assert_eq!(Status::read(404, b"\x1f\x8b\x08"), Status::of_code(404));
        assert!(Status::read(410, b"").is_expired());
    }

    #[test]
    fn a_status_keeps_what_a_server_or_proxy_says_in_plain_text() {
        let told = |code, body: &str| Status::read(code, body.as_bytes()).to_string();
        let said = "Client sent an HTTP request to an HTTPS server.\n";
        assert_eq!(told(400, said), "status 400: Client sent an HTTP request to an HTTPS server.");
        assert_eq!(told(403, "<html><h1>Blocked</h1>by policy 7</html>"), "status 403: Blocked by policy 7");
        assert_eq!(told(403, r#"{"error":"no licence"}"#), r#"status 403: {"error":"no licence"}"#);
        assert_eq!(told(404, "404 page not found"), "status 404: 404 page not found");
        assert_eq!(told(500, r#"{"code":410}"#), "status 410");
    }

    #[test]
    fn a_page_is_read_without_its_markup() {
        let page =
            b"<!DOCTYPE html>\r\n<html><head><title>403 Forbidden</title><STYLE type=x>b { top: 0 }</STYLE></head>
            <!-- a > b --><body>\x1b[1m<h1>No entry</h1><p>Ask   <a href='x'>Ada</a>, if 1 < 2</p>\n</body></html>\n";
        assert_eq!(readable(page), "403 Forbidden [1m No entry Ask Ada , if 1 < 2");
    }

    #[test]
    fn a_long_text_is_cut_and_what_is_none_is_left_out() {
        let long = readable("ä b ".repeat(1_000_000).as_bytes());
        assert_eq!((long.chars().filter(|char| *char != ' ').count(), long.ends_with('…')), (MOST + 1, true));
        let unclosed = readable("<a".repeat(1_000_000).as_bytes());
        assert_eq!(unclosed.chars().count(), MOST + 1);
        for body in [&b""[..], b" \r\n", b"\x1f\x8b\x08abc", b"k8s\0\n\x0cStatus", b"\xff\xfea", b"<html>"] {
            assert_eq!(readable(body), "", "{body:?}");
        }
        assert_eq!(readable(b"caf\xe9"), "caf", "up to where it is no UTF-8");
    }
}
