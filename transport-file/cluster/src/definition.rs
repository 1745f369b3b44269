//! A CustomResourceDefinition as an object: what a server adds to it, refuses in it, and says of it.

use super::metadata::{finalizers, set_finalizers};
use super::refusal::{Cause, FieldError};
use super::schema::soundness;
use super::schema::structural::Schema;
use crate::kinds::ServedKind;
use listwatch_core::time::WallTime;
use serde_json::{Value, json};

/// The finalizer that keeps a definition while it has objects.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(super) const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";

pub(super) fn is_definition(kind: &ServedKind) -> bool {
    kind.name() == DEFINITIONS
}

/// Reads the schemas of a definition. `Err` says what no schema can have.
pub(super) fn decode(definition: &Value) -> Result<(), String> {
    let schemas = versions(definition).map(|version| &version["schema"]["openAPIV3Schema"]);
    schemas.filter(|schema| !schema.is_null()).try_for_each(|schema| Schema::read(schema).map(drop))
}

/// Gives a definition what a server adds to it.
pub(super) fn complete(definition: &mut Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &mut definition["spec"];
    if !spec.is_object() || !spec["names"].is_object() {
        return;
    }
    let kind = text(&spec["names"]["kind"]);
    for (name, default) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if text(&spec["names"][name]).is_empty() && !kind.is_empty() {
            spec["names"][name] = json!(default);
        }
    }
    if spec["conversion"].is_null() {
        spec["conversion"] = json!({ "strategy": "None" });
    }
    let Some(storage) = storage(definition).map(str::to_owned) else { return };
    if !definition["status"].is_object() {
        definition["status"] = json!({});
    }
    let status = &mut definition["status"];
    for (field, empty) in [
        ("acceptedNames", json!({ "kind": "", "plural": "" })),
        ("conditions", json!(null)),
        ("storedVersions", json!([])),
    ] {
        if status[field].is_null() {
            status[field] = empty;
        }
    }
    if let Some(stored) = status["storedVersions"].as_array_mut().filter(|stored| !stored.contains(&json!(storage))) {
        stored.push(json!(storage));
    }
}

/// The name of the version in which objects are stored.
pub(super) fn storage(definition: &Value) -> Option<&str> {
    versions(definition).find(|version| version["storage"] == true).and_then(|version| version["name"].as_str())
}

pub(super) fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["spec"]["versions"].as_array().into_iter().flatten()
}

/// Says that the names of a definition are accepted, and that its objects are served.
pub(super) fn establish(definition: &mut Value, now: WallTime) {
    if !definition["status"].is_object() {
        definition["status"] = json!({});
    }
    definition["status"]["acceptedNames"] = definition["spec"]["names"].clone();
    set_condition(definition, now, ("NamesAccepted", "True"), "NoConflicts", "no conflicts found");
    let why = "the initial names have been accepted";
    set_condition(definition, now, ("Established", "True"), "InitialNamesAccepted", why);
}

/// Marks a definition that is to be deleted, so that it stays as long as it has objects.
pub(super) fn end(definition: &mut Value, now: WallTime) {
    let mut names: Vec<String> = finalizers(definition).into_iter().map(str::to_owned).collect();
    if !names.iter().any(|name| name == CLEANUP) {
        names.push(CLEANUP.to_owned());
    }
    set_finalizers(definition, names);
    let why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, now, ("Terminating", "True"), "InstanceDeletionPending", why);
}

/// Sets a condition. Its time changes with its status.
pub(super) fn set_condition(
    definition: &mut Value,
    now: WallTime,
    (of, status): (&str, &str),
    reason: &str,
    message: &str,
) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let place = conditions.iter().position(|condition| condition["type"] == of);
    let known = place.map(|place| &conditions[place]).filter(|known| known["status"] == status);
    let time = known.map_or_else(|| json!(now.to_string()), |known| known["lastTransitionTime"].clone());
    let condition =
        json!({ "type": of, "status": status, "lastTransitionTime": time, "reason": reason, "message": message });
    match place {
        Some(place) => conditions[place] = condition,
        None => conditions.push(condition),
    }
}

/// What is wrong with a definition, which replaces another one.
pub(super) fn faults(definition: &Value, stored: Option<&Value>) -> Vec<FieldError> {
    let (spec, mut errors) = (&definition["spec"], Vec::new());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    let name = text(&definition["metadata"]["name"]);
    if name != format!("{}.{group}", text(&names["plural"])) {
        errors.push(FieldError::invalid("metadata.name", &name, "must be spec.names.plural+\".\"+spec.group"));
    }
    if group.is_empty() {
        errors.push(required("spec.group"));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", &group, "should be a domain with at least one dot"));
    }
    match text(&spec["scope"]).as_str() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(required("spec.scope")),
        scope => errors.push(FieldError::unsupported("spec.scope", scope, &["Cluster", "Namespaced"])),
    }
    check_versions(definition, &mut errors);
    for field in ["plural", "singular", "kind", "listKind"].into_iter().filter(|field| text(&names[*field]).is_empty())
    {
        errors.push(required(&format!("spec.names.{field}")));
    }
    if spec["preserveUnknownFields"] == true {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::with_value(Cause::Invalid, "spec.preserveUnknownFields", &json!(true), why));
    }
    stored.into_iter().for_each(|stored| check_fixed(spec, &stored["spec"], &mut errors));
    errors
}

fn required(field: &str) -> FieldError {
    FieldError::new(Cause::Required, field, "")
}

/// The scope and the names of what is stored stay.
fn check_fixed(spec: &Value, stored: &Value, errors: &mut Vec<FieldError>) {
    for (field, pointer) in [
        ("spec.scope", "/scope"),
        ("spec.names.kind", "/names/kind"),
        ("spec.group", "/group"),
        ("spec.names.plural", "/names/plural"),
    ] {
        let (now, before) = (spec.pointer(pointer), stored.pointer(pointer));
        if now != before {
            let now = now.unwrap_or(&Value::Null);
            errors.push(FieldError::with_value(Cause::Invalid, field, now, "field is immutable"));
        }
    }
}

fn check_versions(definition: &Value, errors: &mut Vec<FieldError>) {
    let all: Vec<&Value> = versions(definition).collect();
    let schema_of = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    for (place, version) in all.iter().enumerate() {
        if !schema_of(version).is_object() {
            errors.push(required(&format!("spec.versions[{place}].schema.openAPIV3Schema")));
        }
        if version["name"].as_str().unwrap_or_default().is_empty() {
            errors.push(required(&format!("spec.versions[{place}].name")));
        }
    }
    // A server keeps one schema of all versions apart.
    let is_shared = all.windows(2).all(|pair| pair[0]["schema"] == pair[1]["schema"]);
    let shared = all.first().filter(|_| is_shared);
    for (place, version) in all.iter().enumerate().filter(|_| !is_shared) {
        check_schema(&schema_of(version), &format!("spec.versions[{place}].schema.openAPIV3Schema"), errors);
    }
    let name = |version: &&Value| version["name"].clone();
    let is_twice = |place: usize| all[..place].iter().map(name).any(|known| known == all[place]["name"]);
    let versions = &definition["spec"]["versions"];
    if (0..all.len()).any(is_twice) {
        errors.push(FieldError::with_value(
            Cause::Invalid,
            "spec.versions",
            versions,
            "must contain unique version names",
        ));
    }
    if all.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::with_value(Cause::Invalid, "spec.versions", versions, why));
    }
    if let Some(version) = shared {
        check_schema(&schema_of(version), "spec.validation.openAPIV3Schema", errors);
    }
}

fn check_schema(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(Ok(read)) = Some(schema).filter(|schema| schema.is_object()).map(Schema::read) else { return };
    errors.extend(soundness::faults(&read, at));
    #[cfg(feature = "cel")]
    if errors.is_empty() {
        let rules = super::schema::rules::Rules::read(schema);
        errors.extend(rules.iter().flat_map(|rules| rules.unsound(at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Value {
        let schema = json!({ "openAPIV3Schema": { "type": "object" } });
        let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
        json!({ "metadata": { "name": "foos.example.com" }, "spec": { "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Foo", "plural": "foos" }, "versions": [version] } })
    }

    #[test]
    fn a_definition_gets_the_names_that_it_leaves_out() {
        let mut given = definition();
        complete(&mut given);
        assert_eq!(given["spec"]["names"]["singular"], "foo");
        assert_eq!(given["spec"]["names"]["listKind"], "FooList");
        assert_eq!(given["status"]["storedVersions"], json!(["v1"]));
        assert!(faults(&given, Some(&given)).is_empty());
    }

    #[test]
    fn a_definition_that_no_server_takes_is_refused() {
        let said = |change: &dyn Fn(&mut Value)| {
            let mut given = definition();
            change(&mut given);
            complete(&mut given);
            faults(&given, Some(&definition())).first().map(ToString::to_string)
        };
        let expected = "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified \
                        object fields";
        let schema = "/spec/versions/0/schema/openAPIV3Schema";
        assert_eq!(
            said(&|it| it.pointer_mut(schema).unwrap()["properties"] = json!({ "spec": {} })).as_deref(),
            Some(expected)
        );
        let expected = "spec.versions[0].schema.openAPIV3Schema: Required value";
        assert_eq!(said(&|it| it["spec"]["versions"][0]["schema"] = json!(null)).as_deref(), Some(expected));
        let expected = "metadata.name: Invalid value: \"foos\": must be spec.names.plural+\".\"+spec.group";
        assert_eq!(said(&|it| it["metadata"]["name"] = json!("foos")).as_deref(), Some(expected));
        let expected = "spec.scope: Invalid value: \"Cluster\": field is immutable";
        assert_eq!(said(&|it| it["spec"]["scope"] = json!("Cluster")).as_deref(), Some(expected));
    }
}
