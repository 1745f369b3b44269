//! The versions of custom resources that definitions add, and what a server makes of their objects.

use super::conversion::Conversions;
use super::definition::{storage, versions};
use super::metadata::{Part, metadata_of};
use super::refusal::{Cause, FieldError, number_text};
use super::schema::defaults::set_defaults;
use super::schema::pruning::{prune, remove_nulls};
#[cfg(feature = "cel")]
use super::schema::rules::Rules;
use super::schema::structural::Schema;
use super::schema::{embedded, list_types, validation};
use super::typed::go_text;
use crate::kinds::{Fields, Kinds, ObjectType, ServedKind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The versions that definitions add, by the names of their collections.
#[derive(Debug, Default)]
pub(super) struct Versions {
    served: BTreeMap<String, Arc<Version>>,
    /// The resources that have or had a definition, such as `example.com/foos`. Their other versions are not there.
    defined: BTreeSet<String>,
    pub(super) conversions: Conversions,
}

/// A version of a custom resource.
#[derive(Debug)]
pub(super) struct Version {
    /// The version that requests name.
    pub(super) api_version: String,
    /// The kind as it is stored: all versions of a resource have one collection.
    pub(super) kind: Arc<ServedKind>,
    fields: Fields,
    /// The name of the definition.
    pub(super) definition: String,
    /// Where the scale is.
    pub(super) scale: ScalePaths,
    schema: Schema,
    #[cfg(feature = "cel")]
    rules: Option<Rules>,
    /// The schema of the version in which objects are stored; `None` if it is this one.
    stored: Option<Arc<Schema>>,
    conversions: Conversions,
}

/// The paths of what a scale shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScalePaths {
    pub(super) wanted: String,
    pub(super) present: String,
    /// The text of the selector; empty for none.
    pub(super) selector: String,
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.api_version == other.api_version && self.kind == other.kind
    }
}

impl Eq for Version {}

impl Versions {
    /// The version of a collection.
    pub(super) fn of(&self, collection: &str) -> Option<Arc<Version>> {
        self.served.get(collection).map(Arc::clone)
    }

    /// Whether a definition does not serve this collection, or does not any more.
    pub(super) fn are_without(&self, collection: &str) -> bool {
        !self.served.contains_key(collection) && resource_of(collection).is_some_and(|it| self.defined.contains(&it))
    }

    /// The name of the definition whose objects are stored in a collection.
    pub(super) fn definition_of(&self, stored: &str) -> Option<&str> {
        self.served.values().find(|version| version.kind.name() == stored).map(|version| version.definition.as_str())
    }

    /// The kind that the objects of a definition have as they are stored.
    pub(super) fn kind_of(&self, definition: &str) -> Option<Arc<ServedKind>> {
        let found = self.served.values().find(|version| version.definition == definition);
        found.map(|version| Arc::clone(&version.kind))
    }

    /// Adds the versions of a definition, and returns one of them.
    pub(super) fn define(&mut self, kinds: &mut Kinds, definition: &Value) -> Option<Arc<Version>> {
        let home = self.home(definition)?;
        self.forget(kinds, definition);
        kinds.define(definition);
        let stored_name = storage(definition)?;
        let stored = versions(definition).find(|version| version["name"] == stored_name)?;
        let stored = Arc::new(schema_of(stored));
        for version in versions(definition) {
            let collection = collection(definition, version);
            let known = kinds.known(&collection).filter(|kind| kind.is_custom() && version["served"] == true);
            let Some(kind) = known else { continue };
            let mut kind = (*kind).clone();
            kind.api_version.clone_from(&home);
            let is_stored = version["name"] == stored_name;
            let stored = (!is_stored).then(|| Arc::clone(&stored));
            let version = Version::read(definition, version, kind, stored, self.conversions.clone());
            self.served.insert(collection, Arc::new(version));
        }
        self.served.values().find(|version| version.is_of(definition)).map(Arc::clone)
    }

    /// Removes the versions of a definition.
    pub(super) fn forget(&mut self, kinds: &mut Kinds, definition: &Value) {
        let gone: Vec<String> =
            self.served.iter().filter(|(_, version)| version.is_of(definition)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.served.remove(&name);
            kinds.remove(&name);
        }
        let first = versions(definition).next().map(|version| collection(definition, version));
        let own = first.filter(|collection| !kinds.is_built_in(collection));
        self.defined.extend(own.as_deref().and_then(resource_of));
    }

    /// The version by which a resource's collection is named for good.
    fn home(&self, definition: &Value) -> Option<String> {
        let known = self.served.values().find(|version| version.is_of(definition));
        let group = definition["spec"]["group"].as_str()?;
        Some(match known {
            Some(version) => version.kind.api_version.clone(),
            None => format!("{group}/{}", storage(definition)?),
        })
    }
}

fn collection(definition: &Value, version: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &definition["spec"];
    format!("{}/{}/{}", text(&spec["group"]), text(&version["name"]), text(&spec["names"]["plural"]))
}

/// The resource of a collection, in any version.
fn resource_of(collection: &str) -> Option<String> {
    let (version, plural) = collection.rsplit_once('/')?;
    let (group, _) = version.split_once('/')?;
    Some(format!("{group}/{plural}"))
}

/// The schema of a version. Without one, all fields are taken.
fn schema_of(version: &Value) -> Schema {
    let any = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = Some(&version["schema"]["openAPIV3Schema"]).filter(|schema| schema.is_object());
    schema.and_then(|schema| Schema::read(schema).ok()).or_else(|| Schema::read(&any()).ok()).unwrap_or_default()
}

impl Version {
    fn read(
        definition: &Value,
        version: &Value,
        kind: ServedKind,
        stored: Option<Arc<Schema>>,
        conversions: Conversions,
    ) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let scale = &version["subresources"]["scale"];
        let path =
            |name: &str, default: &str| scale[name].as_str().unwrap_or(default).trim_start_matches('.').to_owned();
        let (schema, own) = (&version["schema"]["openAPIV3Schema"], schema_of(version));
        Self {
            api_version: format!("{}/{}", kind.group(), text(&version["name"])),
            kind: Arc::new(kind),
            fields: Fields::of_custom(schema),
            definition: text(&definition["metadata"]["name"]),
            scale: ScalePaths {
                wanted: path("specReplicasPath", "spec.replicas"),
                present: path("statusReplicasPath", "status.replicas"),
                selector: path("labelSelectorPath", ""),
            },
            #[cfg(feature = "cel")]
            rules: Rules::read(&own),
            schema: own,
            stored,
            conversions,
        }
    }

    fn is_of(&self, definition: &Value) -> bool {
        definition["metadata"]["name"] == self.definition
    }

    /// The type of its objects, as far as their lists are concerned.
    pub(super) fn object_type(&self) -> ObjectType<'_> {
        ObjectType::of(&self.fields)
    }

    /// Whether its objects have another version as they are stored.
    pub(super) fn differs_from_stored(&self) -> bool {
        self.api_version != self.kind.api_version
    }

    /// Makes an object of this version what a server makes of it, and returns the paths of the fields that it does not know.
    /// `Err` says what no object of the version can have.
    pub(super) fn conform(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let unknown = self.conform_applied(object)?;
        remove_nulls(Some(&self.schema), object);
        Ok(unknown)
    }

    /// As [`conform`](Self::conform), for what becomes of an object by an apply: nulls stay.
    pub(super) fn conform_applied(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let mut unknown = embedded::prune_metadata(metadata_of(object), "");
        unknown.extend(prune(&self.schema, object));
        unknown.extend(embedded::coerce(&self.schema, object)?);
        set_defaults(&self.schema, object);
        Ok(unknown)
    }

    /// Makes a stored object what a server makes of it when it reads it.
    pub(super) fn conform_stored(&self, object: &mut Value) {
        let schema = self.stored.as_deref().unwrap_or(&self.schema);
        prune(schema, object);
        set_defaults(schema, object);
    }

    /// The fields that an apply cannot have.
    pub(super) fn undeclared(&self, applied: &Value) -> Vec<String> {
        prune(&self.schema, &mut applied.clone())
    }

    /// An object of this version as it is stored. `Err` says why it cannot be converted.
    pub(super) fn to_stored(&self, mut object: Value) -> Result<Value, String> {
        write_whole_numbers(&mut object);
        if !self.differs_from_stored() {
            return Ok(object);
        }
        let mut object = self.conversions.convert(object, &self.kind.api_version)?;
        object["apiVersion"] = json!(self.kind.api_version);
        if self.stored.is_some() {
            self.conform_stored(&mut object);
        }
        Ok(object)
    }

    /// A stored object in this version. One that cannot be converted shows the fields that it has.
    pub(super) fn shown(&self, object: &Value) -> Value {
        let converted = self.conversions.convert(object.clone(), &self.api_version);
        let mut object = converted.unwrap_or_else(|_| object.clone());
        object["apiVersion"] = json!(self.api_version);
        prune(&self.schema, &mut object);
        object
    }

    /// Adds what is wrong with the fields of an object, which replaces a stored one, to what is known of it.
    pub(super) fn check_fields(
        &self,
        object: &Value,
        stored: Option<&Value>,
        part: Part,
        errors: &mut Vec<FieldError>,
    ) {
        errors.extend(match part {
            Part::Whole => validation::faults(&self.schema, "", object, stored),
            Part::Status => self.status_faults(object, stored),
        });
        if self.kind.has_scale {
            let paths = [&self.scale.wanted, &self.scale.present];
            let paths = paths.into_iter().skip(usize::from(part == Part::Status));
            errors.extend(paths.filter_map(|path| count_fault(object, path)));
        }
    }

    /// Adds what is wrong with the objects inside of an object, with its lists, and by its rules. An object of another type is
    /// checked for these, too.
    pub(super) fn check_lists(&self, object: &Value, stored: Option<&Value>, part: Part, errors: &mut Vec<FieldError>) {
        if part == Part::Whole {
            errors.extend(embedded::faults(&self.schema, object));
        }
        if stored.is_none_or(|stored| list_types::faults(&self.schema, stored).is_empty()) {
            errors.extend(list_types::faults(&self.schema, object));
        }
        self.check_rules(object, stored, errors);
    }

    fn status_faults(&self, object: &Value, stored: Option<&Value>) -> Vec<FieldError> {
        let status = object.get("status").zip(self.schema.property("status"));
        let old = stored.and_then(|stored| stored.get("status"));
        status.map_or_else(Vec::new, |(status, schema)| validation::faults(schema, "status", status, old))
    }

    #[cfg(feature = "cel")]
    fn check_rules(&self, object: &Value, stored: Option<&Value>, errors: &mut Vec<FieldError>) {
        let Some(rules) = &self.rules else { return };
        if errors.iter().any(FieldError::hides_rules) {
            let why = "null: some validation rules were not checked because the object was invalid; correct the existing \
                       errors to complete validation";
            return errors.push(FieldError::new(Cause::Invalid, "<nil>", why));
        }
        errors.extend(rules.faults(&self.schema, object, stored));
    }

    #[cfg(not(feature = "cel"))]
    fn check_rules(&self, _object: &Value, _stored: Option<&Value>, _errors: &mut Vec<FieldError>) {}
}

/// Gives numbers without a fraction the form that they have once they were stored.
pub(super) fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        Value::Array(elements) => elements.iter_mut().for_each(write_whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let text = number.as_f64().map_or_else(String::new, number_text);
            text.parse::<i64>().into_iter().for_each(|whole| *number = whole.into());
        }
        _ => {}
    }
}

/// What is wrong with a count of replicas.
fn count_fault(object: &Value, path: &str) -> Option<FieldError> {
    let at = format!(".{path}");
    let unreadable = |value: &Value, of: &str| {
        let given = match value {
            Value::Null => "<nil>",
            Value::Bool(_) => "bool",
            Value::Number(_) => "float64",
            Value::String(_) => "string",
            Value::Array(_) => "[]interface {}",
            Value::Object(_) => "map[string]interface {}",
        };
        let why = format!("{at} accessor error: {} is of the type {given}, expected {of}", go_text(value));
        Some(FieldError::with_value(Cause::Invalid, &at, &json!(0), &why))
    };
    let mut count = object;
    for field in path.split('.') {
        match count {
            Value::Object(fields) => count = fields.get(field)?,
            Value::Null => return None,
            other => return unreadable(other, "map[string]interface{}"),
        }
    }
    let why = match count.as_i64() {
        None => return unreadable(count, "int64"),
        Some(count) if count < 0 => "should be a non-negative integer",
        Some(count) if count > i64::from(i32::MAX) => "should be less than or equal to 2147483647",
        Some(_) => return None,
    };
    Some(FieldError::with_value(Cause::Invalid, &at, count, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_a_resource_have_one_collection() {
        let version = |name: &str, field: &str, is_stored: bool| {
            let spec = json!({ "type": "object", "properties": { field: { "type": "string" }, "both": { "type": "string" } } });
            let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
            json!({ "name": name, "served": true, "storage": is_stored, "schema": schema })
        };
        let definition = |served: bool| {
            let mut old = version("v1", "old", true);
            old["served"] = json!(served);
            json!({ "metadata": { "name": "foos.example.com" }, "spec": { "group": "example.com", "scope": "Namespaced",
                "names": { "kind": "Foo", "plural": "foos" }, "versions": [old, version("v2", "new", false)] } })
        };
        let (mut all, mut kinds) = (Versions::default(), Kinds::new());
        all.define(&mut kinds, &definition(true)).unwrap();
        let (one, two) = (all.of("example.com/v1/foos").unwrap(), all.of("example.com/v2/foos").unwrap());
        assert_eq!((one.kind.name(), two.kind.name()), ("example.com/v1/foos".into(), "example.com/v1/foos".into()));
        let mut object = json!({ "apiVersion": "example.com/v2", "spec": { "new": "n", "old": "o", "both": "b" } });
        assert_eq!(two.conform(&mut object), Ok(vec!["spec.old".to_owned()]));
        let stored = two.to_stored(object).unwrap();
        assert_eq!(stored["spec"], json!({ "both": "b" }));
        assert_eq!(two.shown(&stored)["apiVersion"], "example.com/v2");
        all.define(&mut kinds, &definition(false)).unwrap();
        assert!(all.are_without("example.com/v1/foos") && kinds.known("example.com/v1/foos").is_none());
        assert!(!all.are_without("example.com/v1/bars"));
        all.forget(&mut kinds, &definition(false));
        assert!(all.are_without("example.com/v2/foos"));
    }
}
