//! One table a subject. Each case reads a type from a raw object, changes it, and applies the patch to the raw object.

use super::{Change, ChangeError, ChangeErrorKind as Kind, Part, apply_merge_patch, change};
use alloc::collections::BTreeMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

/// The raw object after a change of `T`, or the error; `None` if the change makes no request.
fn changed<T: Serialize + DeserializeOwned + Clone>(
    raw: &Value,
    edit: impl FnOnce(&mut T),
) -> Result<Option<Value>, ChangeError> {
    let before = T::deserialize(raw).unwrap();
    let mut after = before.clone();
    edit(&mut after);
    let patch = match change(&before, &after, Part::Object)? {
        Change::Nothing => None,
        Change::Patch(patch) => Some(patch),
        Change::NeedsRaw(change) => change.lay_over(raw)?,
    };
    Ok(patch.map(|patch| {
        let mut object = raw.clone();
        apply_merge_patch(&mut object, &patch);
        object
    }))
}

#[track_caller]
fn becomes<T: Serialize + DeserializeOwned + Clone>(raw: &Value, edit: impl FnOnce(&mut T), wanted: &Value) {
    assert_eq!(changed(raw, edit).unwrap_or_else(|error| panic!("{error}")).as_ref(), Some(wanted));
}

#[track_caller]
fn makes_no_request<T: Serialize + DeserializeOwned + Clone>(raw: &Value, edit: impl FnOnce(&mut T)) {
    assert_eq!(changed(raw, edit), Ok(None));
}

#[track_caller]
fn is_refused<T: Serialize + DeserializeOwned + Clone>(raw: &Value, edit: impl FnOnce(&mut T), path: &str, kind: Kind) {
    assert_eq!(changed(raw, edit), Err(ChangeError { path: path.to_string(), kind }));
}

/// An object that holds one list, and one field that no type here knows.
fn list(elements: Value) -> Value {
    json!({ "metadata": { "name": "a" }, "list": elements, "other": { "stays": [1, null] } })
}

#[derive(Clone, Serialize, Deserialize)]
struct List<E> {
    #[serde(default = "Vec::new")]
    list: Vec<E>,
}

/// What the type of the issue knows of a container.
#[derive(Clone, Serialize, Deserialize)]
struct Image {
    image: String,
}

fn image(image: &str) -> Image {
    Image { image: image.to_string() }
}

#[derive(Clone, Serialize, Deserialize)]
struct Named {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<String>,
}

fn named(name: &str) -> Named {
    Named { name: name.to_string(), image: None }
}

/// Two containers, each with a field that no type here knows.
fn two() -> Value {
    list(json!([{ "name": "a", "image": "1", "x": "a" }, { "name": "b", "image": "2", "x": "b" }]))
}

#[test]
fn a_type_that_knows_only_the_image_keeps_the_rest_of_a_container() {
    let of = |first: &str, second: &str| {
        list(json!([{ "name": "a", "image": first, "x": "a" }, { "name": "b", "image": second, "x": "b" }]))
    };
    becomes(&two(), |it: &mut List<Image>| it.list[1] = image("3"), &of("1", "3"));
    becomes(&two(), |it: &mut List<Image>| it.list.iter_mut().for_each(|it| *it = image("3")), &of("3", "3"));
    becomes(&two(), |it: &mut List<Image>| it.list[0] = image("2"), &of("2", "2"));
    makes_no_request(&two(), |it: &mut List<Image>| it.list[1] = image("2"));
}

#[test]
fn elements_without_a_key_are_added_removed_and_moved_by_their_values() {
    let (a, b) = (json!({ "name": "a", "image": "1", "x": "a" }), json!({ "name": "b", "image": "2", "x": "b" }));
    let new = json!({ "image": "3" });
    becomes(&two(), |it: &mut List<Image>| it.list.push(image("3")), &list(json!([a, b, new])));
    becomes(&two(), |it: &mut List<Image>| it.list.insert(0, image("3")), &list(json!([new, a, b])));
    becomes(&two(), |it: &mut List<Image>| drop(it.list.remove(0)), &list(json!([b])));
    becomes(&two(), |it: &mut List<Image>| it.list.reverse(), &list(json!([b, a])));
    becomes(&two(), |it: &mut List<Image>| it.list.clear(), &list(json!([])));
}

#[test]
fn elements_with_a_key_are_the_same_whatever_changes_about_them() {
    let (a, b) = (json!({ "name": "a", "image": "1", "x": "a" }), json!({ "name": "b", "image": "2", "x": "b" }));
    let edit = |it: &mut List<Named>| {
        it.list.reverse();
        it.list[0].image = Some("3".to_string());
        it.list[1].image = None;
        it.list.insert(1, named("c"));
    };
    let wanted = json!([{ "name": "b", "image": "3", "x": "b" }, { "name": "c" }, { "name": "a", "x": "a" }]);
    becomes(&two(), edit, &list(wanted));
    becomes(&two(), |it: &mut List<Named>| drop(it.list.remove(1)), &list(json!([a])));
    becomes(&two(), |it: &mut List<Named>| it.list.push(named("c")), &list(json!([a, b, { "name": "c" }])));
}

/// Kubernetes' own keys, where the first field alone is the same in two elements.
#[test]
fn two_ports_of_one_number_differ_by_their_protocol() {
    #[derive(Clone, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Port {
        container_port: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol: Option<String>,
        #[serde(default)]
        host_port: u16,
    }
    let raw = list(json!([
        { "containerPort": 53, "x": 1 }, { "containerPort": 53, "protocol": "UDP", "x": 2 }, { "containerPort": 80, "x": 3 }
    ]));
    let edit = |it: &mut List<Port>| {
        it.list.reverse();
        it.list[1].host_port = 5353;
    };
    let wanted = list(json!([
        { "containerPort": 80, "x": 3 },
        { "containerPort": 53, "protocol": "UDP", "hostPort": 5353, "x": 2 },
        { "containerPort": 53, "x": 1 }
    ]));
    becomes(&raw, edit, &wanted);
}

#[test]
fn an_element_that_may_be_renamed_or_replaced_is_refused() {
    is_refused(&two(), |it: &mut List<Named>| it.list[0].name = "c".to_string(), "list", Kind::Replaced);
    let edit = |it: &mut List<Image>| {
        it.list.remove(0);
        it.list[0] = image("3");
    };
    is_refused(&two(), edit, "list", Kind::Replaced);
    let edit = |it: &mut List<Image>| {
        it.list[0] = image("3");
        it.list.push(image("4"));
    };
    is_refused(&two(), edit, "list", Kind::Replaced);
    for changed in 0..2 {
        let edit = |it: &mut List<Image>| {
            it.list.reverse();
            it.list[changed] = image("3");
        };
        is_refused(&two(), edit, "list", Kind::Replaced);
    }
}

#[test]
fn an_element_that_is_known_whole_may_be_renamed() {
    let raw = list(json!([{ "name": "a", "image": "1" }, { "name": "b", "x": 1 }]));
    let wanted = list(json!([{ "name": "c", "image": "1" }, { "name": "b", "x": 1 }]));
    becomes(&raw, |it: &mut List<Named>| it.list[0].name = "c".to_string(), &wanted);
}

#[test]
fn keys_that_disagree_are_refused() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Port {
        name: String,
        port: u16,
    }
    let raw = list(json!([{ "name": "a", "port": 1, "nodePort": 3 }, { "name": "b", "port": 2, "nodePort": 4 }]));
    let edit = |it: &mut List<Port>| (it.list[0].port, it.list[1].port) = (2, 1);
    is_refused(&raw, edit, "list", Kind::Keys);
    let wanted = list(json!([{ "name": "c", "port": 1, "nodePort": 3 }, { "name": "b", "port": 2, "nodePort": 4 }]));
    becomes(&raw, |it: &mut List<Port>| it.list[0].name = "c".to_string(), &wanted);
}

/// Where the element hides nothing, it is the same one by its name, and another one by its port.
#[test]
fn keys_may_disagree_about_an_element_that_is_known_whole() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Port {
        name: String,
        port: u16,
        #[serde(default)]
        weight: u8,
    }
    let raw = |port: u16| list(json!([{ "name": "a", "port": port }, { "name": "b", "port": 2, "nodePort": 4 }]));
    becomes(&raw(1), |it: &mut List<Port>| it.list[0].port = 3, &raw(3));
}

/// Two lists change places, and a field beside each changes as well.
#[test]
fn a_list_that_moves_between_changed_elements_is_refused() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Part {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        list: Vec<Image>,
        weight: u8,
    }
    let raw = list(json!([{ "weight": 1, "list": [{ "image": "1", "x": 1 }] }, { "weight": 2 }]));
    let edit = |it: &mut List<Part>| {
        it.list.swap(0, 1);
        it.list.iter_mut().for_each(|it| it.weight = 3);
    };
    is_refused(&raw, edit, "list[0].list", Kind::Moved);
    let wanted = list(json!([{ "weight": 3, "list": [{ "image": "1", "x": 1 }] }, { "weight": 3 }]));
    becomes(&raw, |it: &mut List<Part>| it.list.iter_mut().for_each(|it| it.weight = 3), &wanted);
    let wanted = list(json!([{ "weight": 1 }, { "weight": 2 }]));
    becomes(&raw, |it: &mut List<Part>| it.list[0].list.clear(), &wanted);
}

#[test]
fn elements_that_look_alike_keep_their_places_or_are_refused() {
    let raw = list(json!([{ "image": "1", "x": "a" }, { "image": "1", "x": "b" }, { "image": "2", "x": "c" }]));
    let wanted = list(json!([{ "image": "1", "x": "a" }, { "image": "1", "x": "b" }, { "image": "3", "x": "c" }]));
    becomes(&raw, |it: &mut List<Image>| it.list[2] = image("3"), &wanted);
    let wanted = list(json!([{ "image": "1", "x": "a" }, { "image": "3", "x": "b" }, { "image": "2", "x": "c" }]));
    becomes(&raw, |it: &mut List<Image>| it.list[1] = image("3"), &wanted);
    let wanted = list(json!([{ "image": "2", "x": "c" }]));
    becomes(&raw, |it: &mut List<Image>| drop(it.list.drain(..2)), &wanted);
    let wanted = list(json!([{ "image": "1", "x": "a" }, { "image": "1", "x": "b" }]));
    becomes(&raw, |it: &mut List<Image>| drop(it.list.pop()), &wanted);
    makes_no_request(&raw, |it: &mut List<Image>| it.list.swap(0, 1));

    is_refused(&raw, |it: &mut List<Image>| drop(it.list.remove(0)), "list", Kind::LookAlikes);
    is_refused(&raw, |it: &mut List<Image>| it.list.rotate_right(1), "list", Kind::LookAlikes);
    is_refused(&raw, |it: &mut List<Image>| it.list.insert(0, image("4")), "list", Kind::LookAlikes);
    is_refused(&raw, |it: &mut List<Image>| it.list.push(image("2")), "list", Kind::LookAlikes);
}

#[test]
fn elements_that_are_alike_are_interchangeable() {
    let raw = list(json!([{ "image": "1", "x": 1 }, { "image": "1", "x": 1 }, { "image": "2", "x": 2 }]));
    let wanted = list(json!([{ "image": "1", "x": 1 }, { "image": "2", "x": 2 }]));
    becomes(&raw, |it: &mut List<Image>| drop(it.list.remove(0)), &wanted);
    let wanted = list(json!([{ "image": "2", "x": 2 }, { "image": "1", "x": 1 }, { "image": "1", "x": 1 }]));
    becomes(&raw, |it: &mut List<Image>| it.list.rotate_right(1), &wanted);
}

#[test]
fn a_list_of_scalars_is_replaced_as_it_is() {
    let raw = list(json!(["a", "b", "b"]));
    becomes(&raw, |it: &mut List<String>| it.list.push("b".to_string()), &list(json!(["a", "b", "b", "b"])));
    becomes(&raw, |it: &mut List<String>| drop(it.list.drain(..2)), &list(json!(["b"])));
    becomes(&raw, |it: &mut List<String>| it.list = vec!["c".to_string()], &list(json!(["c"])));
    becomes(&json!({ "x": 1 }), |it: &mut List<u8>| it.list.push(1), &json!({ "x": 1, "list": [1] }));
    becomes(&json!({ "list": null }), |it: &mut Value| it["list"] = json!([1]), &json!({ "list": [1] }));
}

#[test]
fn lists_in_lists_keep_what_is_in_them() {
    let raw = list(json!([[{ "image": "1", "x": 1 }], [{ "image": "2", "x": 2 }, { "image": "3", "x": 3 }]]));
    let wanted = list(json!([[{ "image": "1", "x": 1 }], [{ "image": "2", "x": 2 }, { "image": "4", "x": 3 }]]));
    becomes(&raw, |it: &mut List<Vec<Image>>| it.list[1][1] = image("4"), &wanted);
    let wanted = list(json!([[{ "image": "2", "x": 2 }, { "image": "3", "x": 3 }], [{ "image": "1", "x": 1 }]]));
    becomes(&raw, |it: &mut List<Vec<Image>>| it.list.swap(0, 1), &wanted);
    let edit = |it: &mut List<Vec<Image>>| {
        it.list[1].remove(0);
        it.list[1][0] = image("4");
    };
    is_refused(&raw, edit, "list[1]", Kind::Replaced);
}

/// A list of `T` that does not show every element, or not in the order of the object.
#[test]
fn a_list_that_the_type_filters_sorts_or_converts_is_refused() {
    fn odd<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Vec<u8>, D::Error> {
        Vec::deserialize(source).map(|all: Vec<u8>| all.into_iter().filter(|number| number % 2 == 1).collect())
    }
    fn sorted<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Vec<Image>, D::Error> {
        let mut all: Vec<Image> = Vec::deserialize(source)?;
        all.sort_by(|one, other| one.image.cmp(&other.image));
        Ok(all)
    }
    fn tens<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Vec<u8>, D::Error> {
        Vec::deserialize(source).map(|all: Vec<u8>| all.into_iter().map(|number| number * 10).collect())
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Odd {
        #[serde(deserialize_with = "odd", skip_serializing_if = "Vec::is_empty")]
        list: Vec<u8>,
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Sorted {
        #[serde(deserialize_with = "sorted")]
        list: Vec<Image>,
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Tens {
        #[serde(deserialize_with = "tens")]
        list: Vec<u8>,
    }
    let filtered = |shown, raw| Kind::Filtered { shown, raw };
    is_refused(&list(json!([1, 2])), |it: &mut Odd| it.list.push(3), "list", filtered(1, 2));
    is_refused(&list(json!([2])), |it: &mut Odd| it.list.push(3), "list", filtered(0, 1));
    is_refused(&list(json!([1, 2])), |it: &mut Odd| it.list.clear(), "list", filtered(1, 2));
    let raw = list(json!([{ "image": "2", "x": 1 }, { "image": "1", "x": 2 }]));
    is_refused(&raw, |it: &mut Sorted| it.list[0] = image("3"), "list[0].image", Kind::Converted);
    is_refused(&list(json!([1])), |it: &mut Tens| it.list.push(3), "list[0]", Kind::Converted);
}

/// The type keeps the elements apart by their names, whatever it makes of other fields.
#[test]
fn elements_with_a_key_may_be_converted() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Share {
        name: String,
        share: f32,
        #[serde(default)]
        weight: u8,
    }
    let raw = list(json!([{ "name": "a", "share": 0.123_456_789, "x": 1 }, { "name": "b", "share": 0.2 }]));
    let wanted =
        list(json!([{ "name": "a", "share": 0.123_456_789, "weight": 2, "x": 1 }, { "name": "b", "share": 0.5 }]));
    let edit = |it: &mut List<Share>| {
        it.list[0].weight = 2;
        it.list[1].share = 0.5;
    };
    becomes(&raw, edit, &wanted);
}

#[derive(Clone, Serialize, Deserialize)]
struct Deployment {
    spec: Spec,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Spec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<u32>,
    /// Written as null.
    #[serde(default)]
    paused: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strategy: Option<BTreeMap<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    volume: Option<Volume>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Volume {
    #[serde(default)]
    path: String,
}

/// Its writing counts in the generation, so each write would lead to another one.
#[test]
fn an_observed_generation_outside_of_the_status_alone_makes_no_request() {
    #[derive(Clone, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Condition {
        #[serde(rename = "type")]
        type_: String,
        status: String,
        observed_generation: u32,
    }
    let raw = list(json!([{ "type": "Ready", "status": "True", "observedGeneration": 1, "x": 2 }]));
    let observe = |list: &mut List<Condition>| list.list[0].observed_generation = 2;
    makes_no_request(&raw, observe);
    let wanted = list(json!([{ "type": "Ready", "status": "False", "observedGeneration": 2, "x": 2 }]));
    let both = |list: &mut List<Condition>| {
        observe(list);
        list.list[0].status = "False".to_string();
    };
    becomes(&raw, both, &wanted);
    let (before, after) =
        (json!({ "status": { "observedGeneration": 1 } }), json!({ "status": { "observedGeneration": 2 } }));
    assert_eq!(change(&before, &after, Part::Status), Ok(Change::Patch(after)));
}

#[test]
fn a_removed_field_is_a_null_in_the_patch() {
    let raw = json!({ "spec": { "replicas": 3, "paused": true, "x": 1 } });
    becomes(&raw, |it: &mut Deployment| it.spec.replicas = None, &json!({ "spec": { "paused": true, "x": 1 } }));
    becomes(&raw, |it: &mut Deployment| it.spec.paused = None, &json!({ "spec": { "replicas": 3, "x": 1 } }));
    let patch = |before: &Value, after: &Value| change(before, after, Part::Object);
    let removed = patch(&json!({ "spec": { "replicas": 3, "x": 1 } }), &json!({ "spec": { "x": 1 } }));
    assert_eq!(removed, Ok(Change::Patch(json!({ "spec": { "replicas": null } }))));
}

#[test]
fn the_raw_object_is_needed_only_where_a_list_differs_or_an_object_is_removed() {
    let before = json!({ "list": [{ "x": 1 }], "a": { "list": [1], "b": 1 }, "c": { "d": {} } });
    let after = |path: &[&str], value: Value| {
        let mut after = before.clone();
        *path.iter().fold(&mut after, |value, name| &mut value[*name]) = value;
        change(&before, &after, Part::Object).unwrap()
    };
    let is_pending = |change: Change| matches!(change, Change::NeedsRaw(_));
    assert_eq!(after(&["a", "b"], json!(2)), Change::Patch(json!({ "a": { "b": 2 } })));
    assert_eq!(after(&["a", "b"], json!({ "e": 1 })), Change::Patch(json!({ "a": { "b": { "e": 1 } } })));
    assert_eq!(after(&["c", "d", "e"], json!({})), Change::Patch(json!({ "c": { "d": { "e": {} } } })));
    assert!(is_pending(after(&["list",], json!(null))) && is_pending(after(&["list"], json!({ "x": 1 }))));
    assert!(is_pending(after(&["a", "b"], json!([]))) && is_pending(after(&["a", "b"], json!({ "e": [] }))));
    assert!(is_pending(after(&["c", "d"], json!(null))) && is_pending(after(&["c", "d"], json!(1))));
}

#[test]
fn an_object_is_removed_if_the_type_knows_it_whole() {
    let raw = json!({ "spec": { "strategy": { "type": "Recreate" }, "volume": { "path": "/" } } });
    let wanted = json!({ "spec": { "volume": { "path": "/" } } });
    becomes(&raw, |it: &mut Deployment| it.spec.strategy = None, &wanted);
    let wanted = json!({ "spec": { "strategy": { "type": "Recreate" } } });
    becomes(&raw, |it: &mut Deployment| it.spec.volume = None, &wanted);

    let raw = json!({ "spec": { "volume": { "path": "/", "mode": "rw" } } });
    let unknown = Kind::Unknown("spec.volume.mode".to_string());
    is_refused(&raw, |it: &mut Deployment| it.spec.volume = None, "spec.volume", unknown);
}

/// The type leaves out an empty list, and each element has fields that it does not know.
#[test]
fn a_list_that_is_left_out_when_empty_can_be_cleared() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Short {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        list: Vec<Image>,
    }
    let wanted = json!({ "metadata": { "name": "a" }, "other": { "stays": [1, null] } });
    becomes(&two(), |it: &mut Short| it.list.clear(), &wanted);
}

/// A volume is told apart by its name alone, and its source may be an empty object.
#[test]
fn renaming_an_element_with_an_unknown_empty_object_is_refused() {
    for empty in [json!({}), json!([]), json!({ "x": null })] {
        let raw = list(json!([{ "name": "a", "emptyDir": empty }, { "name": "b", "emptyDir": empty }]));
        is_refused(&raw, |it: &mut List<Named>| it.list[0].name = "c".to_string(), "list", Kind::Replaced);
    }
    let of = |first: &str| list(json!([{ "name": first, "image": "1" }, { "name": "b", "emptyDir": {} }]));
    becomes(&of("a"), |it: &mut List<Named>| it.list[0].name = "c".to_string(), &of("c"));
}

/// The peers of a network policy: one in every namespace, and one in its own.
#[test]
fn a_removal_between_elements_that_differ_by_an_empty_object_is_refused() {
    for empty in [json!({}), json!([])] {
        let (wide, narrow) = (json!({ "image": "1", "namespaceSelector": empty }), json!({ "image": "1" }));
        let raw = list(json!([wide, narrow]));
        is_refused(&raw, |it: &mut List<Image>| drop(it.list.remove(0)), "list", Kind::LookAlikes);
        is_refused(&raw, |it: &mut List<Image>| drop(it.list.remove(1)), "list", Kind::LookAlikes);
    }
}

#[test]
fn a_change_beside_an_addition_with_an_unknown_empty_object_is_refused() {
    let raw = list(json!([{ "image": "1", "namespaceSelector": {} }, { "image": "2" }]));
    let edit = |it: &mut List<Image>| {
        it.list[0] = image("3");
        it.list.push(image("4"));
    };
    is_refused(&raw, edit, "list", Kind::Replaced);
    let wanted = list(json!([{ "image": "3", "namespaceSelector": {} }, { "image": "2" }]));
    becomes(&raw, |it: &mut List<Image>| it.list[0] = image("3"), &wanted);
}

#[test]
fn an_object_around_an_unknown_empty_object_or_list_is_not_removed() {
    for empty in [json!({}), json!([])] {
        let unknown = |path: &str| Kind::Unknown(path.to_string());
        let raw = json!({ "spec": { "volume": { "path": "/", "all": empty } } });
        is_refused(&raw, |it: &mut Deployment| it.spec.volume = None, "spec.volume", unknown("spec.volume.all"));
        let raw = json!({ "spec": { "volume": { "path": "/", "all": { "x": [{ "y": empty }] } } } });
        let path = "spec.volume.all.x";
        is_refused(&raw, |it: &mut Deployment| it.spec.volume = None, "spec.volume", unknown(path));
    }
    // What the type shows is known, empty or not.
    let raw = json!({ "spec": { "strategy": { "a": {}, "b": [], "c": [{}] }, "x": {} } });
    becomes(&raw, |it: &mut Deployment| it.spec.strategy = None, &json!({ "spec": { "x": {} } }));
    let raw = json!({ "spec": { "strategy": {}, "volume": {} } });
    becomes(&raw, |it: &mut Deployment| (it.spec.strategy, it.spec.volume) = (None, None), &json!({ "spec": {} }));
}

/// The type knows the list and leaves it out, so that it looks like one that the type does not know: it is kept.
#[test]
fn an_empty_list_that_the_type_leaves_out_is_kept() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Short {
        image: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<u8>,
    }
    let raw = list(json!([{ "image": "1", "args": [], "x": {} }, { "image": "2", "args": [] }]));
    let of = |first: Value, second: Value| list(json!([first, second]));
    let second = json!({ "image": "2", "args": [] });
    let edit = |it: &mut List<Short>| it.list[0].image = "3".to_string();
    becomes(&raw, edit, &of(json!({ "image": "3", "args": [], "x": {} }), second.clone()));
    let edit = |it: &mut List<Short>| it.list[0].args.push(1);
    becomes(&raw, edit, &of(json!({ "image": "1", "args": [1], "x": {} }), second));
    becomes(&raw, |it: &mut List<Short>| drop(it.list.pop()), &list(json!([{ "image": "1", "args": [], "x": {} }])));
    let edit = |it: &mut List<Short>| {
        it.list.remove(0);
        it.list[0].image = "3".to_string();
    };
    is_refused(&raw, edit, "list", Kind::Replaced);
}

#[test]
fn a_field_that_is_null_and_one_that_is_absent_are_the_same() {
    makes_no_request(&json!({ "spec": { "paused": null } }), |_: &mut Deployment| {});
    let patch = |before: Value, after: Value| change(&before, &after, Part::Object);
    for (before, after) in [(json!({ "a": null }), json!({})), (json!({}), json!({ "a": null }))] {
        assert_eq!(patch(before, after), Ok(Change::Nothing));
    }
    let added = patch(json!({}), json!({ "a": { "b": null, "c": 1 } }));
    assert_eq!(added, Ok(Change::Patch(json!({ "a": { "c": 1 } }))));
    let raw = json!({ "spec": { "paused": null, "x": null } });
    let wanted = json!({ "spec": { "paused": null, "x": null, "replicas": 1 } });
    becomes(&raw, |it: &mut Deployment| it.spec.replicas = Some(1), &wanted);
}

/// A server removes the nulls in a list that it replaces.
#[test]
fn an_explicit_null_in_a_list_is_not_sent() {
    let raw = list(json!([{ "name": "a", "x": { "y": null } }, { "name": "b" }]));
    let edit = |it: &mut List<Named>| it.list[1].image = Some("1".to_string());
    is_refused(&raw, edit, "list[0].x.y", Kind::Null);
    becomes(&raw, |it: &mut List<Named>| drop(it.list.remove(0)), &list(json!([{ "name": "b" }])));
    let raw = list(json!([{ "name": "a", "image": null }, { "name": "b" }]));
    let wanted = list(json!([{ "name": "a", "image": "1" }, { "name": "b" }]));
    becomes(&raw, |it: &mut List<Named>| it.list[0].image = Some("1".to_string()), &wanted);
    is_refused(&raw, |it: &mut List<Named>| drop(it.list.pop()), "list[0].image", Kind::Null);
    is_refused(&raw, |it: &mut Value| it["list"][1] = json!(1), "list[0].image", Kind::Null);
    let edit = |it: &mut Value| it["list"][0]["x"] = json!([1, { "y": null }, null]);
    becomes(&list(json!([{ "x": null }])), edit, &list(json!([{ "x": [1, {}, null] }])));
}

#[test]
fn a_default_of_the_type_is_not_written() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Container {
        name: String,
        #[serde(default = "always")]
        policy: String,
        #[serde(default)]
        resources: BTreeMap<String, Value>,
        #[serde(default, skip_serializing_if = "is_zero")]
        weight: u8,
    }
    fn always() -> String {
        "Always".to_string()
    }
    fn is_zero(weight: &u8) -> bool {
        *weight == 0
    }
    let raw = list(json!([{ "name": "a", "x": 1 }, { "name": "b", "weight": 0 }, { "name": "c", "weight": 3 }]));
    let of = |first: Value, second: Value, third: Value| list(json!([first, second, third]));
    let (a, b, c) =
        (json!({ "name": "a", "x": 1 }), json!({ "name": "b", "weight": 0 }), json!({ "name": "c", "weight": 3 }));
    let policy = json!({ "name": "a", "policy": "Never", "x": 1 });
    becomes(
        &raw,
        |it: &mut List<Container>| it.list[0].policy = "Never".to_string(),
        &of(policy, b.clone(), c.clone()),
    );
    let resources = json!({ "name": "a", "resources": { "cpu": 1 }, "x": 1 });
    let edit = |it: &mut List<Container>| drop(it.list[0].resources.insert("cpu".to_string(), json!(1)));
    becomes(&raw, edit, &of(resources, b, c.clone()));
    let weight = json!({ "name": "b", "weight": 2 });
    becomes(&raw, |it: &mut List<Container>| it.list[1].weight = 2, &of(a.clone(), weight, c));
    let edit = |it: &mut List<Container>| it.list[2].weight = 0;
    becomes(&raw, edit, &of(a, json!({ "name": "b", "weight": 0 }), json!({ "name": "c" })));
    makes_no_request(&raw, |it: &mut List<Container>| it.list[0].policy = always());

    #[derive(Clone, Serialize, Deserialize)]
    struct Anonymous {
        image: String,
        #[serde(default)]
        weight: u8,
    }
    let wanted = list(json!([{ "name": "a", "image": "1", "x": "a" }, { "name": "b", "image": "3", "x": "b" }]));
    becomes(&two(), |it: &mut List<Anonymous>| it.list[1].image = "3".to_string(), &wanted);
}

/// A value that the type has by default, and the object not at all.
#[test]
fn what_the_object_does_not_have_is_not_removed() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Defaults {
        #[serde(default = "one", skip_serializing_if = "Option::is_none")]
        volume: Option<Volume>,
    }
    fn one() -> Option<Volume> {
        Some(Volume { path: "/".to_string() })
    }
    makes_no_request(&json!({ "x": 1 }), |it: &mut Defaults| it.volume = None);
}

#[test]
fn numbers_are_equal_by_value_and_sent_as_they_were() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Numbers {
        list: Vec<Number>,
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Number {
        float: f64,
        image: u8,
    }
    let raw = |image: u8| {
        list(json!([
            { "float": 1, "image": image, "x": 1.0 },
            { "float": 2.5, "image": 2, "x": [u64::MAX, i64::MIN, 1e300, -0.0, 9_007_199_254_740_993_u64] },
        ]))
    };
    becomes(&raw(1), |it: &mut Numbers| it.list[0].image = 3, &raw(3));
    #[derive(Clone, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Mixed {
        Float(f64),
        Image(Image),
    }
    let raw = |image: &str| list(json!([1, { "image": image, "x": 1 }]));
    becomes(&raw("1"), |it: &mut List<Mixed>| it.list[1] = Mixed::Image(image("2")), &raw("2"));
    makes_no_request(&json!({ "x": 1 }), |it: &mut Value| it["x"] = json!(1.0));
    makes_no_request(&json!({ "x": [1] }), |it: &mut Value| it["x"] = json!([1.0]));
    let patch = |before: Value, after: Value| change(&json!({ "x": before }), &json!({ "x": after }), Part::Object);
    assert_eq!(patch(json!([1]), json!([1.0])), Ok(Change::Nothing));
    for (before, after) in [
        (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_f64)),
        (json!(u64::MAX), json!(i64::MAX)),
        (json!(u64::MAX), json!(1.844_674_407_370_955_2e19)),
        (json!(-1), json!(u64::MAX)),
        (json!(1e300), json!(1e301)),
        (json!(0.5), json!(0)),
        (json!(1), json!("1")),
    ] {
        assert_eq!(patch(before, after.clone()), Ok(Change::Patch(json!({ "x": after }))));
    }
}

/// serde_json's quick way of reading floats is off by one in the last place.
#[test]
fn a_float_that_the_type_does_not_know_keeps_its_last_digit() {
    let text = r#"{"list":[{"image":"1","name":"a","x":2.547114365375239e-8}]}"#;
    let raw: Value = serde_json::from_str(text).unwrap();
    let sent = changed(&raw, |it: &mut List<Named>| it.list[0].image = Some("2".to_string())).unwrap().unwrap();
    assert_eq!(sent.to_string(), text.replace(r#""1""#, r#""2""#));
}

#[test]
fn a_field_that_is_read_under_an_alias_is_not_written_under_another_name() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Aliased {
        name: String,
        #[serde(alias = "img")]
        image: Option<String>,
        #[serde(alias = "res", default)]
        resources: BTreeMap<String, Value>,
    }
    let raw = list(json!([{ "name": "a", "img": "1", "res": { "cpu": 1, "x": 2 } }, { "name": "b", "image": "2" }]));
    let alias = |field: &str| Kind::Alias(format!("list[0].{field}"));
    let edit = |it: &mut List<Aliased>| it.list[0].image = Some("3".to_string());
    is_refused(&raw, edit, "list[0].image", alias("img"));
    is_refused(&raw, |it: &mut List<Aliased>| it.list[0].image = None, "list[0].image", alias("img"));
    let edit = |it: &mut List<Aliased>| drop(it.list[0].resources.insert("cpu".to_string(), json!(2)));
    is_refused(&raw, edit, "list[0].resources", alias("res"));
    let wanted = list(json!([{ "name": "a", "img": "1", "res": { "cpu": 1, "x": 2 } }, { "name": "b", "image": "3" }]));
    becomes(&raw, |it: &mut List<Aliased>| it.list[1].image = Some("3".to_string()), &wanted);
}

#[test]
fn a_list_that_is_read_under_an_alias_is_not_written_under_another_name() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Aliased {
        #[serde(alias = "list")]
        items: Vec<Image>,
    }
    is_refused(&two(), |it: &mut Aliased| it.items[0] = image("3"), "items", Kind::Alias("list".to_string()));
    is_refused(&two(), |it: &mut Aliased| it.items.clear(), "items", Kind::Alias("list".to_string()));
}

/// Neither name has a value that tells that they are one field.
#[test]
fn a_list_is_not_written_beside_an_empty_one_under_its_alias() {
    #[derive(Serialize, Deserialize)]
    struct Aliased {
        #[serde(alias = "list", default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<u8>,
    }
    let patch = |raw: &Value| {
        let before = Aliased::deserialize(raw).unwrap();
        match change(&before, &Aliased { items: vec![1] }, Part::Object) {
            Ok(Change::NeedsRaw(pending)) => pending.lay_over_as::<Aliased>(raw),
            other => panic!("{other:?}"),
        }
    };
    let kind = Kind::Unreadable("duplicate field `items`".to_string());
    assert_eq!(patch(&json!({ "list": [] })), Err(ChangeError { path: String::new(), kind }));
    assert_eq!(patch(&json!({ "items": [], "x": [] })), Ok(Some(json!({ "items": [1] }))));
}

#[test]
fn flattened_maps_know_every_field() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Open {
        image: String,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    let raw = list(json!([{ "image": "1", "x": { "y": [1] }, "z": 1.5 }]));
    let wanted = list(json!([{ "image": "1", "x": { "y": [1, 2] }, "new": true }, { "image": "2" }]));
    let edit = |it: &mut List<Open>| {
        it.list[0].rest.remove("z");
        it.list[0].rest.insert("new".to_string(), json!(true));
        it.list[0].rest.get_mut("x").unwrap()["y"] = json!([1, 2]);
        it.list.push(Open { image: "2".to_string(), rest: BTreeMap::new() });
    };
    becomes(&raw, edit, &wanted);
}

#[test]
fn a_variant_takes_the_place_of_another() {
    #[derive(Clone, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Source {
        EmptyDir {},
        HostPath { path: String },
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Volume {
        name: String,
        #[serde(flatten)]
        source: Source,
    }
    let host = || Source::HostPath { path: "/".to_string() };
    let raw = list(json!([{ "name": "a", "emptyDir": {}, "x": 1 }]));
    let wanted = list(json!([{ "name": "a", "hostPath": { "path": "/" }, "x": 1 }]));
    becomes(&raw, |it: &mut List<Volume>| it.list[0].source = host(), &wanted);
    let raw = list(json!([{ "name": "a", "emptyDir": { "medium": "Memory" } }]));
    let unknown = Kind::Unknown("list[0].emptyDir.medium".to_string());
    is_refused(&raw, |it: &mut List<Volume>| it.list[0].source = host(), "list[0].emptyDir", unknown);
}

#[test]
fn a_value_of_another_form_is_replaced_if_it_is_known_whole() {
    let raw = json!({ "a": [1], "b": { "c": 1 }, "d": 1 });
    let edit = |it: &mut Value| *it = json!({ "a": { "e": [1] }, "b": 2, "d": [3] });
    becomes(&raw, edit, &json!({ "a": { "e": [1] }, "b": 2, "d": [3] }));
    let pending = |before: Value, after: Value| match change(&before, &after, Part::Object) {
        Ok(Change::NeedsRaw(pending)) => pending,
        other => panic!("{other:?}"),
    };
    let refused = |before: Value, after: Value, raw: Value| pending(before, after).lay_over(&raw).unwrap_err().kind;
    // A part that is shown otherwise, inside of what goes.
    let gone =
        |shown: Value, raw: Value| refused(json!({ "a": { "b": shown } }), json!({}), json!({ "a": { "b": raw } }));
    assert_eq!(gone(json!([1]), json!([1, 2])), Kind::Unknown("a.b".to_string()));
    assert_eq!(gone(json!([{ "c": 1 }]), json!([{ "c": 1, "x": 2 }])), Kind::Unknown("a.b[0].x".to_string()));
    assert_eq!(gone(json!("1"), json!([1])), Kind::Unknown("a.b".to_string()));
    assert_eq!(gone(json!("1"), json!({ "x": 1 })), Kind::Unknown("a.b.x".to_string()));
    let (one, two) = (json!({ "a": [1] }), json!({ "a": [2] }));
    assert_eq!(refused(one.clone(), two.clone(), json!({ "a": { "x": 1 } })), Kind::Converted);
    assert_eq!(refused(one.clone(), two.clone(), json!({ "a": 1 })), Kind::Converted);
    assert_eq!(refused(json!({}), one.clone(), json!({ "a": { "x": 1 } })), Kind::Unknown("a.x".to_string()));
    assert_eq!(refused(one.clone(), two, json!(1)), Kind::Converted);
    let (object, with_list) = (json!({ "a": { "b": 1 } }), json!({ "a": { "b": [1] } }));
    assert_eq!(refused(object.clone(), with_list.clone(), json!({ "a": [1] })), Kind::Converted);
    assert_eq!(refused(object, with_list, json!({ "a": { "b": { "x": 1 } } })), Kind::Unknown("a.b.x".to_string()));
    assert_eq!(pending(json!({}), one).lay_over(&json!({ "a": 5 })), Ok(Some(json!({ "a": [1] }))));
}

#[test]
fn one_part_is_changed_and_no_field_of_the_server() {
    let object = json!({
        "apiVersion": "v1", "kind": "Foo", "metadata": { "name": "a", "labels": { "x": "y" }, "uid": "1" },
        "spec": { "replicas": 1 }, "status": { "replicas": 1 }
    });
    let changed = |path: &[&str], part: Part| {
        let mut after = object.clone();
        *path.iter().fold(&mut after, |value, name| &mut value[*name]) = json!("new");
        change(&object, &after, part).map_err(|error| (error.path, error.kind))
    };
    let error = |path: &str, kind: Kind| Err((path.to_string(), kind));
    assert_eq!(changed(&["status", "replicas"], Part::Object), error("status", Kind::Status));
    assert_eq!(changed(&["spec", "replicas"], Part::Status), error("spec", Kind::NotStatus));
    assert_eq!(changed(&["metadata", "labels", "x"], Part::Status), error("metadata", Kind::NotStatus));
    for name in ["apiVersion", "kind"] {
        assert_eq!(changed(&[name], Part::Object), error(name, Kind::ReadOnly));
    }
    for name in ["creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion", "uid"] {
        assert_eq!(changed(&["metadata", name], Part::Object), error(&format!("metadata.{name}"), Kind::ReadOnly));
    }
    assert_eq!(changed(&["metadata"], Part::Object), error("metadata.name", Kind::ReadOnly));
    let patch = |patch: Value| Ok(Change::Patch(patch));
    assert_eq!(changed(&["status", "replicas"], Part::Status), patch(json!({ "status": { "replicas": "new" } })));
    let labels = json!({ "metadata": { "labels": { "x": "new" } } });
    assert_eq!(changed(&["metadata", "labels", "x"], Part::Object), patch(labels));
    assert_eq!(changed(&["spec", "replicas"], Part::Object), patch(json!({ "spec": { "replicas": "new" } })));
}

#[test]
fn an_object_of_another_version_is_refused() {
    let of = |version: &str, list: Value| json!({ "metadata": { "resourceVersion": version }, "list": list });
    let Ok(Change::NeedsRaw(pending)) = change(&of("1", json!([1])), &of("1", json!([2])), Part::Object) else {
        panic!("a list differs");
    };
    assert_eq!(pending.lay_over(&of("1", json!([1]))), Ok(Some(json!({ "list": [2] }))));
    assert_eq!(pending.lay_over(&json!({ "list": [1] })), Ok(Some(json!({ "list": [2] }))));
    let error = pending.lay_over(&of("2", json!([1]))).unwrap_err();
    assert_eq!((error.path.as_str(), error.kind), ("metadata.resourceVersion", Kind::OtherVersion));
}

#[test]
fn what_is_no_object_or_too_deep_is_refused() {
    let kind = |before: &Value, after: &Value| change(before, after, Part::Object).unwrap_err().kind;
    assert!(matches!(kind(&json!([1]), &json!({})), Kind::Unwritable(_)));
    assert!(matches!(kind(&json!({}), &json!(1)), Kind::Unwritable(_)));
    let keys = |key: u8| BTreeMap::from([(vec![key], 1)]);
    assert!(matches!(change(&keys(1), &keys(2), Part::Object).unwrap_err().kind, Kind::Unwritable(_)));
    let deep = |levels: u8| (1..levels).fold(json!(1), |value, _| json!({ "a": value }));
    assert_eq!(kind(&json!({}), &deep(129)), Kind::TooDeep);
    assert!(matches!(change(&json!({}), &deep(128), Part::Object), Ok(Change::Patch(_))));
    let deep_list = |levels: u8| json!({ "a": (2..levels).fold(json!(1), |value, _| json!([value])) });
    assert_eq!(kind(&json!({}), &deep_list(129)), Kind::TooDeep);
    assert!(matches!(change(&json!({}), &deep_list(128), Part::Object), Ok(Change::NeedsRaw(_))));
    let Ok(Change::NeedsRaw(pending)) = change(&json!({}), &json!({ "list": [1] }), Part::Object) else {
        panic!("a list is new");
    };
    assert_eq!(pending.lay_over(&deep(129)).unwrap_err().kind, Kind::TooDeep);
}

#[test]
fn errors_are_printable_and_of_limited_length() {
    let name = "\u{1b}[2J".repeat(1000);
    let before = json!({ "metadata": { "labels": { "a.b/c": { "d": [] } } }, "list": [] });
    let mut after = before.clone();
    after["metadata"]["labels"]["a.b/c"]["d"] = json!([1]);
    let Ok(Change::NeedsRaw(pending)) = change(&before, &after, Part::Object) else { panic!("a list differs") };
    let raw = json!({ "metadata": { "labels": { "a.b/c": { "d": [1, 2] } } } });
    let text = pending.lay_over(&raw).unwrap_err().to_string();
    assert!(
        text.starts_with(r#"metadata.labels["a.b/c"].d: the type shows 0 elements, and the object has 2: "#),
        "{text}"
    );

    let error = change(&json!({ "x": 1 }), &json!({ "x": 1, name.as_str(): 2 }), Part::Status).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(r"\u001b[2J\u001b[2J") && text.len() < 2_000, "{text}");
    for kind in
        [Kind::Unwritable(name.clone()), Kind::Unknown(name.clone()), Kind::Unreadable(name.clone()), Kind::Alias(name)]
    {
        let text = kind.to_string();
        assert!(!text.contains('\u{1b}') && text.len() < 10_000, "{text}");
    }
    let whole = ChangeError { path: String::new(), kind: Kind::TooDeep };
    assert_eq!(whole.to_string(), "the object: the value has more than 128 levels");
}

#[derive(Clone, Serialize, Deserialize)]
struct Ratio {
    ratio: f32,
}

#[test]
fn a_float_of_32_bits_is_sent_with_its_own_digits() {
    let set = |it: &mut Ratio| it.ratio = 0.1;
    becomes(&json!({ "ratio": 0.5, "x": 1 }), set, &json!({ "ratio": 0.1, "x": 1 }));
    becomes(&json!({ "ratio": 0.5 }), |it: &mut Ratio| it.ratio = 1e20, &json!({ "ratio": 1e20 }));
    // The other element was refused, as one that the type shows otherwise.
    let of = |last: f64| list(json!([{ "ratio": 0.1, "x": 1 }, { "ratio": last, "x": 2 }]));
    becomes(&of(0.5), |it: &mut List<Ratio>| it.list[1].ratio = 0.3, &of(0.3));
}

#[test]
fn an_error_without_values_quotes_nothing_of_the_object() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Ports {
        data: u16,
    }
    let raw = json!({ "data": "hunter2", "type": "Opaque" });
    let error = super::Desired::new(&json!({ "type": "x" })).unwrap().lay_over_as::<Ports>(&raw).unwrap_err();
    assert!(error.to_string().contains("hunter2"), "{error}");
    let error = error.without_values().to_string();
    assert!(error.contains("never shown") && !error.contains("hunter2"), "{error}");
}
