//! CustomResourceDefinitions from types.
//!
//! A type of a program is the source of its definition: its fields, their documentation, and what schemars' attributes
//! say of them. [`Definition`] makes the schema structural, adds what a type cannot say, and finds mistakes before a
//! server does.
//!
//! | of the type | in the schema |
//! |---|---|
//! | `Option<T>` | `nullable`, and not required |
//! | `#[serde(default)]` | the default value; the server fills it in |
//! | enums of names | `enum` |
//! | enums with data, tagged or not | the fields of all variants, and `oneOf` or `anyOf` of what tells them apart |
//! | `BTreeMap`, `HashMap` | `additionalProperties` |
//! | `BTreeSet` and `HashSet` of texts or numbers | a list of the type `set` |
//! | `serde_json::Value`, flattened maps, `String` or object | `x-kubernetes-preserve-unknown-fields` |
//! | integer or `String` | `x-kubernetes-int-or-string` |
//! | [`Conditions`](crate::object::Conditions), [`LabelSelector`](crate::object::LabelSelector), [`WallTime`](crate::time::WallTime) | those of apimachinery's types |
//! | `#[schemars(range(min = 1))]`, `length`, `regex` | `minimum`, `maxLength`, `pattern` |
//! | `#[schemars(extend("x-kubernetes-validations" = […]))]` | as it is, and so are all words of Kubernetes |

mod check;
mod path;
mod structural;
mod types;
mod yaml;

use crate::object::Kind;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// A CustomResourceDefinition: of types, or of any value that serializes as one.
///
/// ```
/// use listwatch_core::definition::Definition;
/// use listwatch_core::kind;
/// use listwatch_core::object::Conditions;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, Serialize, JsonSchema)]
/// struct Foo {
///     spec: FooSpec,
///     #[serde(default)]
///     status: FooStatus,
/// }
///
/// #[derive(Deserialize, Serialize, JsonSchema)]
/// struct FooSpec {
///     /// How many there are.
///     #[schemars(range(min = 0))]
///     replicas: i32,
///     class: Option<String>,
/// }
///
/// #[derive(Default, Deserialize, Serialize, JsonSchema)]
/// struct FooStatus {
///     replicas: Option<i32>,
///     #[serde(default)]
///     conditions: Conditions,
/// }
///
/// kind!(Foo, "example.com/v1", "foos");
///
/// let definition = Definition::of::<Foo>()
///     .short_names(["fo"])
///     .column("Replicas", ".spec.replicas")
///     .column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#)
///     .scale(".spec.replicas", ".status.replicas")
///     .selectable(".spec.class")
///     .rule(".spec", "self.replicas <= 10", "at most ten");
/// definition.check()?;
/// println!("{definition}"); // YAML, for `kubectl apply -f -`
/// # assert_eq!(definition.name(), "foos.example.com");
/// # Ok::<(), listwatch_core::definition::DefinitionError>(())
/// ```
///
/// A type with the field `status` has the subresource of that name. Of several versions, the first is stored, and
/// methods that name a place or a version's property are about the version that was named last.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[doc(alias("CustomResourceDefinition", "CustomResourceExt", "crd"))]
pub struct Definition {
    object: Value,
    /// What was named, and cannot be.
    mistakes: Vec<String>,
}

/// What is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionError {
    /// The name of the definition, such as `foos.example.com`.
    pub name: String,
    /// Each fault, with its place.
    pub faults: Vec<String>,
}

impl Definition {
    /// The definition of a kind. Its schema is that of the type.
    pub fn of<T: Kind + JsonSchema>() -> Self {
        let (group, _) = group_and_version(T::API_VERSION);
        let scope = if T::NAMESPACED { "Namespaced" } else { "Cluster" };
        let names = json!({
            "kind": T::KIND, "listKind": format!("{}List", T::KIND),
            "plural": T::PLURAL, "singular": T::KIND.to_lowercase(),
        });
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.{group}", T::PLURAL) },
            "spec": { "group": group, "names": names, "scope": scope, "versions": [version_of::<T>(true)] },
        });
        Self { object, mistakes: Vec::new() }
    }

    /// A definition that stands already, such as one that kube's `CustomResourceExt::crd()` makes, or a manifest. The
    /// methods of this type add to it.
    pub fn from_crd(definition: &(impl Serialize + ?Sized)) -> Self {
        let (mut object, mut mistakes) = (json!({}), Vec::new());
        match serde_json::to_value(definition) {
            Ok(value @ Value::Object(_)) => object = value,
            Ok(_) => mistakes.push("it is no JSON object".to_owned()),
            Err(error) => mistakes.push(format!("it cannot be written: {error}")),
        }
        // The server's.
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        Self { object, mistakes }
    }

    /// Adds another version of the kind. It is served, and not stored: the server changes the `apiVersion` of an object,
    /// and drops the fields that a version does not have.
    pub fn version<T: Kind + JsonSchema>(mut self) -> Self {
        let (group, version) = group_and_version(T::API_VERSION);
        let spec = &self.object["spec"];
        let names = (&spec["group"], &spec["names"]["kind"], &spec["names"]["plural"]);
        if names != (&json!(group), &json!(T::KIND), &json!(T::PLURAL)) {
            let title = format!("{} of {}", T::KIND, T::API_VERSION);
            self.mistakes.push(format!("version {version}: {title} is another kind than {}", self.name()));
        }
        push(below(below(&mut self.object, "spec"), "versions"), version_of::<T>(false));
        self
    }

    /// Adds short names, which kubectl takes for the plural.
    pub fn short_names<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.names("shortNames", names)
    }

    /// Adds categories, such as `all`, by which kubectl lists several kinds.
    pub fn categories<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.names("categories", names)
    }

    /// Sets an annotation of the definition. That of a group of Kubernetes, `….k8s.io`, needs
    /// `api-approved.kubernetes.io`; its value `unapproved, experimental` is one for tests.
    pub fn annotation(mut self, name: &str, value: &str) -> Self {
        *["metadata", "annotations", name].iter().fold(&mut self.object, |at, name| below(at, name)) = value.into();
        self
    }

    /// Adds a column of `kubectl get`. Its type is that of the schema at the path. With columns of its own, a kind has the
    /// column `Age` if it is added: `.metadata.creationTimestamp`.
    #[doc(alias("printcolumn", "additionalPrinterColumns"))]
    pub fn column(self, name: &str, path: &str) -> Self {
        self.column_of(name, path, 0)
    }

    /// The same for `kubectl get -o wide`.
    pub fn wide_column(self, name: &str, path: &str) -> Self {
        self.column_of(name, path, 1)
    }

    /// Adds the subresource `scale`: the places of the replicas that are wanted and that there are.
    pub fn scale(self, wanted: &str, present: &str) -> Self {
        let paths = [("specReplicasPath", wanted), ("statusReplicasPath", present)];
        self.edited(|version| paths.iter().for_each(|(name, path)| *scale(version, name) = (*path).into()))
    }

    /// Names the place of the selector of the pods, as a text, for autoscalers.
    pub fn scale_selector(self, path: &str) -> Self {
        self.edited(|version| *scale(version, "labelSelectorPath") = path.into())
    }

    /// Makes a place one that field selectors name. It has one text, integer or boolean.
    pub fn selectable(self, path: &str) -> Self {
        self.edited(|version| push(&mut version["selectableFields"], json!({ "jsonPath": path })))
    }

    /// Adds a rule in CEL for the value at a path, which is `self` in it; an empty path is the object. The message is told
    /// if the rule does not hold.
    ///
    /// Other fields of a rule, such as its reason, are written at the field of the type:
    /// `#[schemars(extend("x-kubernetes-validations" = [{ … }]))]`.
    #[doc(alias = "x-kubernetes-validations")]
    pub fn rule(mut self, path: &str, rule: &str, message: &str) -> Self {
        let new = json!({ "rule": rule, "message": message });
        let schema = self.last_version().map(|version| below(below(version, "schema"), "openAPIV3Schema"));
        match schema.and_then(|schema| path::place_mut(schema, path)) {
            Some(place) => push(below(place, "x-kubernetes-validations"), new),
            None => self.mistakes.push(format!("the rule `{rule}`: the type has no place `{path}`")),
        }
        self
    }

    /// Lets the server warn of the version.
    pub fn deprecated(self, warning: &str) -> Self {
        self.edited(|version| {
            version["deprecated"] = true.into();
            version["deprecationWarning"] = warning.into();
        })
    }

    /// Serves the version no more. Objects that were stored in it stay.
    pub fn not_served(self) -> Self {
        self.edited(|version| version["served"] = false.into())
    }

    /// The name, such as `foos.example.com`.
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The paths of the collections that it serves.
    pub fn served_paths(&self) -> impl Iterator<Item = String> {
        let spec = &self.object["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let served = self.versions().iter().filter(|version| version["served"] == true);
        served.map(move |version| format!("/apis/{group}/{}/{plural}", text(&version["name"])))
    }

    /// Looks for what a server would refuse: names that are none, schemas that are not structural, paths without a place,
    /// versions of which not exactly one is stored. The server alone knows whether a rule in CEL, a pattern or a default
    /// is right.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn check(&self) -> Result<(), DefinitionError> {
        let mut faults = self.mistakes.clone();
        if faults.is_empty() {
            faults = check::faults(&self.object);
        }
        if faults.is_empty() { Ok(()) } else { Err(DefinitionError { name: self.name().to_owned(), faults }) }
    }

    fn versions(&self) -> &[Value] {
        self.object["spec"]["versions"].as_array().map_or(&[], Vec::as_slice)
    }

    fn last_version(&mut self) -> Option<&mut Value> {
        self.object
            .get_mut("spec")?
            .get_mut("versions")?
            .as_array_mut()?
            .last_mut()
            .filter(|version| version.is_object())
    }

    /// Changes the version that was named last. Without one, the check says so.
    fn edited(mut self, edit: impl FnOnce(&mut Value)) -> Self {
        if let Some(version) = self.last_version() {
            edit(version);
        }
        self
    }

    fn names<'a>(mut self, list: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = ["spec", "names", list].iter().fold(&mut self.object, |at, name| below(at, name));
        names.into_iter().for_each(|name| push(known, name.into()));
        self
    }

    fn column_of(self, name: &str, path: &str, priority: i32) -> Self {
        self.edited(|version| {
            let of =
                path::place(&version["schema"]["openAPIV3Schema"], path).map_or("string", path::Place::column_type);
            let mut column = json!({ "name": name, "type": of, "jsonPath": path });
            if priority > 0 {
                column["priority"] = priority.into();
            }
            push(&mut version["additionalPrinterColumns"], column);
        })
    }
}

/// A version of a kind.
fn version_of<T: Kind + JsonSchema>(is_stored: bool) -> Value {
    let (_, version) = group_and_version(T::API_VERSION);
    let schema = structural::schema_of::<T>();
    let has_status = schema["properties"].get("status").is_some();
    let mut version =
        json!({ "name": version, "served": true, "storage": is_stored, "schema": { "openAPIV3Schema": schema } });
    if has_status {
        version["subresources"] = json!({ "status": {} });
    }
    version
}

/// The core group has no name, and no definitions.
fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The field of an object, which may not be there.
fn below<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    &mut value[name]
}

/// A field of the subresource `scale`.
fn scale<'v>(version: &'v mut Value, name: &str) -> &'v mut Value {
    below(below(below(version, "subresources"), "scale"), name)
}

/// Adds to a list, which may not be there.
fn push(list: &mut Value, element: Value) {
    match list {
        Value::Array(elements) => elements.push(element),
        other => *other = json!([element]),
    }
}

/// Writes the definition as JSON, for [`Patch::Apply`](crate::api::Patch) and others.
impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(serializer)
    }
}

/// Writes the definition as YAML.
impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        yaml::write(f, &self.object, 0)
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("the definition {} is wrong: {}", self.name, self.faults.join("; "));
        crate::text::Printable::new(&text).to_string().fmt(f)
    }
}

impl core::error::Error for DefinitionError {}

#[cfg(test)]
mod tests;
