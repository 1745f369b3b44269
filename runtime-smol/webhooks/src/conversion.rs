//! Reviews of conversions (`apiextensions.k8s.io/v1`): objects in, the same objects in another version out.

use super::review::{Fault, malformed, read, request_of};
use core::fmt::Display;
use listwatch::object::Kind;
use listwatch_core::change::without_nulls;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// One way from a version of a kind to another one.
pub(crate) struct Conversion {
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    convert: Box<Convert>,
}

type Convert = dyn Fn(&Value) -> Result<Value, String> + Send + Sync;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    objects: Vec<Value>,
}

const VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// The answer to the review in a body. The objects stay in their order. If one cannot be converted, none is.
pub(crate) fn answer(body: &[u8], known: &[Conversion]) -> Result<Value, Fault> {
    let request = Request::deserialize(request_of(body, VERSION, KIND)?);
    let Request { uid, desired, objects } = request.map_err(|why| malformed(KIND, &why))?;
    let converted: Result<Vec<_>, _> = objects.into_iter().map(|object| convert(object, &desired, known)).collect();
    let mut response = match converted {
        Ok(objects) => json!({ "convertedObjects": objects, "result": { "status": "Success" } }),
        Err(message) => json!({ "result": { "status": "Failure", "message": message } }),
    };
    response["uid"] = uid.into();
    Ok(json!({ "apiVersion": VERSION, "kind": KIND, "response": response }))
}

/// The object in another version, by the shortest way. An object of that version stays as it is.
pub(crate) fn convert(mut object: Value, desired: &str, known: &[Conversion]) -> Result<Value, String> {
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let way = way(&kind, &version, desired, known)
        .ok_or_else(|| format!("no function converts {kind} of {version} to {desired}"))?;
    for step in way {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let failed =
            |why: String| format!("{kind} {name:?} cannot be converted from {} to {}: {why}", step.from, step.to);
        object = (step.convert)(&object).map_err(failed)?;
    }
    Ok(object)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The fewest conversions that lead from a version to another one.
fn way<'k>(kind: &str, from: &'k str, to: &str, known: &'k [Conversion]) -> Option<Vec<&'k Conversion>> {
    let (mut reached, mut queue) = (BTreeMap::from([(from, Vec::new())]), VecDeque::from([from]));
    while let Some(version) = queue.pop_front() {
        let way = reached[version].clone();
        if version == to {
            return Some(way);
        }
        for step in known.iter().filter(|step| step.kind == kind && step.from == version) {
            if !reached.contains_key(step.to) {
                reached.insert(step.to, way.iter().copied().chain([step]).collect());
                queue.push_back(step.to);
            }
        }
    }
    None
}

/// The conversion that two types have.
pub(crate) fn conversion<A, B>() -> Conversion
where
    A: Kind + Serialize + DeserializeOwned + TryInto<B, Error: Display>,
    B: Kind + Serialize,
{
    let convert = |raw: &Value| {
        let old: A = read(raw)?;
        let shown = written(&old)?;
        let new: B = old.try_into().map_err(|error| error.to_string())?;
        let mut object = written(&new)?;
        let metadata = metadata_of(&raw["metadata"], &shown["metadata"], &object["metadata"]);
        let Some(fields) = object.as_object_mut() else { return Err("the type is no JSON object".to_owned()) };
        fields.insert("apiVersion".to_owned(), B::API_VERSION.into());
        fields.insert("kind".to_owned(), B::KIND.into());
        fields.insert("metadata".to_owned(), metadata);
        Ok(object)
    };
    Conversion {
        kind: A::KIND,
        plural: A::PLURAL,
        from: A::API_VERSION,
        to: B::API_VERSION,
        convert: Box::new(convert),
    }
}

/// The metadata of a converted object: a conversion may change labels and annotations, and nothing else.
fn metadata_of(raw: &Value, before: &Value, after: &Value) -> Value {
    let mut metadata = raw.clone();
    for name in ["labels", "annotations"] {
        let Some(after) = after[name].as_object() else { continue };
        let mut laid = raw[name].as_object().cloned().unwrap_or_default();
        let before = before[name].as_object();
        laid.retain(|key, _| after.contains_key(key) || !before.is_some_and(|before| before.contains_key(key)));
        laid.extend(after.clone());
        // A server keeps no empty map.
        set(&mut metadata, name, laid);
    }
    metadata
}

fn set(metadata: &mut Value, name: &str, map: Map<String, Value>) {
    if !map.is_empty() {
        metadata[name] = map.into();
    } else if let Some(fields) = metadata.as_object_mut() {
        fields.remove(name);
    }
}

/// The value as JSON, without the nulls of absent fields. By its text, an `f32` of 0.1 stays 0.1.
fn written(value: &impl Serialize) -> Result<Value, String> {
    let value = serde_json::to_string(value).and_then(|text| serde_json::from_str(&text));
    value.map(without_nulls).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Old {
        metadata: Meta,
        size: String,
    }

    #[derive(Serialize, Deserialize)]
    struct New {
        metadata: Meta,
        size: Option<u32>,
    }

    #[derive(Serialize, Deserialize)]
    struct Newest {
        sizes: Vec<u32>,
    }

    #[derive(Default, Serialize, Deserialize)]
    struct Meta {
        #[serde(default)]
        labels: BTreeMap<String, String>,
    }

    listwatch::kind!(Old as "Foo", "example.com/v1", "foos");
    listwatch::kind!(New as "Foo", "example.com/v2", "foos");
    listwatch::kind!(Newest as "Foo", "example.com/v3", "foos");

    impl TryFrom<Old> for New {
        type Error = String;

        fn try_from(Old { mut metadata, size }: Old) -> Result<Self, String> {
            metadata.labels.remove("old");
            metadata.labels.insert("new".to_owned(), "1".to_owned());
            match &*size {
                "" => Ok(Self { metadata, size: None }),
                size => Ok(Self { metadata, size: Some(size.parse().map_err(|_| format!("{size:?} is no size"))?) }),
            }
        }
    }

    impl From<New> for Newest {
        fn from(new: New) -> Self {
            Self { sizes: new.size.into_iter().collect() }
        }
    }

    fn known() -> [Conversion; 2] {
        [conversion::<Old, New>(), conversion::<New, Newest>()]
    }

    fn asked(version: &str, objects: Value) -> Value {
        let request = json!({ "uid": "7", "desiredAPIVersion": version, "objects": objects });
        let review = json!({ "apiVersion": VERSION, "kind": KIND, "request": request });
        let answer = answer(review.to_string().as_bytes(), &known()).unwrap();
        assert_eq!(answer["response"]["uid"], "7");
        answer["response"].clone()
    }

    fn foo(name: &str, size: &str) -> Value {
        let metadata = json!({ "name": name, "uid": "u", "finalizers": ["x"], "labels": { "old": "1", "a": "b" } });
        json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata, "size": size })
    }

    #[test]
    fn objects_keep_their_order_and_all_metadata_but_labels() {
        let converted = asked("example.com/v2", json!([foo("b", "2"), foo("a", "")]));
        let made = |name: &str| {
            let metadata = json!({ "name": name, "uid": "u", "finalizers": ["x"], "labels": { "a": "b", "new": "1" } });
            json!({ "apiVersion": "example.com/v2", "kind": "Foo", "metadata": metadata })
        };
        let mut sized = made("b");
        sized["size"] = json!(2);
        assert_eq!(converted["convertedObjects"], json!([sized, made("a")]));
        assert_eq!(converted["result"], json!({ "status": "Success" }));
    }

    #[test]
    fn a_version_is_reached_through_another_and_what_its_type_does_not_show_stays() {
        let converted = asked("example.com/v3", json!([foo("a", "2")]));
        let object = &converted["convertedObjects"][0];
        assert_eq!((&object["apiVersion"], &object["sizes"]), (&json!("example.com/v3"), &json!([2])));
        assert_eq!(object["metadata"]["labels"], json!({ "a": "b", "new": "1" }));
    }

    #[test]
    fn no_objects_are_none_and_those_of_the_version_stay() {
        assert_eq!(asked("example.com/v2", json!([]))["convertedObjects"], json!([]));
        let same = json!([foo("a", "1")]);
        assert_eq!(asked("example.com/v1", same.clone())["convertedObjects"], same);
    }

    #[test]
    fn if_one_object_fails_none_is_converted_and_the_message_names_it() {
        let failed = asked("example.com/v2", json!([foo("a", "1"), foo("b", "big")]));
        let message = "Foo \"b\" cannot be converted from example.com/v1 to example.com/v2: \"big\" is no size";
        assert_eq!(failed["result"], json!({ "status": "Failure", "message": message }));
        assert!(failed["convertedObjects"].is_null());
        let unknown = asked("example.com/v9", json!([foo("a", "1")]));
        assert_eq!(unknown["result"]["message"], "no function converts Foo of example.com/v1 to example.com/v9");
    }
}
