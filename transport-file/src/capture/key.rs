//! Digests by which recorded exchanges are found. Requests have any size, so only their digests are in memory.

use super::format::RequestRecord;
use listwatch_core::Resource;
use listwatch_core::api::ApiRequest;
use listwatch_core::request::{Query, Request, percent_decode_bytes};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The digest by which an exchange is found: of a list or a watch, or of a client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u64);

/// The digest of a resource. Its metadata-only form has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceKey(u64);

impl ResourceKey {
    pub(crate) fn of(resource: &Resource) -> Self {
        Self(hashed((resource.path(), resource.label_selector(), resource.field_selector())))
    }
}

impl Key {
    /// The key of a list or a watch that got whole objects or metadata alone: the resource, the kind and the page.
    pub(crate) fn of_request(request: &Request, metadata_only: bool) -> Self {
        Self::of(&request.resource, request.query(), request.continue_token(), metadata_only)
    }

    /// The key of the first page of a list, or of a watch without a page.
    pub(super) fn of_query(resource: &Resource, query: Query, metadata_only: bool) -> Self {
        Self::of(resource, query, None, metadata_only)
    }

    fn of(resource: &Resource, query: Query, page: Option<&str>, metadata_only: bool) -> Self {
        Self(hashed((ResourceKey::of(resource), query, page, metadata_only)))
    }

    /// The key of a client's request. The order of the query and of the fields of a JSON body does not matter.
    pub(crate) fn of_call(request: &ApiRequest) -> Self {
        let body = (!request.body.is_empty()).then(|| digest(&request.body));
        Self::of_parts(request.method.name(), &request.to_string(), body)
    }

    /// The key of a client's request without its body, for recordings that lack bodies.
    pub(crate) fn of_bare_call(request: &ApiRequest) -> Self {
        Self::of_parts(request.method.name(), &request.to_string(), None)
    }

    /// The key of a recorded request, as that of a client.
    pub(super) fn of_recorded_call(request: &RequestRecord<'_>) -> Self {
        // A text is usually JSON.
        let body = request.body.as_ref().map(|body| match body.text() {
            Some(text) => digest(text.as_bytes()),
            None => digest(body.json().as_bytes()),
        });
        Self::of_parts(&request.method, &request.path, body)
    }

    fn of_parts(method: &str, target: &str, body: Option<u64>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut pairs: Vec<Vec<u8>> =
            query.split('&').filter(|pair| !pair.is_empty()).map(percent_decode_bytes).collect();
        pairs.sort_unstable();
        Self(hashed(("call", method, percent_decode_bytes(path), pairs, body)))
    }

    /// The words and the bits by which a filter of so many words finds the key.
    pub(super) fn bits(self, words: usize) -> impl Iterator<Item = (usize, u64)> {
        [0, 13, 26, 39, 52].into_iter().map(move |shift| {
            let bit = self.0.rotate_right(shift) % (64 * words as u64);
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }
}

/// The digest of a body: of its JSON value, or of its bytes.
fn digest(body: &[u8]) -> u64 {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = JsonDigest.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.unwrap_or_else(|_| hashed(body))
}

fn hashed(value: impl Hash) -> u64 {
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

    fn asked(query: &[(&'static str, &str)], body: &str) -> Key {
        let mut request = ApiRequest::new(Method::Patch, "/api/v1/pods/a");
        request.query = query.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        request.body = body.as_bytes().to_vec();
        Key::of_call(&request)
    }

    fn recorded(path: &str, body: &str) -> Key {
        let line = format!(r#"{{"method":"PATCH","path":"/api/v1/pods/a{path}"{body}}}"#);
        Key::of_recorded_call(&serde_json::from_str(&line).unwrap())
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
