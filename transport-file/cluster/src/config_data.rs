//! What a server makes of ConfigMaps and Secrets, and what it refuses in them.

use super::refusal::{Cause, FieldError};
use super::typed::decode_texts;
use crate::kinds::ServedKind;
use base64::prelude::BASE64_STANDARD;
use base64::{DecodeError, Engine};
use serde_json::{Value, json};

/// The most bytes of the data of a ConfigMap or a Secret.
const BYTES: usize = 1024 * 1024;

/// The two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfigKind {
    ConfigMap,
    Secret,
}

impl ConfigKind {
    pub(super) fn of(kind: &ServedKind) -> Option<Self> {
        match (kind.api_version.as_str(), kind.kind.as_str()) {
            ("v1", "ConfigMap") => Some(Self::ConfigMap),
            ("v1", "Secret") => Some(Self::Secret),
            _ => None,
        }
    }

    /// The fields whose values are texts, and whether those are in base64.
    fn fields(self) -> [(&'static str, bool); 2] {
        match self {
            Self::ConfigMap => [("data", false), ("binaryData", true)],
            Self::Secret => [("data", true), ("stringData", false)],
        }
    }

    /// Reads the data: a null is empty, and any other value that is no text of its sort is refused.
    pub(super) fn decode(self, object: &mut Value) -> Result<(), String> {
        for (field, is_base64) in self.fields() {
            let Some(values) = object.get_mut(field).filter(|values| !values.is_null()) else { continue };
            let of = if self == Self::Secret { "Secret" } else { "ConfigMap" };
            // Bytes are a list, too.
            let is_empty = |value: &&mut Value| is_base64 && value.as_array().is_some_and(Vec::is_empty);
            let values_in = values.as_object_mut().into_iter().flat_map(|values| values.values_mut());
            values_in.filter(is_empty).for_each(|value| *value = json!(""));
            let text = if is_base64 { "[]uint8" } else { "string" };
            decode_texts(values, &format!("struct field {of}.{field}"), text)?;
            let texts = values.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
            if let Some(fault) = texts.filter(|_| is_base64).find_map(base64_fault) {
                return Err(fault);
            }
        }
        self.remove_empty(object);
        Ok(())
    }

    /// The names of the fields that have data.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.fields().into_iter().map(|(field, _)| field)
    }

    /// Removes data that are empty, which a server leaves out.
    pub(super) fn remove_empty(self, object: &mut Value) {
        let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
        let is_data = |name: &String| self.names().any(|field| field == name);
        let fields = object.as_object_mut().into_iter();
        fields.for_each(|fields| fields.retain(|name, value| !(is_data(name) && is_empty(value))));
    }

    /// Gives a Secret its type, and moves its texts to its data.
    pub(super) fn complete(self, object: &mut Value) {
        let Some(fields) = object.as_object_mut().filter(|_| self == Self::Secret) else { return };
        if fields.get("type").and_then(Value::as_str).unwrap_or_default().is_empty() {
            fields.insert("type".into(), json!("Opaque"));
        }
        let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
        let data = fields.entry("data").or_insert(Value::Null);
        if !data.is_object() {
            *data = json!({});
        }
        for (name, text) in texts {
            data[name] = json!(BASE64_STANDARD.encode(text.as_str().unwrap_or_default()));
        }
    }

    /// What is wrong with the data, and with a change of them.
    pub(super) fn faults(self, object: &Value, stored: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        self.check_data(object, &mut errors);
        if self == Self::Secret {
            check_type(object, &mut errors);
        }
        if let Some(stored) = stored {
            self.check_change(object, stored, &mut errors);
        }
        errors
    }

    fn check_data(self, object: &Value, errors: &mut Vec<FieldError>) {
        let mut bytes = 0;
        for (field, is_base64) in self.fields() {
            for (name, value) in object[field].as_object().into_iter().flatten() {
                let at = format!("{field}[{name}]");
                errors.extend(key_fault(name).map(|why| FieldError::invalid(&at, name, why)));
                if field == "data" && object["binaryData"].get(name).is_some() {
                    errors.push(FieldError::invalid(&at, name, "duplicate of key present in binaryData"));
                }
                let text = value.as_str().unwrap_or_default();
                bytes += if is_base64 { decoded_len(text) } else { text.len() };
            }
        }
        if bytes > BYTES {
            errors.push(FieldError::too_long(if self == Self::Secret { "data" } else { "[]" }, BYTES));
        }
    }

    /// Data that are immutable stay as they are, and stay immutable.
    fn check_change(self, object: &Value, stored: &Value, errors: &mut Vec<FieldError>) {
        if self == Self::Secret && object["type"] != stored["type"] && !stored["type"].is_null() {
            let why = format!("{}: field is immutable", object["type"]);
            errors.push(FieldError::new(Cause::Invalid, "type", why));
        }
        if stored["immutable"] != true {
            return;
        }
        let is_kept = |field: &&&str| match **field {
            "immutable" => object["immutable"] == true,
            field => same(&object[field], &stored[field]),
        };
        for field in ["immutable", "data", "binaryData"].iter().filter(|field| !is_kept(field)) {
            let why = "field is immutable when `immutable` is set";
            errors.push(FieldError::new(Cause::Forbidden, field, why));
        }
    }
}

/// What is wrong with a text that is no base64.
fn base64_fault(text: &str) -> Option<String> {
    let place = match BASE64_STANDARD.decode(text).err()? {
        DecodeError::InvalidByte(place, _) => place,
        _ => text.len(),
    };
    Some(format!("illegal base64 data at input byte {place}"))
}

/// Whether two values are equal, where none equals an empty one.
fn same(one: &Value, other: &Value) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    one == other || (is_empty(one) && is_empty(other))
}

/// The number of bytes for which a text in base64 stands, which was [decoded](ConfigKind::decode) before.
fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// What is wrong with a key of data.
fn key_fault(key: &str) -> Option<&'static str> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match key {
        _ if key.len() > 253 => Some("must be no more than 253 bytes"),
        _ if key.is_empty() || !key.bytes().all(is_letter) => Some(KEY),
        "." => Some("must not be '.'"),
        ".." => Some("must not be '..'"),
        _ if key.starts_with("..") => Some("must not start with '..'"),
        _ => None,
    }
}

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  \
                   or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// The data that a Secret of a type has to have. One of `username` and `password` is enough.
fn check_type(secret: &Value, errors: &mut Vec<FieldError>) {
    let kind = secret["type"].as_str().unwrap_or_default();
    let required: &[&str] = match kind.strip_prefix("kubernetes.io/").unwrap_or_default() {
        "tls" => &["tls.crt", "tls.key"],
        "basic-auth" => &["username", "password"],
        "ssh-auth" => &["ssh-privatekey"],
        "dockercfg" => &[".dockercfg"],
        "dockerconfigjson" => &[".dockerconfigjson"],
        "service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if secret["metadata"]["annotations"][name].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::new(Cause::Required, &format!("metadata.annotations[{name}]"), ""));
            }
            return;
        }
        _ => return,
    };
    let absent: Vec<&&str> = required.iter().filter(|key| secret["data"].get(**key).is_none()).collect();
    if kind == "kubernetes.io/basic-auth" && absent.len() < required.len() {
        return;
    }
    errors.extend(absent.iter().map(|key| FieldError::new(Cause::Required, &format!("data[{key}]"), "")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_have_1_mib_at_most() {
        for (bytes, is_valid) in [(BYTES, true), (BYTES + 1, false)] {
            let map = json!({ "data": { "a": "x".repeat(bytes) } });
            assert_eq!(ConfigKind::ConfigMap.faults(&map, None).is_empty(), is_valid, "{bytes}");
            let secret = json!({ "data": { "a": BASE64_STANDARD.encode("x".repeat(bytes)) } });
            assert_eq!(ConfigKind::Secret.faults(&secret, None).is_empty(), is_valid, "{bytes}");
        }
    }

    #[test]
    fn the_texts_of_a_secret_become_data() {
        let mut secret = json!({ "data": { "a": "eA==", "b": null }, "stringData": { "a": "y" } });
        ConfigKind::Secret.decode(&mut secret).unwrap();
        ConfigKind::Secret.complete(&mut secret);
        assert_eq!(secret, json!({ "type": "Opaque", "data": { "a": "eQ==", "b": "" } }));
    }
}
