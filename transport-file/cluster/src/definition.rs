//! A CustomResourceDefinition as an object: what a server adds to it, refuses in it, and says of it.

use super::metadata::{finalizers, set_finalizers};
use super::names::{DNS_LABEL, MIXED_CASE, SUBDOMAIN, is_dns_label, is_subdomain};
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

/// Says which names of a definition are accepted beside those of others, and whether its objects are served.
pub(super) fn establish<'d>(definition: &mut Value, others: impl Iterator<Item = &'d Value>, now: WallTime) {
    if !definition["status"].is_object() {
        definition["status"] = json!({});
    }
    if let Some(approval) = Approval::of(definition) {
        let status = if matches!(approval, Approval::Given(_)) { "True" } else { "False" };
        let (reason, message) = (approval.reason(), approval.message());
        set_condition(definition, now, ("KubernetesAPIApprovalPolicyConformant", status), reason, &message);
    }
    let (mut reason, mut message) = ("NoConflicts", "no conflicts found".to_owned());
    let others: Vec<&Value> = others.filter(|other| other["spec"]["group"] == definition["spec"]["group"]).collect();
    let mut accepted = definition["status"]["acceptedNames"].clone();
    for (fields, conflicts) in NAMES {
        let taken: Vec<String> =
            others.iter().flat_map(|other| names(&other["status"]["acceptedNames"], fields)).collect();
        for (field, conflict) in fields.iter().zip(conflicts) {
            let (wanted, own) = (&definition["spec"]["names"], names(&accepted, &[*field]));
            let lost = names(wanted, &[*field]).into_iter().filter(|name| taken.contains(name) && !own.contains(name));
            let lost: Vec<String> = lost.map(|name| format!("{name:?} is already in use")).collect();
            match &lost[..] {
                [] => accepted[*field] = wanted[*field].clone(),
                [lost] => (reason, message) = (conflict, lost.clone()),
                lost => (reason, message) = (conflict, format!("[{}]", lost.join(", "))),
            }
        }
    }
    accepted["categories"] = definition["spec"]["names"]["categories"].clone();
    accepted.as_object_mut().into_iter().for_each(|names| names.retain(|_, name| !name.is_null()));
    definition["status"]["acceptedNames"] = accepted;
    let is_accepted = reason == "NoConflicts";
    let status = if is_accepted { "True" } else { "False" };
    set_condition(definition, now, ("NamesAccepted", status), reason, &message);
    if is_accepted {
        let why = "the initial names have been accepted";
        set_condition(definition, now, ("Established", "True"), "InitialNamesAccepted", why);
    } else if !is_established(definition) {
        set_condition(definition, now, ("Established", "False"), "NotAccepted", "not all names are accepted");
    }
}

/// The fields of names that no two definitions of a group have, and the reasons of conflicts.
const NAMES: [(&[&str], &[&str]); 2] = [
    (&["plural", "singular", "shortNames"], &["PluralConflict", "SingularConflict", "ShortNamesConflict"]),
    (&["kind", "listKind"], &["KindConflict", "ListKindConflict"]),
];

/// The names in these fields.
fn names(of: &Value, fields: &[&str]) -> Vec<String> {
    let listed = |field: &&str| match &of[*field] {
        Value::Array(names) => names.clone(),
        name => vec![name.clone()],
    };
    let texts = |name: Value| name.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    fields.iter().flat_map(listed).filter_map(texts).collect()
}

/// Whether the objects of a definition are served.
pub(super) fn is_established(definition: &Value) -> bool {
    has_condition(definition, "Established")
}

/// Whether a definition waits for names that others have.
pub(super) fn is_waiting(definition: &Value) -> bool {
    !has_condition(definition, "NamesAccepted")
}

fn has_condition(definition: &Value, of: &str) -> bool {
    let mut conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == of && condition["status"] == "True")
}

/// What a definition says of its approval, which the groups of Kubernetes need.
#[derive(Clone, Copy, Debug)]
enum Approval<'d> {
    Missing,
    Invalid(&'d str),
    Bypassed(&'d str),
    Given(&'d str),
}

/// The annotation with the approval.
const APPROVAL: &str = "api-approved.kubernetes.io";

impl<'d> Approval<'d> {
    /// `None` if the group needs none.
    fn of(definition: &'d Value) -> Option<Self> {
        let group = format!(".{}", definition["spec"]["group"].as_str().unwrap_or_default());
        if ![".k8s.io", ".kubernetes.io"].iter().any(|protected| group.ends_with(protected)) {
            return None;
        }
        let given = definition["metadata"]["annotations"][APPROVAL].as_str().unwrap_or_default();
        let is_url = || {
            let (scheme, rest) = given.split_once("://").unwrap_or_default();
            !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/')
        };
        Some(match given {
            "" => Self::Missing,
            given if given.starts_with("unapproved") => Self::Bypassed(given),
            given if is_url() => Self::Given(given),
            given => Self::Invalid(given),
        })
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Missing => "MissingAnnotation",
            Self::Invalid(_) => "InvalidAnnotation",
            Self::Bypassed(_) => "UnapprovedAnnotation",
            Self::Given(_) => "ApprovedAnnotation",
        }
    }

    fn message(self) -> String {
        let need = format!("protected groups must have approval annotation {APPROVAL:?}");
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        match self {
            Self::Missing => format!("{need}, {see}"),
            Self::Invalid(_) => format!("{need} with either a URL or a reason starting with \"unapproved\", {see}"),
            Self::Bypassed(why) => format!("not approved: {why:?}"),
            Self::Given(url) => format!("approved in {url}"),
        }
    }

    /// The fault of a definition that is not approved, unless it was not before.
    fn fault(self, stored: Option<&Value>) -> Option<FieldError> {
        if stored.and_then(Approval::of).is_some_and(|before| before.reason() == self.reason()) {
            return None;
        }
        let field = format!("metadata.annotations[{APPROVAL}]");
        match self {
            Self::Missing => Some(FieldError::new(Cause::Required, &field, self.message())),
            Self::Invalid(given) => Some(FieldError::invalid(&field, given, &self.message())),
            Self::Bypassed(_) | Self::Given(_) => None,
        }
    }
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
    } else if !is_subdomain(&group) {
        errors.push(FieldError::invalid("spec.group", &group, SUBDOMAIN));
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
    check_names(names, &mut errors);
    errors.extend(Approval::of(definition).and_then(|approval| approval.fault(stored)));
    if spec["preserveUnknownFields"] == true {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::with_value(Cause::Invalid, "spec.preserveUnknownFields", &json!(true), why));
    }
    stored.into_iter().for_each(|stored| check_fixed(spec, &stored["spec"], &mut errors));
    errors
}

fn check_names(names: &Value, errors: &mut Vec<FieldError>) {
    let text = |field: &str| names[field].as_str().unwrap_or_default();
    let mut check = |field: &str, name: &str, before: &str| {
        let tested = if before.is_empty() { name.to_owned() } else { name.to_lowercase() };
        if !is_dns_label(&tested) {
            errors.push(FieldError::invalid(&format!("spec.names.{field}"), name, &format!("{before}{DNS_LABEL}")));
        }
    };
    for field in ["plural", "singular"].into_iter().filter(|field| !text(field).is_empty()) {
        check(field, text(field), "");
    }
    for field in ["kind", "listKind"].into_iter().filter(|field| !text(field).is_empty()) {
        check(field, text(field), MIXED_CASE);
    }
    for list in ["shortNames", "categories"] {
        for (place, name) in names[list].as_array().into_iter().flatten().enumerate() {
            check(&format!("{list}[{place}]"), name.as_str().unwrap_or_default(), "");
        }
    }
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", text("listKind"), why));
    }
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
        let name = version["name"].as_str().unwrap_or_default();
        if !is_dns_label(name) {
            errors.push(FieldError::invalid(&format!("spec.versions[{place}].name"), name, DNS_LABEL));
            // A server keeps the first one twice.
            let is_first = place == 0 && !name.is_empty();
            errors.extend(is_first.then(|| FieldError::invalid("spec.version", name, DNS_LABEL)));
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
        let rules = super::schema::rules::Rules::read(&read);
        errors.extend(rules.iter().flat_map(|rules| rules.unsound(&read, at)));
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

    fn named(group: &str, names: Value) -> Value {
        let mut given = definition();
        (given["spec"]["group"], given["spec"]["names"]) = (json!(group), names);
        complete(&mut given);
        given
    }

    #[test]
    fn a_definition_waits_for_names_that_others_have() {
        let now = WallTime::from_unix_seconds(0);
        let mut first = named("example.com", json!({ "kind": "Foo", "plural": "foos", "shortNames": ["f"] }));
        establish(&mut first, std::iter::empty(), now);
        assert!(is_established(&first) && !is_waiting(&first));
        assert_eq!(first["status"]["acceptedNames"], first["spec"]["names"]);
        let mut second =
            named("example.com", json!({ "kind": "Bar", "plural": "bars", "shortNames": ["b", "f", "foos"] }));
        establish(&mut second, [&first].into_iter(), now);
        let accepted = json!({ "kind": "Bar", "listKind": "BarList", "plural": "bars", "singular": "bar" });
        assert_eq!(second["status"]["acceptedNames"], accepted);
        let told = |place: usize, field: &str| second["status"]["conditions"][place][field].clone();
        assert_eq!([told(0, "reason"), told(1, "reason")], ["ShortNamesConflict", "NotAccepted"]);
        assert_eq!(told(0, "message"), "[\"f\" is already in use, \"foos\" is already in use]");
        let mut elsewhere = named("other.example.com", first["spec"]["names"].clone());
        establish(&mut elsewhere, [&first].into_iter(), now);
        assert!(is_established(&elsewhere));
        establish(&mut second, std::iter::empty(), now);
        assert!(is_established(&second));
        second["spec"]["names"]["shortNames"] = json!(["foo"]);
        establish(&mut second, [&first].into_iter(), now);
        assert!(is_established(&second) && is_waiting(&second), "it goes on with the names that it had");
    }

    #[test]
    fn a_group_of_kubernetes_needs_an_approval() {
        let fault = |group: &str, approval: &str, stored: Option<&str>| {
            let approved = |approval: &str| {
                let mut given = named(group, json!({ "kind": "Foo", "plural": "foos" }));
                given["metadata"] = json!({ "name": format!("foos.{group}"), "annotations": { APPROVAL: approval } });
                given
            };
            let stored = stored.map(approved);
            let found = faults(&approved(approval), stored.as_ref());
            found.first().map(|fault| fault.to_string().split(", see").next().unwrap_or_default().to_owned())
        };
        let need = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
        let missing = format!("metadata.annotations[{APPROVAL}]: Required value: {need}");
        assert_eq!(fault("x.k8s.io", "", None), Some(missing));
        let reason = "with either a URL or a reason starting with \"unapproved\"";
        let invalid = format!("metadata.annotations[{APPROVAL}]: Invalid value: \"no\": {need} {reason}");
        assert_eq!(fault("x.kubernetes.io", "no", None), Some(invalid));
        for (group, approval, stored) in [
            ("x.k8s.io", "https://x/1", None),
            ("x.k8s.io", "unapproved", None),
            ("x.k8s.io", "", Some("")),
            ("xk8s.io", "", None),
        ] {
            assert_eq!(fault(group, approval, stored), None, "{group} {approval}");
        }
    }
}
