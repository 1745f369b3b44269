//! The kinds of Kubernetes, and the lists in their objects: the generated table `kinds.txt`.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// A kind of Kubernetes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BuiltInKind {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    traits: &'static str,
    pub(crate) short_names: Vec<&'static str>,
    pub(crate) subresources: Vec<&'static str>,
    pub(crate) selectable: Vec<&'static str>,
    schema: &'static str,
    pub(crate) status: Option<&'static str>,
}

/// What a server does with the objects of some kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trait {
    /// A change checks the prefix of names.
    PrefixChecked,
    /// The objects have a namespace.
    Namespaced,
    /// A generation counts the changes.
    Generation,
    /// A PUT creates an object that is absent.
    CreatedByPut,
    /// A PUT has to name the version that it replaces.
    VersionRequired,
    /// A deletion without a policy leaves the dependents alone.
    OrphansDependents,
    /// The answer to a deletion is the object.
    DeletedObjectReturned,
    /// A name has no dots, and 63 bytes at most.
    LabelNames,
    /// A name is a segment of a path.
    SegmentNames,
}

/// The type of an object, as far as its lists are concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectType<'f>(Option<&'f Fields>);

/// The types of the fields of an object.
#[derive(Debug, Default)]
pub(crate) struct Fields(BTreeMap<Cow<'static, str>, FieldType>);

/// The type of a field.
#[derive(Debug)]
pub(crate) struct FieldType {
    /// How its value is compared.
    pub(crate) shape: Shape,
    /// Whether a strategic merge patch merges the elements of the list.
    pub(crate) merges: bool,
    of: Target,
}

/// The type of a value, or of the elements of a list.
#[derive(Debug)]
enum Target {
    /// That of this name in the table; unknown for an empty one.
    Named(&'static str),
    /// It is one value.
    Atomic,
    /// That of a schema.
    Own(Fields),
}

/// How the value of a field is compared.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Field by field; a list is one value.
    Plain,
    /// It is one value.
    Atomic,
    /// Each element of the list is itself.
    Set,
    /// The elements are told apart by these fields; by a strategic merge patch, by the first.
    Keyed(Arc<[ListKey]>),
    /// The list is one value, but for a strategic merge patch, which tells the elements apart by this field.
    Patched(&'static str),
}

/// A field that tells the elements of a list apart, and the value that it has where it is absent, as JSON.
pub(crate) type ListKey = (Cow<'static, str>, Option<String>);

pub(crate) struct Table {
    pub(crate) kinds: Vec<BuiltInKind>,
    /// The groups of which a server has versions.
    pub(crate) groups: BTreeSet<&'static str>,
    types: BTreeMap<&'static str, Fields>,
}

pub(crate) static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("kinds.txt")));

/// The fields of an object of which nothing but the metadata is known.
static METADATA_ALONE: LazyLock<Fields> = LazyLock::new(|| Fields::default().with_metadata());

/// The type of all metadata.
const METADATA: &str = "meta.v1.ObjectMeta";

impl Table {
    fn parse(text: &'static str) -> Self {
        let mut table = Self { kinds: Vec::new(), groups: BTreeSet::new(), types: BTreeMap::new() };
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or_default();
            match word {
                "groups" => table.groups = rest.split(' ').collect(),
                "kind" => table.kinds.extend(BuiltInKind::parse(rest)),
                "type" => table.types.extend(parse_type(rest)),
                _ => {}
            }
        }
        table
    }

    /// Whether a server has versions of a group of Kubernetes.
    pub(crate) fn serves(&self, group: &str) -> bool {
        group.is_empty() || self.groups.contains(group)
    }
}

impl BuiltInKind {
    fn parse(line: &'static str) -> Option<Self> {
        let mut columns = line.splitn(9, ' ').map(|column| if column == "-" { "" } else { column });
        let mut next = || columns.next();
        let list = |column: &'static str| column.split(',').filter(|it| !it.is_empty()).collect();
        Some(Self {
            api_version: next()?,
            kind: next()?,
            plural: next()?,
            traits: next()?,
            short_names: list(next()?),
            subresources: list(next()?),
            selectable: list(next()?),
            schema: next()?,
            status: next().filter(|status| !status.is_empty()),
        })
    }

    pub(crate) fn has(&self, wanted: Trait) -> bool {
        self.traits.contains(match wanted {
            Trait::PrefixChecked => 'M',
            Trait::Namespaced => 'N',
            Trait::Generation => 'G',
            Trait::CreatedByPut => 'C',
            Trait::VersionRequired => 'V',
            Trait::OrphansDependents => 'O',
            Trait::DeletedObjectReturned => 'D',
            Trait::LabelNames => 'B',
            Trait::SegmentNames => 'P',
        })
    }

    /// The metadata that a request for the status changes, too.
    pub(crate) fn changed_with_status(&self) -> impl Iterator<Item = &'static str> {
        let fields = [('a', "annotations"), ('f', "finalizers"), ('l', "labels"), ('o', "ownerReferences")];
        fields.into_iter().filter(|(letter, _)| self.traits.contains(*letter)).map(|(_, field)| field)
    }

    pub(crate) fn object_type(&self) -> ObjectType<'static> {
        ObjectType(Some(TABLE.types.get(self.schema).unwrap_or(&METADATA_ALONE)))
    }
}

impl ObjectType<'static> {
    /// The type of an object of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self(None);

    /// The type of a custom resource, of which the metadata are known.
    pub(crate) fn custom() -> Self {
        Self(Some(&METADATA_ALONE))
    }
}

impl<'f> ObjectType<'f> {
    /// The type of an object with these fields.
    pub(crate) fn of(fields: &'f Fields) -> Self {
        Self(Some(fields))
    }

    /// The type of a field; `None` if it is compared field by field, and its lists as one value each.
    pub(crate) fn field(self, name: &str) -> Option<&'f FieldType> {
        self.named_field(name).or_else(|| self.0?.0.get(OTHERS))
    }

    /// The type of a field that the type names; a map names none.
    pub(crate) fn named_field(self, name: &str) -> Option<&'f FieldType> {
        self.0?.0.get(name)
    }
}

/// The name under which a type has what its other fields are.
const OTHERS: &str = "*";

impl Fields {
    /// The fields of the objects of a definition, by its schema.
    pub(crate) fn of_custom(schema: &Value) -> Self {
        Self::of_schema(schema).with_metadata()
    }

    /// The fields of an object, which has metadata.
    fn with_metadata(mut self) -> Self {
        let metadata = FieldType { shape: Shape::Plain, merges: true, of: Target::Named(METADATA) };
        self.0.insert("metadata".into(), metadata);
        self
    }

    fn of_schema(schema: &Value) -> Self {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties = properties.map(|(name, schema)| (name.clone().into(), FieldType::of_schema(schema)));
        let others = schema.get("additionalProperties").filter(|schema| schema.is_object());
        let others = others.map(|schema| (OTHERS.into(), FieldType::of_schema(schema)));
        let fields = Self(properties.chain(others).collect());
        if schema["x-kubernetes-embedded-resource"] == true { fields.with_metadata() } else { fields }
    }
}

impl FieldType {
    /// The type of the value, or of the elements of the list.
    pub(crate) fn object_type(&self) -> ObjectType<'_> {
        ObjectType(match &self.of {
            Target::Named(name) => TABLE.types.get(name),
            Target::Atomic => None,
            Target::Own(fields) => Some(fields),
        })
    }

    /// Whether the table has the type.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.of, Target::Named(_))
    }

    /// Whether each element of the list is one value.
    pub(crate) fn has_atomic_elements(&self) -> bool {
        matches!(self.of, Target::Atomic)
    }

    fn of_schema(schema: &Value) -> Self {
        let text = |word: &str| schema[word].as_str().unwrap_or_default();
        let key = |key: &Value| {
            let name = key.as_str().unwrap_or_default();
            let default = schema["items"]["properties"][name].get("default").filter(|default| !default.is_null());
            (name.to_owned().into(), default.map(Value::to_string))
        };
        let shape = match text("x-kubernetes-list-type") {
            "set" => Shape::Set,
            "map" => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
                Shape::Keyed(keys.map(key).collect())
            }
            _ if text("x-kubernetes-map-type") == "atomic" => Shape::Atomic,
            _ => Shape::Plain,
        };
        let of = match &schema["items"] {
            items if items["x-kubernetes-map-type"] == "atomic" => Target::Atomic,
            items if items.is_object() => Target::Own(Fields::of_schema(items)),
            _ => Target::Own(Fields::of_schema(schema)),
        };
        Self { shape, merges: false, of }
    }

    fn parse(text: &'static str) -> Option<(&'static str, Self)> {
        let (name, rest) = text.split_at(text.find(['!', ':', '[', '{', '<'])?);
        let (inside, after) = rest.split_at(rest.find([']', '}', '>']).map_or(1, |end| end + 1));
        let inside = inside.trim_matches(['[', ']', '{', '}', '<', '>']);
        let shape = match rest.as_bytes()[0] {
            b'!' => Shape::Atomic,
            b'{' => Shape::Set,
            b'<' => Shape::Patched(inside),
            b'[' => Shape::Keyed(inside.split(',').map(parse_key).collect()),
            _ => Shape::Plain,
        };
        let merges = !after.starts_with('=');
        let of = match after.trim_start_matches('=') {
            "!" if matches!(shape, Shape::Keyed(_)) => Target::Atomic,
            of => Target::Named(of),
        };
        Some((name, Self { shape, merges, of }))
    }
}

fn parse_key(text: &'static str) -> ListKey {
    let json = |text: &str| Value::from(text).to_string();
    text.split_once('=').map_or_else(|| (text.into(), None), |(key, default)| (key.into(), Some(json(default))))
}

fn parse_type(line: &'static str) -> Option<(&'static str, Fields)> {
    let (name, fields) = line.split_once(' ')?;
    let fields = fields.split(' ').filter_map(FieldType::parse).map(|(name, field)| (name.into(), field));
    // The table leaves metadata out.
    Some((name, Fields(fields.collect()).with_metadata()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_read() {
        let count = |word: &str| include_str!("kinds.txt").lines().filter(|line| line.starts_with(word)).count();
        assert_eq!((TABLE.kinds.len(), TABLE.types.len()), (count("kind "), count("type ")));
        assert!(TABLE.kinds.len() > 50 && TABLE.serves("policy") && !TABLE.serves("example.com"));
        for field in TABLE.types.values().flat_map(|fields| fields.0.values()) {
            assert!(
                field.has_atomic_elements()
                    || matches!(field.of, Target::Named(of) if of.is_empty() || TABLE.types.contains_key(of))
            );
        }
    }

    #[test]
    fn a_list_has_its_keys_by_the_path_to_it() {
        let pod = TABLE.kinds.iter().find(|kind| kind.kind == "Pod").unwrap().object_type();
        let spec = pod.field("spec").unwrap().object_type();
        let containers = spec.field("containers").unwrap();
        let container = containers.object_type();
        let Shape::Keyed(keys) = &container.field("ports").unwrap().shape else { panic!("no keys") };
        assert_eq!(keys[..], [("containerPort".into(), None), ("protocol".into(), Some("\"TCP\"".into()))]);
        assert!(matches!(spec.field("nodeSelector").unwrap().shape, Shape::Atomic));
        assert!(spec.field("tolerations").is_none() && spec.field("metadata").is_some());
        let metadata = ObjectType::custom().field("metadata").unwrap().object_type();
        assert!(matches!(metadata.field("finalizers").unwrap(), FieldType { shape: Shape::Set, merges: true, .. }));
        assert!(metadata.field("ownerReferences").unwrap().has_atomic_elements() && !containers.has_atomic_elements());
        assert!(ObjectType::UNKNOWN.field("metadata").is_none());
    }

    #[test]
    fn a_schema_tells_how_lists_and_maps_are_compared() {
        let port =
            serde_json::json!({ "type": "object", "properties": { "port": { "type": "integer", "default": 80 } } });
        let schema = serde_json::json!({ "properties": { "metadata": { "type": "object" }, "spec": { "properties": {
            "ports": { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "items": port },
            "whole": { "type": "object", "x-kubernetes-map-type": "atomic" },
            "sets": { "additionalProperties": { "x-kubernetes-list-type": "set" } } } } } });
        let fields = Fields::of_custom(&schema);
        let of = ObjectType::of(&fields);
        let spec = of.field("spec").unwrap().object_type();
        assert!(
            matches!(&spec.field("ports").unwrap().shape, Shape::Keyed(keys) if keys[..] == [("port".into(), Some("80".into()))])
        );
        assert!(matches!(spec.field("whole").unwrap().shape, Shape::Atomic));
        let sets = spec.field("sets").unwrap().object_type();
        assert!(matches!(sets.field("any").unwrap().shape, Shape::Set) && spec.field("none").is_none());
        assert!(of.field("metadata").unwrap().object_type().field("finalizers").is_some());
    }
}
