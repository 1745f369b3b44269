//! Digests of requests, by which recorded responses are found.

use super::format::RequestRecord;
use listwatch_core::api::ApiRequest;
use listwatch_core::request::percent_decode_bytes;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A digest of a request, which ignores the order of the query and of the fields of a JSON body.
///
/// An index holds digests alone, because requests have any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestDigest(u64);

impl RequestDigest {
    /// The digest of a recorded request.
    pub(crate) fn recorded(request: &RequestRecord<'_>) -> Self {
        let body = request.body.as_ref().map(|body| {
            body.text().map_or_else(
                || digest(body.json().as_bytes()),
                // The text is usually JSON.
                |text| digest(text.as_bytes()),
            )
        });
        Self::of(&request.method, &request.path, body)
    }

    /// The digest of a client's request.
    pub(crate) fn exactly(request: &ApiRequest) -> Self {
        let body = (!request.body.is_empty()).then(|| digest(&request.body));
        Self::of(request.method.name(), &request.to_string(), body)
    }

    /// The digest of the request without its body, for recordings that lack bodies.
    pub(crate) fn without_body(request: &ApiRequest) -> Self {
        Self::of(request.method.name(), &request.to_string(), None)
    }

    fn of(method: &str, target: &str, body: Option<u64>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut pairs: Vec<Vec<u8>> =
            query.split('&').filter(|pair| !pair.is_empty()).map(percent_decode_bytes).collect();
        pairs.sort_unstable();
        let mut hasher = DefaultHasher::new();
        (method, percent_decode_bytes(path), pairs, body).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The digest of a body: of its JSON value, or of its bytes.
fn digest(body: &[u8]) -> u64 {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = JsonDigest.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.unwrap_or_else(|_| hashed(body))
}

pub(crate) fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Computes a digest of a JSON value while parsing it. A tree would take many times the memory of its text.
#[derive(Clone, Copy)]
struct JsonDigest;

impl<'de> DeserializeSeed<'de> for JsonDigest {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonDigest {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(hashed('n'))
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(hashed(('b', value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(hashed(('u', value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(hashed(('i', value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        Ok(hashed(('f', value.to_bits())))
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(hashed(('s', value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut all = DefaultHasher::new();
        while let Some(item) = items.next_element_seed(self)? {
            item.hash(&mut all);
        }
        Ok(hashed(('[', all.finish())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<u64, A::Error> {
        // A sum ignores the order of the fields.
        let mut all = 0_u64;
        while let Some(field) = fields.next_entry_seed(self, self)? {
            all = all.wrapping_add(hashed(field));
        }
        Ok(hashed(('{', all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::api::Method;

    fn asked(query: &[(&'static str, &str)], body: &str) -> RequestDigest {
        let mut request = ApiRequest::new(Method::Patch, "/api/v1/pods/a");
        request.query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        request.body = body.as_bytes().to_vec();
        RequestDigest::exactly(&request)
    }

    fn recorded(path: &str, body: &str) -> RequestDigest {
        let line = format!(r#"{{"method":"PATCH","path":"/api/v1/pods/a{path}"{body}}}"#);
        RequestDigest::recorded(&serde_json::from_str(&line).unwrap())
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
