//! What a client asked, as far as its answer is found by it.

use crate::format::RequestRecord;
use listwatch_core::ApiRequest;
use serde_json::Value;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A digest of a request: of a recording, nothing but digests is held in memory. The order of the query and of the fields of
/// a JSON body do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked(u64);

impl Asked {
    /// A request as it was recorded.
    pub(crate) fn recorded(request: &RequestRecord<'_>) -> Self {
        let body = request.body.as_ref().map(|body| match body {
            // Text, which usually is JSON.
            Value::String(text) => Body::of(text.as_bytes()),
            json => Body::Json(json.clone()),
        });
        Self::of(&request.method, &request.path, body)
    }

    /// The request of a client.
    pub(crate) fn exactly(request: &ApiRequest) -> Self {
        let body = (!request.body.is_empty()).then(|| Body::of(&request.body));
        Self::of(request.method.name(), &request.to_string(), body)
    }

    /// The same, recorded without its body.
    pub(crate) fn without_body(request: &ApiRequest) -> Self {
        Self::of(request.method.name(), &request.to_string(), None)
    }

    fn of(method: &str, target: &str, body: Option<Body>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut pairs: Vec<Vec<u8>> = query.split('&').filter(|pair| !pair.is_empty()).map(decoded).collect();
        pairs.sort_unstable();
        let mut hasher = DefaultHasher::new();
        (method, decoded(path), pairs).hash(&mut hasher);
        if let Some(body) = body {
            body.mix(&mut hasher);
        }
        Self(hasher.finish())
    }
}

enum Body {
    Json(Value),
    Other(Vec<u8>),
}

impl Body {
    fn of(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).map_or_else(|_| Self::Other(bytes.to_vec()), Self::Json)
    }

    fn mix(&self, hasher: &mut impl Hasher) {
        match self {
            Self::Json(value) => mix(value, hasher),
            Self::Other(bytes) => bytes.hash(hasher),
        }
    }
}

fn mix(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Array(items) => {
            ('[', items.len()).hash(hasher);
            items.iter().for_each(|item| mix(item, hasher));
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| name.as_str());
            ('{', fields.len()).hash(hasher);
            for (name, value) in fields {
                name.hash(hasher);
                mix(value, hasher);
            }
        }
        scalar => scalar.to_string().hash(hasher),
    }
}

/// Without the escapes of a URL.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (bytes, mut at, mut plain) = (text.as_bytes(), 0, Vec::with_capacity(text.len()));
    while let Some(byte) = bytes.get(at) {
        let escaped = digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2))).filter(|_| *byte == b'%');
        plain.push(match (escaped, byte) {
            (Some((high, low)), _) => (high * 16 + low) as u8,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::Method;

    fn asked(query: &[(&'static str, &str)], body: &str) -> Asked {
        let mut request = ApiRequest::new(Method::Patch, "/api/v1/pods/a");
        request.query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        request.body = body.as_bytes().to_vec();
        Asked::exactly(&request)
    }

    fn recorded(path: &str, body: &str) -> Asked {
        let line = format!(r#"{{"method":"PATCH","path":"/api/v1/pods/a{path}"{body}}}"#);
        Asked::recorded(&serde_json::from_str(&line).unwrap())
    }

    #[test]
    fn a_request_is_found_however_its_query_and_its_body_were_written() {
        let sent = asked(&[("force", "true"), ("fieldManager", "me & you")], r#"{"a":1,"b":[{"c":2,"d":"x"}]}"#);
        for path in ["?fieldManager=me+%26+you&force=true", "?force=true&fieldManager=me%20%26%20you"] {
            for body in [
                r#","body":"{\"a\":1,\"b\":[{\"c\":2,\"d\":\"x\"}]}""#,
                r#","body":"{ \"b\": [{\"d\":\"x\",\"c\":2}], \"a\": 1 }""#,
                r#","body":{"b":[{"d":"x","c":2}],"a":1}"#,
            ] {
                assert_eq!(recorded(path, body), sent, "{path} {body}");
            }
            assert_ne!(recorded(path, ""), sent);
            assert_ne!(recorded(path, r#","body":{"a":1,"b":[{"c":2,"d":"y"}]}"#), sent);
        }
        assert_ne!(recorded("", r#","body":{"a":1,"b":[{"c":2,"d":"x"}]}"#), sent);
    }

    #[test]
    fn a_body_that_is_no_json_is_compared_by_its_bytes() {
        assert_eq!(recorded("", r#","body":"a: 1""#), asked(&[], "a: 1"));
        assert_ne!(recorded("", r#","body":"a: 2""#), asked(&[], "a: 1"));
    }
}
