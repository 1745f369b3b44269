//! What a refusal says of a repetition: the only place that decides it.

use crate::decode::Status;

/// A rule of [`REFUSALS`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RefusalRule {
    /// The refusals that the rule covers.
    pub sign: RefusalSign,
    /// What the same request may expect later.
    pub prospect: Prospect,
}

/// How a refusal is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalSign {
    /// One of `details.causes` has this reason.
    Cause(&'static str),
    /// The server names a time, in `details.retryAfterSeconds`.
    RetryAfter,
    /// The refusal has this code, and its message this text.
    Message(u16, &'static str),
    /// The `Status` has this reason.
    Reason(&'static str),
    /// The code is one of these; both ends belong to them.
    Codes(u16, u16),
}

/// What the same request may expect later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// The refusal passes by itself: it says nothing about the object.
    Passes,
    /// It lasts until somebody changes the object, the request or the cluster.
    Lasts,
}

use Prospect::{Lasts, Passes};
use RefusalSign::{Cause, Codes, Message, Reason, RetryAfter};

/// What a refusal says of a repetition. The first rule whose sign the refusal has counts.
///
/// | refusal | prospect | because |
/// |---|---|---|
/// | 409, a conflict of field managers | lasts | two managers want other values |
/// | 403, the namespace is being deleted | lasts | it never takes an object again |
/// | any with `retryAfterSeconds` | passes | the server says when |
/// | 403, a quota is exceeded or not counted yet | passes | other objects go |
/// | 409 `AlreadyExists` | lasts | another object has the name |
/// | 409 otherwise | passes | the object has changed meanwhile |
/// | 410 | passes | a list begins anew |
/// | 429 | passes | the server is busy, or a disruption budget is spent |
/// | 501, 505 | lasts | the server cannot do it |
/// | 500 to 599 otherwise | passes | the server, its store or a webhook is in trouble |
/// | all others: 400, 401, 403, 404, 405, 413, 415, 422 | lasts | |
pub const REFUSALS: &[RefusalRule] = &[
    RefusalRule::new(Cause("FieldManagerConflict"), Lasts),
    RefusalRule::new(Cause("NamespaceTerminating"), Lasts),
    RefusalRule::new(RetryAfter, Passes),
    RefusalRule::new(Message(403, "exceeded quota: "), Passes),
    RefusalRule::new(Message(403, "status unknown for quota: "), Passes),
    RefusalRule::new(Reason("AlreadyExists"), Lasts),
    RefusalRule::new(Reason("Conflict"), Passes),
    RefusalRule::new(Reason("TooManyRequests"), Passes),
    RefusalRule::new(Codes(409, 410), Passes),
    RefusalRule::new(Codes(429, 429), Passes),
    RefusalRule::new(Codes(501, 501), Lasts),
    RefusalRule::new(Codes(505, 505), Lasts),
    RefusalRule::new(Codes(500, 599), Passes),
];

impl RefusalRule {
    const fn new(sign: RefusalSign, prospect: Prospect) -> Self {
        Self { sign, prospect }
    }
}

impl RefusalSign {
    fn is_of(self, status: &Status) -> bool {
        match self {
            Cause(reason) => status.has_cause(reason),
            RetryAfter => status.retry_after().is_some(),
            Message(code, text) => status.code == code && status.message.contains(text),
            Reason(reason) => status.reason == reason,
            Codes(first, last) => (first..=last).contains(&status.code),
        }
    }
}

impl Prospect {
    /// What a refusal may expect.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        REFUSALS.iter().find(|rule| rule.sign.is_of(status)).map_or(Lasts, |rule| rule.prospect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::string::ToString;

    /// A refusal as a kube-apiserver words it.
    fn prospect(code: u16, reason: &str, message: &str, details: Value) -> Prospect {
        let body = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
            "details": details });
        Prospect::of(&Status::read(code, body.to_string().as_bytes()))
    }

    fn cause(reason: &str) -> Value {
        json!({ "causes": [{ "reason": "Other", "field": ".spec" }, { "reason": reason, "field": ".data.k" }] })
    }

    #[test]
    fn what_a_refusal_says_decides_whether_it_lasts() {
        let wait = || json!({ "retryAfterSeconds": 2 });
        let quota = r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#;
        let uncounted = r#"pods "a" is forbidden: status unknown for quota: q, resources: pods"#;
        for (code, reason, message, details, expected) in [
            (400, "BadRequest", "", json!({}), Lasts),
            (401, "Unauthorized", "", json!({}), Lasts),
            (403, "Forbidden", r#"User "u" cannot create resource "pods""#, json!({}), Lasts),
            (403, "Forbidden", quota, json!({}), Passes),
            (403, "Forbidden", uncounted, json!({}), Passes),
            (403, "Forbidden", "because it is being terminated", cause("NamespaceTerminating"), Lasts),
            (404, "NotFound", r#"namespaces "web" not found"#, json!({ "name": "web", "kind": "namespaces" }), Lasts),
            (404, "NotFound", r#"pods "a" not found"#, json!({ "name": "a" }), Lasts),
            (405, "MethodNotAllowed", "", json!({}), Lasts),
            (406, "NotAcceptable", "", json!({}), Lasts),
            (409, "Conflict", "Operation cannot be fulfilled on pods", json!({ "name": "a" }), Passes),
            (409, "Conflict", "Apply failed with 1 conflict", cause("FieldManagerConflict"), Lasts),
            (409, "AlreadyExists", "", json!({ "name": "a" }), Lasts),
            (409, "AlreadyExists", "the server was not able to generate a unique name", wait(), Passes),
            (409, "", "", json!({}), Passes),
            (410, "Expired", "", json!({}), Passes),
            (410, "Gone", "", json!({}), Passes),
            (413, "RequestEntityTooLarge", "", json!({}), Lasts),
            (415, "UnsupportedMediaType", "", json!({}), Lasts),
            (422, "Invalid", "", cause("FieldValueInvalid"), Lasts),
            (429, "TooManyRequests", "", json!({}), Passes),
            (429, "TooManyRequests", "Cannot evict pod", cause("DisruptionBudget"), Passes),
            (500, "InternalError", "failed calling webhook", json!({}), Passes),
            (500, "ServerTimeout", "", wait(), Passes),
            (501, "", "", json!({}), Lasts),
            (503, "ServiceUnavailable", "", json!({}), Passes),
            (504, "Timeout", "", json!({}), Passes),
            (504, "Timeout", "Too large resource version", cause("ResourceVersionTooLarge"), Passes),
        ] {
            assert_eq!(prospect(code, reason, message, details), expected, "{code} {reason} {message}");
        }
        for (code, expected) in [(403, Lasts), (404, Lasts), (409, Passes), (429, Passes), (502, Passes)] {
            assert_eq!(Prospect::of(&Status::of_code(code)), expected, "a proxy's {code}");
        }
    }
}
