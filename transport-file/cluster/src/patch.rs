//! Patches that are no merge patches (RFC 7386): JSON Patch (RFC 6902), and strategic merge patches.

use super::limits::{self, BYTES, LEVELS, bytes_of, too_deep};
use super::refusal::Refusal;
use super::typed::go_text;
use crate::kinds::{FieldType, ObjectType, ServedKind, Shape};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The sort of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchType {
    Merge,
    Strategic,
    Json,
    Apply,
}

impl PatchType {
    /// By the media type. Custom resources take no strategic merge patches.
    pub(super) fn of(kind: &ServedKind, content_type: &str) -> Result<Self, Refusal> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !kind.is_custom() => Ok(Self::Strategic),
            "application/json-patch+json" => Ok(Self::Json),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(Refusal::unsupported_media_type(kind.is_custom())),
        }
    }
}

/// The directive that orders the elements of a list.
const ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch. The elements of lists are told apart by the first key that their type has.
pub(super) fn strategic(of: ObjectType<'_>, target: &mut Value, patch: &Value) -> Result<(), Refusal> {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return Ok(());
    };
    match fields.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(without_directives(fields));
            return Ok(());
        }
        Some("delete") => {
            *target = json!({});
            return Ok(());
        }
        _ => {}
    }
    let object = object_of(target);
    for (field, value) in fields {
        match (field.split_once('/'), value) {
            (Some(("$deleteFromPrimitiveList", list)), Value::Array(gone)) => {
                let gone: HashSet<&Value> = gone.iter().collect();
                let elements = object.get_mut(list).and_then(Value::as_array_mut);
                elements.into_iter().for_each(|elements| elements.retain(|element| !gone.contains(element)));
            }
            (Some((ORDER, list)), Value::Array(order)) if !fields.contains_key(list) => {
                let Some(elements) = object.get_mut(list).and_then(Value::as_array_mut) else { continue };
                check_elements(elements, &[])?;
                let before = elements.clone();
                Identity::of(of.field(list)).arrange(elements, order, &before);
            }
            (Some((ORDER, list)), Value::Array(_)) if fields.get(list).is_some_and(|list| !list.is_array()) => {
                let why = format!("expected a []interface {{}}, but received a {}", type_of(&fields[list]));
                return Err(Refusal::without_reason(500, &why));
            }
            _ if field.starts_with('$') => {}
            (_, Value::Null) => drop(object.remove(field)),
            (_, Value::Array(patch)) => {
                let order = fields.get(&format!("{ORDER}/{field}")).and_then(Value::as_array);
                strategic_list(of.field(field), object.entry(field).or_insert(Value::Null), patch, order)?;
            }
            // A directive is for an object that is there.
            _ if value.get("$patch").is_some() && !object.get(field).is_some_and(Value::is_object) => {
                drop(object.remove(field));
            }
            _ => {
                let of = of.field(field).map_or(ObjectType::UNKNOWN, FieldType::object_type);
                strategic(of, object.entry(field).or_insert(Value::Null), value)?;
            }
        }
    }
    if let Some(Value::Array(kept)) = fields.get("$retainKeys") {
        object.retain(|field, _| kept.iter().any(|it| it == field));
    }
    Ok(())
}

/// Removes the fields that are null from the objects in the lists of a merge patch.
pub(super) fn prune_lists(patch: &mut Value, is_in_list: bool) {
    match patch {
        Value::Object(fields) => {
            fields.retain(|_, value| !(is_in_list && value.is_null()));
            fields.values_mut().for_each(|value| prune_lists(value, is_in_list));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| prune_lists(element, true)),
        _ => {}
    }
}

/// How a strategic merge patch tells the elements of a list apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity<'f> {
    /// The list is one value.
    None,
    /// Each element is itself.
    Element,
    /// By the value of this field.
    Key(&'f str),
}

impl<'f> Identity<'f> {
    fn of(field: Option<&'f FieldType>) -> Self {
        match field.filter(|field| field.merges).map(|field| &field.shape) {
            Some(Shape::Set) => Self::Element,
            Some(Shape::Keyed(keys)) => keys.first().map_or(Self::None, |(key, _)| Self::Key(key)),
            Some(Shape::Patched(key)) => Self::Key(key),
            Some(Shape::Plain | Shape::Atomic) | None => Self::None,
        }
    }

    /// What is equal for two elements that are the same.
    fn value(self, element: &Value) -> Option<&Value> {
        match self {
            Self::None | Self::Element => Some(element),
            Self::Key(key) => element.get(key),
        }
    }

    /// Checks that the elements of a patch are of one sort, and can be told apart.
    fn check(self, before: &[Value], patch: &[Value]) -> Result<(), Refusal> {
        let mut sorts = before.iter().chain(patch).map(sort);
        let first = sorts.next();
        let is_mixed = self != Self::None && sorts.any(|sort| Some(sort) != first);
        let key = if let Self::Key(key) = self { Some(key) } else { None };
        if is_mixed || (key.is_some() && patch.iter().any(|element| !element.is_object())) {
            let lists = [before, patch].map(|list| go_text(&json!(list))).join(" ");
            let why = format!("list element types are not identical: [{lists}]");
            return Err(Refusal::without_reason(500, &why));
        }
        let Some(key) = key else { return Ok(()) };
        let unnamed = patch.iter().find(|element| element.get(key).is_none() && element.get("$patch").is_none());
        unnamed.map_or(Ok(()), |element| {
            let why = format!("map: {} does not contain declared merge key: {key}", go_text(element));
            Err(Refusal::without_reason(500, &why))
        })
    }

    /// Checks that the elements of a patch are in an order.
    fn check_order(self, patch: &[Value], order: &[Value]) -> Result<(), Refusal> {
        let mut rest = order.iter();
        let mut named = patch.iter().filter(|element| !has_directive(element, "delete"));
        if order.is_empty() || named.all(|element| rest.any(|it| self.value(it) == self.value(element))) {
            return Ok(());
        }
        let [patch, order] = [patch, order].map(|list| go_text(&json!(list)));
        let why = format!("The order in patch list:\n{patch}\n doesn't match {ORDER} list:\n{order}\n");
        Err(Refusal::without_reason(500, &why))
    }

    fn places(self, list: &[Value]) -> Places<'_> {
        let mut places = Places::new();
        list.iter().enumerate().for_each(|(place, element)| _ = places.entry(self.value(element)).or_insert(place));
        places
    }

    /// Brings elements into an order; the others stay where they were before (apimachinery
    /// `strategicpatch.normalizeElementOrder`).
    fn arrange(self, elements: &mut Vec<Value>, order: &[Value], before: &[Value]) {
        let (order, before) = (self.places(order), self.places(before));
        let is_named = |element: &Value| order.contains_key(&self.value(element));
        let (mut named, others): (Vec<_>, Vec<_>) = std::mem::take(elements).into_iter().partition(is_named);
        named.sort_by_key(|element| order.get(&self.value(element)).copied());
        *elements = merge_sorted(others, named, |element| before.get(&self.value(element)).copied());
    }
}

/// The sort of JSON that an element is, as Go tells them apart.
fn sort(element: &Value) -> &'static str {
    match element {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

/// The type of a value in place of a list, as Go writes it.
fn type_of(value: &Value) -> &'static str {
    match sort(value) {
        "nil" => "%!s(<nil>)",
        "map" => "map[string]interface {}",
        sort => sort,
    }
}

/// Checks that a list which is brought into an order has elements, before or by the patch.
fn check_elements(before: &[Value], patch: &[Value]) -> Result<(), Refusal> {
    if before.is_empty() && patch.is_empty() {
        return Err(Refusal::without_reason(500, "no elements in any of the given slices"));
    }
    Ok(())
}

/// The places of elements, by what tells them apart.
type Places<'v> = HashMap<Option<&'v Value>, usize>;

fn has_directive(element: &Value, wanted: &str) -> bool {
    element.get("$patch").is_some_and(|how| how == wanted)
}

fn strategic_list(
    field: Option<&FieldType>,
    target: &mut Value,
    patch: &[Value],
    order: Option<&Vec<Value>>,
) -> Result<(), Refusal> {
    let list = Identity::of(field);
    if let Some(order) = order {
        list.check_order(patch, order)?;
        check_elements(target.as_array().map_or(&[], Vec::as_slice), patch)?;
    }
    let (replacing, mut kept): (Vec<Value>, Vec<Value>) =
        patch.iter().cloned().partition(|element| has_directive(element, "replace"));
    let (Some(elements), true) = (target.as_array_mut(), replacing.is_empty()) else {
        kept.retain(|element| !has_directive(element, "delete"));
        *target = Value::Array(kept);
        return Ok(());
    };
    if list == Identity::None {
        *elements = kept;
        return Ok(());
    }
    list.check(elements, &kept)?;
    let of = field.map_or(ObjectType::UNKNOWN, FieldType::object_type);
    let (gone, patches): (Vec<&Value>, Vec<&Value>) = kept.iter().partition(|it| has_directive(it, "delete"));
    let gone: HashSet<Option<&Value>> = gone.into_iter().map(|element| list.value(element)).collect();
    let before = std::mem::take(elements);
    let mut places = Places::new();
    for element in before.iter().filter(|element| !gone.contains(&list.value(element))) {
        let is_twice = places.contains_key(&list.value(element));
        places.entry(list.value(element)).or_insert(elements.len());
        if !is_twice || list != Identity::Element {
            elements.push(element.clone());
        }
    }
    for patch in patches {
        let place = *places.entry(list.value(patch)).or_insert(elements.len());
        if place == elements.len() {
            elements.push(Value::Null);
        }
        strategic(of, &mut elements[place], patch)?;
    }
    list.arrange(elements, order.unwrap_or(&kept), &before);
    Ok(())
}

/// Merges the elements that a patch does not name into those that it names. The order before counts for two that were
/// there (apimachinery `strategicpatch.mergeSortedSlice`).
fn merge_sorted(others: Vec<Value>, named: Vec<Value>, place: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut merged = Vec::with_capacity(others.len() + named.len());
    let mut others = others.into_iter().peekable();
    for element in named {
        let after = place(&element);
        while let Some(other) =
            others.next_if(|other| place(other).zip(after).is_some_and(|(other, after)| other < after))
        {
            merged.push(other);
        }
        merged.push(element);
    }
    merged.extend(others);
    merged
}

fn without_directives(fields: &Map<String, Value>) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(field, _)| !field.starts_with('$'))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

fn object_of(target: &mut Value) -> &mut Map<String, Value> {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    target.as_object_mut().expect("it was made one above")
}

/// An operation of a JSON Patch.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add { path: String, value: Value },
    Copy { from: String, path: String },
    Move { from: String, path: String },
    Remove { path: String },
    Replace { path: String, value: Value },
    Test { path: String, value: Value },
}

/// The most operations of a JSON patch (apiserver `maxJSONPatchOperations`).
const OPERATIONS: usize = 10_000;

/// A patch in JSON. A server looks at it before it looks for the object.
pub(super) fn parse(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|_| Refusal::bad_request("invalid JSON patch"))
}

/// Applies a JSON patch: all of its operations, or none.
pub(super) fn json(target: &Value, patch: &Value) -> Result<Value, Refusal> {
    let count = patch.as_array().map_or(0, Vec::len);
    if count > OPERATIONS {
        let why = format!("The allowed maximum operations in a JSON patch is {OPERATIONS}, got {count}");
        return Err(Refusal::too_large_entity(&why));
    }
    let operations = Vec::<Operation>::deserialize(patch);
    let operations = operations.map_err(|error| Refusal::bad_request(format!("error decoding patch: {error}")))?;
    let (mut target, mut carried) = (target.clone(), 0);
    for operation in operations {
        perform(&mut target, operation, &mut carried)?;
    }
    limits::check(&target)?;
    Ok(target)
}

/// Performs an operation, unless its place is not there, a test fails, or the object becomes too large. `carried` counts
/// the bytes that were copied and moved.
fn perform(target: &mut Value, operation: Operation, carried: &mut usize) -> Result<(), Refusal> {
    let done = match operation {
        Operation::Add { path, value } => {
            check_levels(&path, &value)?;
            add(target, &path, value)
        }
        Operation::Copy { from, path } => {
            let value = found(target, &from).ok_or_else(Refusal::unprocessable)?;
            carry(&path, value, carried)?;
            let value = value.clone();
            add(target, &path, value)
        }
        Operation::Move { from, path } => {
            let value = take(target, &from).ok_or_else(Refusal::unprocessable)?;
            carry(&path, &value, carried)?;
            add(target, &path, value)
        }
        Operation::Remove { path } => take(target, &path).map(drop),
        Operation::Replace { path, value } => {
            check_levels(&path, &value)?;
            replace(target, &path, value)
        }
        Operation::Test { path, value } => found(target, &path).filter(|found| **found == value).map(drop),
    };
    done.ok_or_else(Refusal::unprocessable)
}

/// Checks whether a value may be copied or moved to a path: with the others, as many bytes as an object has (apiserver
/// `JSONPatchMaxCopyBytes`).
fn carry(path: &str, value: &Value, carried: &mut usize) -> Result<(), Refusal> {
    *carried += check_levels(path, value)?;
    if *carried <= BYTES {
        return Ok(());
    }
    let why = format!("the operations of the patch copy and move more than {BYTES} bytes");
    Err(Refusal::new(422, "Invalid", why).with_details(json!({})))
}

/// Returns the bytes of a value, unless it has too many levels below a path.
fn check_levels(path: &str, value: &Value) -> Result<usize, Refusal> {
    let levels = LEVELS.checked_sub(path.matches('/').count());
    levels.and_then(|levels| bytes_of(value, levels)).ok_or_else(too_deep)
}

/// Adds a value. A server puts none in place of the whole object (json-patch `add`).
fn add(target: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, last) = split(path)?;
    match target.pointer_mut(parent)? {
        Value::Object(fields) => drop(fields.insert(last, value)),
        Value::Array(elements) if last == "-" => elements.push(value),
        Value::Array(elements) => {
            let place = last.parse().ok().filter(|place| *place <= elements.len())?;
            elements.insert(place, value);
        }
        _ => return None,
    }
    Some(())
}

/// Replaces a value. A server adds a field that is absent (json-patch `replace`).
fn replace(target: &mut Value, path: &str, value: Value) -> Option<()> {
    match split(path).and_then(|(parent, last)| Some((target.pointer_mut(parent)?, last))) {
        Some((Value::Object(fields), last)) => drop(fields.insert(last, value)),
        _ => *target.pointer_mut(path)? = value,
    }
    Some(())
}

/// The value that a test is about, or a copy. An absent field is null.
fn found<'v>(target: &'v Value, path: &str) -> Option<&'v Value> {
    let is_field = || split(path).and_then(|(parent, _)| target.pointer(parent)).is_some_and(Value::is_object);
    target.pointer(path).or_else(|| is_field().then_some(&Value::Null))
}

fn take(target: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = split(path)?;
    match target.pointer_mut(parent)? {
        Value::Object(fields) => fields.remove(&last),
        Value::Array(elements) => {
            let place = last.parse().ok().filter(|place| *place < elements.len())?;
            Some(elements.remove(place))
        }
        _ => None,
    }
}

/// The parent of a path, and its last segment.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    #[test]
    fn a_json_patch_does_all_of_its_operations_or_none() {
        let target = json!({ "a": { "b~/c": 1 }, "l": [1, 3] });
        let patch = json!([
            { "op": "test", "path": "/a/b~0~1c", "value": 1 },
            { "op": "add", "path": "/l/1", "value": 2 },
            { "op": "add", "path": "/l/-", "value": 4 },
            { "op": "move", "from": "/a", "path": "/m" },
            { "op": "remove", "path": "/l/0" },
        ]);
        assert_eq!(json(&target, &patch), Ok(json!({ "l": [2, 3, 4], "m": { "b~/c": 1 } })));
        for operation in [
            json!({ "op": "add", "path": "/l/9", "value": 0 }),
            json!({ "op": "remove", "path": "/none" }),
            json!({ "op": "replace", "path": "/none/a", "value": 0 }),
            json!({ "op": "replace", "path": "/l/9", "value": 0 }),
            json!({ "op": "test", "path": "/l/0", "value": 9 }),
            json!({ "op": "test", "path": "/none", "value": 0 }),
            json!({ "op": "add", "path": "/none/a", "value": 9 }),
        ] {
            let refused = json(&target, &json!([{ "op": "remove", "path": "/a" }, operation]));
            assert_eq!(refused.map_err(|refusal| refusal.code), Err(422), "{operation}");
        }
        assert_eq!(json(&target, &json!([{ "op": "grow", "path": "/l" }])).map_err(|refusal| refusal.code), Err(400));
    }

    #[test]
    fn the_sort_of_a_patch_does_not_depend_on_parameters_of_its_media_type() {
        let kind = Kinds::new().known("v1/pods").expect("a kind");
        let apply = PatchType::of(&kind, "application/apply-patch+yaml; charset=utf-8");
        assert_eq!(apply.map_err(|refusal| refusal.code), Ok(PatchType::Apply));
        assert_eq!(PatchType::of(&kind, "application/json").map_err(|refusal| refusal.code), Err(415));
    }

    #[test]
    fn a_json_patch_replaces_an_absent_field_and_finds_it_null() {
        let test = json!({ "op": "test", "path": "/b", "value": null });
        let replace = json!({ "op": "replace", "path": "/b", "value": 2 });
        assert_eq!(json(&json!({ "a": 1 }), &json!([test, replace])), Ok(json!({ "a": 1, "b": 2 })));
    }

    #[test]
    fn a_json_patch_copies_an_absent_field_as_null() {
        let copy =
            |from: &str| json(&json!({ "a": {}, "l": [] }), &json!([{ "op": "copy", "from": from, "path": "/c" }]));
        assert_eq!(copy("/a/b"), Ok(json!({ "a": {}, "l": [], "c": null })));
        for from in ["/l/0", "/b/a"] {
            assert_eq!(copy(from).map_err(|refusal| refusal.code), Err(422), "{from}");
        }
    }

    #[test]
    fn a_json_patch_nests_an_object_127_levels_deep_at_most() {
        let nested = (0..100).fold(json!({}), |inner, _| json!({ "a": inner }));
        let wrap = [
            json!({ "op": "add", "path": "/b", "value": nested }),
            json!({ "op": "move", "from": "/spec", "path": format!("/b{}", "/a".repeat(100)) }),
            json!({ "op": "move", "from": "/b", "path": "/spec" }),
        ];
        let target = json!({ "spec": {} });
        let patch = |count: usize| Value::Array(wrap.iter().cycle().take(count * wrap.len()).cloned().collect());
        assert!(json(&target, &patch(1)).is_ok());
        for count in [2, 100] {
            let refusal = json(&target, &patch(count)).expect_err("too many levels");
            let status = refusal.status.unwrap_or_default();
            assert_eq!(
                (refusal.code, &status["message"]),
                (422, &json!("the patched object has more than 127 levels"))
            );
        }
        for operation in ["add", "replace"] {
            let deep = (0..127).fold(json!(1), |inner, _| json!([inner]));
            let refused = json(&target, &json!([{ "op": operation, "path": "/spec", "value": deep }]));
            assert_eq!(refused.map_err(|refusal| refusal.code), Err(422), "{operation}");
        }
    }

    #[test]
    fn a_json_patch_copies_and_moves_3_mib_at_most() {
        let copies = (0..40).map(|place| json!({ "op": "copy", "from": "/spec", "path": format!("/spec/b{place}") }));
        let refusal = json(&json!({ "spec": { "a": "0123456789" } }), &copies.collect()).expect_err("too many bytes");
        let status = refusal.status.unwrap_or_default();
        let message = "the operations of the patch copy and move more than 3145728 bytes";
        assert_eq!((refusal.code, &status["message"]), (422, &json!(message)));
    }

    #[test]
    fn a_json_patch_has_10000_operations_and_3_mib_at_most() {
        let operations = |count| Value::Array(vec![json!({ "op": "test", "path": "/a", "value": 1 }); count]);
        assert!(json(&json!({ "a": 1 }), &operations(10_000)).is_ok());
        let refusal = json(&json!({ "a": 1 }), &operations(10_001)).expect_err("too many operations");
        let status = refusal.status.unwrap_or_default();
        let message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
        assert_eq!((refusal.code, &status["message"]), (413, &json!(message)));
        let large = json!([{ "op": "add", "path": "/b", "value": "x".repeat(3 << 20) }]);
        assert_eq!(json(&json!({}), &large).map_err(|refusal| refusal.code), Err(413));
    }

    fn pod() -> ObjectType<'static> {
        Kinds::new().known("v1/pods").expect("a kind").object_type()
    }

    #[test]
    fn a_strategic_patch_tells_elements_apart_by_their_keys() {
        let spec = |containers: Value| json!({ "containers": containers, "tolerations": [{ "key": "x" }] });
        let mut object = json!({ "metadata": { "finalizers": ["x/y"], "labels": { "k": "v", "l": "w" } },
            "spec": spec(json!([{ "name": "a", "image": "1" }, { "name": "b", "image": "1" }])) });
        let patch = json!({ "spec": { "tolerations": [{ "key": "y" }], "$setElementOrder/containers": [{ "name": "b" }, { "name": "c" }],
                "containers": [{ "name": "b", "image": "2" }, { "name": "a", "$patch": "delete" }, { "name": "c" }] },
            "metadata": { "finalizers": ["x/z", "x/y"], "labels": { "$patch": "replace", "m": "1" } } });
        strategic(pod(), &mut object, &patch).expect("patched");
        let mut expected = json!({ "metadata": { "finalizers": ["x/z", "x/y"], "labels": { "m": "1" } },
            "spec": spec(json!([{ "name": "b", "image": "2" }, { "name": "c" }])) });
        expected["spec"]["tolerations"] = json!([{ "key": "y" }]);
        assert_eq!(object, expected);
        let patch = json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["x/y"], "labels": null } });
        strategic(pod(), &mut object, &patch).expect("patched");
        assert_eq!(object["metadata"], json!({ "finalizers": ["x/z"] }));
        for patch in [json!([{ "image": "3" }]), json!([null])] {
            let refused = strategic(pod(), &mut object, &json!({ "spec": { "containers": patch } }));
            assert_eq!(refused.map_err(|refusal| refusal.code), Err(500));
        }
    }

    #[test]
    fn a_strategic_patch_refuses_a_list_of_two_sorts_and_an_order_of_nothing() {
        let metadata = |fields: Value| json!({ "metadata": fields });
        let order = json!({ "$setElementOrder/finalizers": ["x/y"], "finalizers": [] });
        for (before, patch, expected) in [
            (json!({}), order, Err("no elements in any of the given slices")),
            (json!({}), json!({ "$setElementOrder/finalizers": ["x/y"] }), Ok(())),
            (
                json!({ "finalizers": ["x/y"] }),
                json!({ "finalizers": [null] }),
                Err("list element types are not identical: [[x/y] [<nil>]]"),
            ),
        ] {
            let refusal = strategic(pod(), &mut metadata(before), &metadata(patch)).map_err(|it| it.status.unwrap());
            let message = refusal.as_ref().copied().map_err(|status| status["message"].as_str().unwrap());
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn a_strategic_patch_changes_ten_thousand_elements_of_a_list() {
        let env = |value: &str| {
            let elements = (0..10_000).map(|place| json!({ "name": place.to_string(), "value": value }));
            json!({ "spec": { "containers": [{ "name": "a", "env": elements.collect::<Vec<_>>() }] } })
        };
        let mut object = env("1");
        strategic(pod(), &mut object, &env("2")).expect("patched");
        assert!(object == env("2"));
    }
}
