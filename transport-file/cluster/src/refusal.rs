//! The answers that are no success, as a kube-apiserver gives them: `metav1.Status` (apimachinery `api/errors`).

use crate::kinds::ServedKind;
use core::fmt;
use core::time::Duration;
use serde_json::{Value, json};
use std::collections::HashSet;

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    /// The HTTP status.
    pub(super) code: u16,
    /// The `Status`; `None` for the bare text of a path that no resource has.
    pub(super) status: Option<Value>,
    pub(super) retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal with a code and a reason of the API.
    pub(super) fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": message.into(), "reason": reason, "code": code,
        });
        Self { code, status: Some(status), retry_after: None }
    }

    /// The refusal with what it is about.
    pub(super) fn with_details(mut self, details: Value) -> Self {
        if let Some(status) = &mut self.status {
            status["details"] = details;
        }
        self
    }

    /// A refusal to which the server gives no reason.
    pub(super) fn without_reason(code: u16, message: &str) -> Self {
        let mut refusal = Self::new(code, "", message);
        let status = refusal.status.as_mut().and_then(Value::as_object_mut);
        status.into_iter().for_each(|status| drop(status.remove("reason")));
        refusal
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// No resource has this path.
    pub(super) fn no_page() -> Self {
        Self { code: 404, status: None, retry_after: None }
    }

    /// The group is served, and has no such resource.
    pub(super) fn no_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// A request without a namespace for a kind that was taken to have one.
    pub(super) fn guessed_namespaced(kind: &ServedKind) -> Self {
        let message = format!(
            "the simulated cluster takes {} to have a namespace, and the request names none; if they have none, add the \
             kind by `with_kind`",
            kind.qualified()
        );
        Self::new(404, "NotFound", message).with_details(json!({}))
    }

    /// An informer's type has another scope than a fixture gave to its objects.
    pub(super) fn guessed_scope(kind: &ServedKind) -> Self {
        let (taken, known) = if kind.namespaced { ("a", "none") } else { ("no", "one") };
        let message = format!(
            "the simulated cluster took {} to have {taken} namespace, and the type of the informer has {known}; add the kind \
             by `with_kind_of`, before its objects",
            kind.qualified()
        );
        Self::new(404, "NotFound", message).with_details(json!({}))
    }

    pub(super) fn not_found(kind: &ServedKind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", kind.qualified())).with_details(about(
            kind,
            &kind.plural,
            name,
        ))
    }

    /// An object has the name. An object with a prefix is said to have got it from the server.
    pub(super) fn already_exists(kind: &ServedKind, name: &str, is_deleting: bool, has_prefix: bool) -> Self {
        let before = if is_deleting { "object is being deleted: " } else { "" };
        let mut details = about(kind, &kind.plural, name);
        let after = if has_prefix {
            details["retryAfterSeconds"] = json!(1);
            ", the server was not able to generate a unique name for the object"
        } else {
            ""
        };
        let message = format!("{before}{} \"{name}\" already exists{after}", kind.qualified());
        let refusal = Self::new(409, "AlreadyExists", message).with_details(details);
        Self { retry_after: has_prefix.then_some(Duration::from_secs(1)), ..refusal }
    }

    pub(super) fn conflict(kind: &ServedKind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.qualified());
        Self::new(409, "Conflict", message).with_details(about(kind, &kind.plural, name))
    }

    pub(super) fn forbidden(kind: &ServedKind, name: &str, why: &str) -> Self {
        Self::new(403, "Forbidden", format!("{} \"{name}\" is forbidden: {why}", kind.qualified())).with_details(about(
            kind,
            &kind.plural,
            name,
        ))
    }

    /// A precondition of a deletion does not hold. It is about the kind, where others are about the resource.
    pub(super) fn precondition(kind: &ServedKind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.qualified_kind());
        Self::new(409, "Conflict", message).with_details(about(kind, &kind.kind, name))
    }

    /// A field has a value that it cannot have.
    pub(super) fn invalid(kind: &ServedKind, name: &str, cause: Cause, field: &str, why: &str) -> Self {
        Self::invalid_fields(kind, name, &[FieldError::new(cause, field, why)])
    }

    /// Some fields have values that they cannot have.
    pub(super) fn invalid_fields(kind: &ServedKind, name: &str, errors: &[FieldError]) -> Self {
        Self::unprocessed(kind, (&kind.kind, kind.qualified_kind()), name, errors)
    }

    /// As [`invalid`](Self::invalid), about the resource, where others are about the kind.
    pub(super) fn invalid_resource(kind: &ServedKind, name: &str, cause: Cause, field: &str, why: &str) -> Self {
        Self::unprocessed(kind, (&kind.plural, kind.qualified()), name, &[FieldError::new(cause, field, why)])
    }

    /// The options of a request are not as they have to be.
    pub(super) fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid_fields(&ServedKind::custom("meta.k8s.io/v1", kind, "", false), "", errors)
    }

    fn unprocessed(kind: &ServedKind, (named, qualified): (&str, String), name: &str, errors: &[FieldError]) -> Self {
        let mut details = about(kind, named, name);
        details["causes"] = errors.iter().map(FieldError::cause).collect();
        let mut seen = HashSet::new();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).filter(|it| seen.insert(it.clone())).collect();
        let text = if let [text] = &texts[..] { text.clone() } else { format!("[{}]", texts.join(", ")) };
        Self::new(422, "Invalid", format!("{qualified} \"{name}\" is invalid: {text}")).with_details(details)
    }

    /// A patch cannot be applied to its object.
    pub(super) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message).with_details(json!({}))
    }

    /// A request, or what it makes of an object, is too large.
    pub(super) fn too_large_entity(why: &str) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}"))
    }

    pub(super) fn no_method() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(json!({}))
    }

    /// The media type of a patch is none that the kind takes.
    pub(super) fn unsupported_media_type(is_custom: bool) -> Self {
        if !is_custom {
            let message = "415: Unsupported Media Type";
            return Self::new(415, "UnsupportedMediaType", message).with_details(json!({}));
        }
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(super) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::new(406, "NotAcceptable", message)
    }

    /// A watch cannot go on from a version.
    pub(super) fn too_old(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    /// A version that is not there yet.
    pub(super) fn too_large(asked: u64, current: u64) -> Self {
        let cause = json!({ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" });
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let details = json!({ "causes": [cause], "retryAfterSeconds": 1 });
        let refusal = Self::new(504, "Timeout", message).with_details(details);
        Self { retry_after: Some(Duration::from_secs(1)), ..refusal }
    }

    /// The media type and the bytes of the answer.
    pub(super) fn body(&self) -> (&'static str, Vec<u8>) {
        match &self.status {
            Some(status) => ("application/json", status.to_string().into_bytes()),
            None => ("text/plain", b"404 page not found\n".to_vec()),
        }
    }
}

/// A field whose value is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    cause: Cause,
    field: String,
    why: String,
}

impl FieldError {
    pub(super) fn new(cause: Cause, field: &str, why: impl Into<String>) -> Self {
        Self { cause, field: field.to_owned(), why: why.into() }
    }

    /// A field has a text that it cannot have.
    pub(super) fn invalid(field: &str, text: &str, why: &str) -> Self {
        Self::new(Cause::Invalid, field, format!("{text:?}: {why}"))
    }

    /// A field has a value that it cannot have; `why` is empty where the cause says it.
    pub(super) fn with_value(cause: Cause, field: &str, value: &Value, why: &str) -> Self {
        let value = match value {
            Value::String(text) => format!("{text:?}"),
            Value::Number(number) => {
                number.as_f64().filter(|_| number.is_f64()).map_or_else(|| number.to_string(), number_text)
            }
            value => value.to_string(),
        };
        Self::new(cause, field, if why.is_empty() { value } else { format!("{value}: {why}") })
    }

    /// A field has none of the texts that it can have.
    pub(super) fn unsupported(field: &str, given: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|value| format!("{value:?}")).collect();
        let why = format!("supported values: {}", known.join(", "));
        Self::with_value(Cause::Unsupported, field, &json!(given), &why)
    }

    /// The error of the same field, in an object below this path.
    pub(super) fn below(self, path: &str) -> Self {
        Self { field: format!("{path}.{}", self.field), ..self }
    }

    /// Whether a server checks no rules of an object that has it.
    #[cfg(feature = "cel")]
    pub(super) fn hides_rules(&self) -> bool {
        matches!(self.cause, Cause::Unsupported | Cause::Required | Cause::TooLong | Cause::TooMany | Cause::Type)
    }

    /// A field has more than so many bytes.
    pub(super) fn too_long(field: &str, bytes: usize) -> Self {
        Self::new(Cause::TooLong, field, format!("may not be more than {bytes} bytes"))
    }

    fn message(&self) -> String {
        let cause = self.cause.texts().0;
        if self.why.is_empty() { cause.to_owned() } else { format!("{cause}: {}", self.why) }
    }

    fn cause(&self) -> Value {
        json!({ "reason": self.cause.texts().1, "message": self.message(), "field": self.field })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// Why a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Duplicate,
    Forbidden,
    Invalid,
    Required,
    TooLong,
    TooMany,
    Type,
    Unsupported,
}

impl Cause {
    /// What messages say, and the reason of the API.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Duplicate => ("Duplicate value", "FieldValueDuplicate"),
            Self::Forbidden => ("Forbidden", "FieldValueForbidden"),
            Self::Invalid => ("Invalid value", "FieldValueInvalid"),
            Self::Required => ("Required value", "FieldValueRequired"),
            Self::TooLong => ("Too long", "FieldValueTooLong"),
            Self::TooMany => ("Too many", "FieldValueTooMany"),
            Self::Type => ("Invalid value", "FieldValueTypeInvalid"),
            Self::Unsupported => ("Unsupported value", "FieldValueNotSupported"),
        }
    }
}

/// A number as a server writes it: without a fraction that is zero.
pub(super) fn number_text(number: f64) -> String {
    number.to_string()
}

fn about(kind: &ServedKind, named: &str, name: &str) -> Value {
    let mut details = json!({ "kind": named });
    if !name.is_empty() {
        details["name"] = json!(name);
    }
    if !kind.group().is_empty() {
        details["group"] = json!(kind.group());
    }
    details
}
