use super::packed::{Codec, Packed};
use super::raw::{MetadataOnly, Raw};
use crate::object::{Meta, Uid};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::ser::Serialize;
use serde_json::{Map, Value, json};

/// A type whose objects can be written as JSON that [`Json`](super::Json) reads as the same objects: what a saved cache
/// consists of.
///
/// | type | written as |
/// |---|---|
/// | [`Raw`], [`Packed`] | its text, which is the server's |
/// | [`MetadataOnly`] | the metadata that [`Meta`] has |
/// | a type that implements `Serialize` and `Deserialize` | its fields, and of the metadata what [`Meta`] has and the type has not |
///
/// A type of the last kind has to write each field that it reads. A type that only reads cannot be saved.
pub trait ToJson {
    /// Names what is written. Only the same form is read back: a type that has changed may read a field that was not
    /// written.
    fn form() -> Form;

    /// Appends the JSON of the object with these metadata.
    ///
    /// # Errors
    /// If the value cannot be written, or is no JSON object.
    fn to_json(&self, meta: &Meta, out: &mut Vec<u8>) -> Result<(), ToJsonError>;
}

/// What is written of an object; see [`ToJson`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// The whole text of the object.
    Whole,
    /// The metadata.
    Metadata,
    /// The fields of a type of the program, by the type's name. Another build of the program may read other fields.
    Fields(&'static str),
}

/// Why an object cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToJsonError(String);

impl fmt::Display for ToJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ToJsonError {}

impl ToJson for Raw {
    fn form() -> Form {
        Form::Whole
    }

    fn to_json(&self, _: &Meta, out: &mut Vec<u8>) -> Result<(), ToJsonError> {
        out.extend_from_slice(self.as_str().as_bytes());
        Ok(())
    }
}

impl<C: Codec> ToJson for Packed<C> {
    fn form() -> Form {
        Form::Whole
    }

    fn to_json(&self, meta: &Meta, out: &mut Vec<u8>) -> Result<(), ToJsonError> {
        self.raw().map_err(|error| ToJsonError(error.to_string()))?.to_json(meta, out)
    }
}

impl ToJson for MetadataOnly {
    fn form() -> Form {
        Form::Metadata
    }

    fn to_json(&self, meta: &Meta, out: &mut Vec<u8>) -> Result<(), ToJsonError> {
        write(&json!({ "metadata": metadata(meta) }), out)
    }
}

impl<T: Serialize> ToJson for T {
    fn form() -> Form {
        Form::Fields(core::any::type_name::<T>())
    }

    fn to_json(&self, meta: &Meta, out: &mut Vec<u8>) -> Result<(), ToJsonError> {
        let value = serde_json::to_value(self).map_err(|error| ToJsonError(error.to_string()))?;
        let Value::Object(mut whole) = value else {
            return Err(ToJsonError("the type is not written as a JSON object".into()));
        };
        let own = whole.entry("metadata").or_insert(Value::Null);
        if own.is_null() {
            *own = Value::Object(Map::new());
        }
        complete(own, &metadata(meta));
        write(&whole, out)
    }
}

/// Adds what a type does not have itself, wherever it has a part: a few labels, the names of owners.
fn complete(own: &mut Value, known: &Value) {
    match (own, known) {
        (Value::Object(own), Value::Object(known)) => {
            for (name, value) in known {
                match own.get_mut(name) {
                    // As an absent one is read.
                    Some(Value::Null) | None if matches!(value, Value::Null | Value::Bool(false)) => {}
                    Some(Value::Null) | None => _ = own.insert(name.clone(), value.clone()),
                    Some(own) => complete(own, value),
                }
            }
        }
        (Value::Array(own), Value::Array(known)) if own.len() == known.len() => {
            own.iter_mut().zip(known).for_each(|(own, known)| complete(own, known));
        }
        _ => {}
    }
}

/// The metadata that are there, as JSON.
fn metadata(meta: &Meta) -> Value {
    let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Value::from);
    let pairs = |pairs: Map<String, Value>| Some(Value::Object(pairs)).filter(|pairs| pairs != &json!({}));
    let list = |list: Vec<Value>| (!list.is_empty()).then_some(Value::Array(list));
    let labels = meta.labels().map(|(name, value)| (name.into(), value.into())).collect();
    let annotations =
        meta.annotations().map(|all| all.map(|(name, value)| (name.into(), value.into())).collect::<Map<_, _>>());
    let fields = [
        ("name", text(meta.name())),
        ("namespace", meta.namespace().and_then(text)),
        ("uid", meta.uid().map(|uid| uid.encode(&mut [0; Uid::CANONICAL_LEN]).into())),
        ("resourceVersion", text(meta.resource_version())),
        ("generation", Some(meta.generation()).filter(|generation| *generation != 0).map(Value::from)),
        ("deletionTimestamp", meta.deletion_timestamp().and_then(text)),
        ("labels", pairs(labels)),
        ("annotations", annotations.and_then(pairs)),
        ("ownerReferences", list(owners(meta))),
        ("finalizers", list(meta.finalizers().map(Value::from).collect())),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn owners(meta: &Meta) -> Vec<Value> {
    let owners = meta.owner_references().map(|owner| {
        json!({
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid.map(|uid| uid.to_string()),
            "controller": owner.controller,
            "blockOwnerDeletion": owner.block_owner_deletion,
        })
    });
    owners.collect()
}

fn write(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), ToJsonError> {
    let json = serde_json::to_vec(value).map_err(|error| ToJsonError(error.to_string()))?;
    out.extend_from_slice(&json);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{DecodeOptions, Decoder, FromJson, ListMeta};
    use super::*;
    use crate::object::Object;
    use serde::Deserialize;

    const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","uid":"u-1",
        "resourceVersion":"7","generation":3,"deletionTimestamp":"2026-11-22T12:34:48Z","labels":{"app":"web","b":""},
        "annotations":{"note":"größer \"1\""},"finalizers":["example.com/guard"],"ownerReferences":[{"apiVersion":"v1",
        "kind":"Set","name":"s","uid":"u-2","controller":true}]},"spec":{"node":"n1","more":[1,2.5]},"status":null}"#;

    fn read<T: FromJson<State = ()>>(text: &[u8]) -> Object<T> {
        let options = DecodeOptions { annotations: true, ..DecodeOptions::default() };
        let Object { meta, value } = Decoder::new(options).item::<T::Json>(text, &ListMeta::default()).unwrap();
        Object { meta, value: T::from_json(value, &mut ()) }
    }

    /// Reads what is written of an object as the same object.
    fn comes_back<T: ToJson + FromJson<State = ()> + PartialEq + fmt::Debug>() {
        let (object, mut out) = (read::<T>(POD.as_bytes()), Vec::new());
        object.value.to_json(&object.meta, &mut out).unwrap();
        assert_eq!(read::<T>(&out), object, "{}", core::str::from_utf8(&out).unwrap());
    }

    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Pod {
        spec: Spec,
    }

    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Spec {
        node: String,
    }

    /// A type with a part of the metadata.
    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Named {
        metadata: Name,
    }

    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Name {
        name: String,
        missing: Option<u8>,
    }

    #[test]
    fn every_kind_of_type_comes_back_with_its_metadata() {
        comes_back::<Raw>();
        comes_back::<MetadataOnly>();
        comes_back::<Value>();
        comes_back::<Pod>();
        comes_back::<Named>();
    }

    /// A type with one of the labels, and with the names of owners.
    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Partial {
        metadata: Parts,
    }

    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Parts {
        labels: Labels,
        owner_references: Vec<Name>,
    }

    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Labels {
        app: String,
    }

    #[test]
    fn labels_and_owners_that_a_type_has_in_part_come_back() {
        comes_back::<Partial>();
    }

    #[test]
    fn a_value_that_is_no_json_object_is_an_error() {
        let error = 7.to_json(&read::<Raw>(POD.as_bytes()).meta, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the type is not written as a JSON object");
    }

    #[test]
    fn only_the_fields_of_a_programs_own_type_have_a_name_of_their_own() {
        assert_eq!((Raw::form(), MetadataOnly::form()), (Form::Whole, Form::Metadata));
        assert!(matches!(Pod::form(), Form::Fields(name) if name.ends_with("::Pod")));
        assert_ne!(Pod::form(), Named::form());
    }
}
