use super::structural::structural;
use super::*;
use crate::object::{Conditions, LabelSelector};
use crate::time::WallTime;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use serde::Deserialize;

/// The schema of a type's only field, as the definition has it.
fn schema_of<T: JsonSchema>() -> Value {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Of<T> {
        field: T,
    }
    structural::schema_of::<Of<T>>()["properties"]["field"].take()
}

/// Places of a definition whose object has this schema.
fn with_schema(schema: &Value) -> Definition {
    let mut definition = Definition::of::<Foo>();
    definition.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema.clone();
    definition
}

fn faults(definition: &Definition) -> Vec<String> {
    definition.check().err().map_or_else(Vec::new, |error| error.faults)
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Foo {
    spec: FooSpec,
    #[serde(default)]
    status: FooStatus,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct FooSpec {
    /// How many there are.
    replicas: i32,
    class: Option<String>,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
struct FooStatus {
    replicas: Option<i32>,
    #[serde(default)]
    conditions: Conditions,
}

crate::kind!(Foo, "example.com/v1", "foos");

/// A version with another field, and metadata.
mod beta {
    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    pub(super) struct Foo {
        #[serde(rename = "apiVersion")]
        api_version: String,
        metadata: BTreeMap<String, Value>,
        size: u32,
    }

    crate::kind!(Foo, "example.com/v1beta1", "foos");
}

#[test]
fn a_definition_has_what_its_type_and_its_methods_say() {
    let definition = Definition::of::<Foo>()
        .short_names(["fo"])
        .column("Replicas", ".spec.replicas")
        .wide_column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#)
        .scale(".spec.replicas", ".status.replicas")
        .selectable(".spec.class")
        .rule(".spec", "self.replicas <= 10", "at most ten")
        .version::<beta::Foo>()
        .deprecated("take v1");
    assert_eq!(definition.check(), Ok(()));
    let object = serde_json::to_value(&definition).unwrap();
    assert_eq!(object["metadata"], json!({ "name": "foos.example.com" }));
    assert_eq!(
        object["spec"]["names"],
        json!({ "kind": "Foo", "listKind": "FooList", "plural": "foos", "singular": "foo", "shortNames": ["fo"] })
    );
    let [one, two] = &object["spec"]["versions"].as_array().unwrap()[..] else { panic!("{object}") };
    assert_eq!(
        one["subresources"],
        json!({ "status": {}, "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" } })
    );
    let spec = json!({
        "type": "object", "required": ["replicas"],
        "properties": {
            "replicas": { "type": "integer", "format": "int32", "description": "How many there are." },
            "class": { "type": "string", "nullable": true },
        },
        "x-kubernetes-validations": [{ "rule": "self.replicas <= 10", "message": "at most ten" }],
    });
    let schema = &one["schema"]["openAPIV3Schema"];
    assert_eq!((&schema["properties"]["spec"], &schema["required"]), (&spec, &json!(["spec"])));
    assert!(schema["properties"]["status"].get("default").is_none(), "no object begins with a status");
    assert_eq!(schema["properties"]["status"]["properties"]["conditions"]["default"], json!([]));
    assert_eq!(
        one["additionalPrinterColumns"],
        json!([
            { "name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas" },
            { "name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "priority": 1 },
        ])
    );
    assert_eq!(
        [&two["name"], &two["storage"], &two["deprecationWarning"], &two["subresources"]],
        [&json!("v1beta1"), &json!(false), &json!("take v1"), &json!(null)]
    );
    let size = json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX });
    let schema = json!({ "type": "object", "required": ["size"], "properties": { "size": size } });
    assert_eq!(two["schema"]["openAPIV3Schema"], schema, "metadata is the server's");
    let paths: Vec<String> = definition.served_paths().collect();
    assert_eq!(paths, ["/apis/example.com/v1/foos", "/apis/example.com/v1beta1/foos"]);
    assert_eq!(definition.not_served().served_paths().count(), 1);
}

#[test]
fn the_schema_of_each_type_is_structural() {
    #[derive(JsonSchema, Serialize)]
    #[allow(dead_code, reason = "schemars reads it")]
    enum Level {
        /// Few.
        Low,
        High,
    }
    let levels = json!({ "type": "string", "enum": ["Low", "High"] });
    assert_eq!(schema_of::<Level>()["enum"].as_array().map(Vec::len), Some(2));
    assert_eq!(schema_of::<Level>()["type"], "string");
    let level = schema_of::<Option<Level>>();
    assert_eq!(
        (&level["type"], &level["nullable"], level["enum"].as_array().map(Vec::len)),
        (&levels["type"], &json!(true), Some(2))
    );
    let any = json!({ "x-kubernetes-preserve-unknown-fields": true });
    for (schema, expected) in [
        (schema_of::<Value>(), any.clone()),
        (schema_of::<Option<i64>>(), json!({ "type": "integer", "format": "int64", "nullable": true })),
        (schema_of::<u16>(), json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 65535 })),
        (schema_of::<u64>(), json!({ "type": "integer", "format": "int64", "minimum": 0 })),
        (schema_of::<f64>(), json!({ "type": "number", "format": "double" })),
        (
            schema_of::<BTreeMap<String, i32>>(),
            json!({ "type": "object", "additionalProperties": { "type": "integer", "format": "int32" } }),
        ),
        (schema_of::<BTreeMap<String, Value>>(), json!({ "type": "object", "additionalProperties": any })),
        (schema_of::<BTreeMap<u8, bool>>(), json!({ "type": "object", "additionalProperties": { "type": "boolean" } })),
        (
            schema_of::<BTreeSet<String>>(),
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }),
        ),
        (
            schema_of::<(String, String)>(),
            json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 }),
        ),
        (schema_of::<Vec<Value>>(), json!({ "type": "array", "items": any })),
        (schema_of::<WallTime>(), json!({ "type": "string", "format": "date-time" })),
        (schema_of::<Box<Option<String>>>(), json!({ "type": "string", "nullable": true })),
    ] {
        assert_eq!(schema, expected);
    }
    assert_eq!(
        schema_of::<LabelSelector>()["properties"]["matchLabels"]["additionalProperties"],
        json!({ "type": "string" })
    );
    assert_eq!(schema_of::<Conditions>()["x-kubernetes-list-map-keys"], json!(["type"]));
}

#[test]
fn the_variants_of_an_enum_lie_over_each_other() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    enum Outside {
        Disk { size: i32 },
        Net(String),
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "schemars reads it")]
    enum Inside {
        Disk { size: i32 },
        Net { size: i32, host: String },
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "schemars reads it")]
    enum Port {
        Number(i32),
        Name(String),
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "schemars reads it")]
    enum Loose {
        Flag(bool),
        Part { on: bool },
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Flat {
        name: String,
        #[serde(flatten)]
        outside: Outside,
        #[serde(flatten)]
        others: BTreeMap<String, Value>,
    }
    let number = json!({ "type": "integer", "format": "int32" });
    let outside = schema_of::<Outside>();
    assert_eq!(outside["oneOf"], json!([{ "required": ["Disk"] }, { "required": ["Net"] }]), "{outside}");
    assert_eq!(outside["properties"]["Disk"]["properties"]["size"], number);
    assert_eq!((&outside["properties"]["Net"], &outside["type"]), (&json!({ "type": "string" }), &json!("object")));
    let inside = schema_of::<Inside>();
    assert_eq!(inside["properties"]["kind"], json!({ "type": "string", "enum": ["Disk", "Net"] }), "{inside}");
    assert_eq!((&inside["properties"]["size"], &inside["properties"]["host"]["type"]), (&number, &json!("string")));
    assert_eq!(inside["oneOf"][1]["properties"], json!({ "kind": { "enum": ["Net"] } }));
    assert_eq!(schema_of::<Port>(), json!({ "x-kubernetes-int-or-string": true }));
    assert_eq!(schema_of::<Option<Port>>(), json!({ "x-kubernetes-int-or-string": true, "nullable": true }));
    assert_eq!(schema_of::<Loose>(), json!({ "x-kubernetes-preserve-unknown-fields": true }));
    let flat = schema_of::<Flat>();
    assert_eq!(flat["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["Disk", "Net", "name"], "{flat}");
    assert_eq!(flat["x-kubernetes-preserve-unknown-fields"], true, "{flat}");
    let all = [schema_of::<Option<Outside>>(), outside, inside, flat];
    for schema in all {
        let schema = json!({ "type": "object", "properties": { "spec": schema } });
        assert_eq!(faults(&with_schema(&schema)), [""; 0], "{schema}");
    }
}

#[test]
fn what_is_structural_stays_as_it_is() {
    for schema in [
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }], "x-kubernetes-validations": [{ "rule": "true" }] }),
        json!({ "type": "array", "items": { "type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true }, "x-kubernetes-list-type": "atomic" }),
        json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true, "default": 2 }),
    ] {
        assert_eq!(Value::Object(structural(schema.clone())), schema);
    }
    let bound = json!({ "type": "number", "exclusiveMaximum": 3.5, "title": "Ratio", "default": null });
    let expected = json!({ "type": "number", "maximum": 3.5, "exclusiveMaximum": true });
    assert_eq!(Value::Object(structural(bound)), expected);
}

#[test]
fn a_type_that_is_part_of_itself_is_told_with_its_place() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Tree {
        spec: Node,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Node {
        children: Vec<Self>,
    }
    crate::kind!(Tree, "example.com/v1", "trees");
    let faults = faults(&Definition::of::<Tree>());
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("version v1: .spec.children[*]"), "{faults:?}");
    assert!(faults[0].contains("the type is part of itself"), "{faults:?}");
}

#[test]
fn each_mistake_is_told_before_anything_is_sent() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Bar {
        status: FooStatus,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Pod {}
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "schemars reads it")]
    struct Widget {}
    crate::kind!(Bar, "example.com/v2", "bars");
    crate::kind!(Pod, "v1", "pods");
    crate::kind!(Widget, "widgets.k8s.io/v1", "Widgets_");
    let foo = Definition::of::<Foo>;
    for (definition, fault) in [
        (foo().column("Size", ".spec.size"), "version v1: column Size: the type has no place `.spec.size`"),
        (
            foo().column("Size", "spec.replicas"),
            "version v1: column Size: `spec.replicas` is no path; `.spec.replicas` is one",
        ),
        (
            foo().scale(".spec.class", ".status.replicas"),
            "version v1: scale, specReplicasPath: `.spec.class` is no integer",
        ),
        (
            foo().scale(".spec.replicas", ".spec.replicas"),
            "version v1: scale, statusReplicasPath: `.spec.replicas` is not below .status",
        ),
        (
            foo().scale_selector(".status.selector"),
            "version v1: scale, specReplicasPath: the path is empty; `.spec.replicas` is one",
        ),
        (
            foo().selectable(".status.conditions"),
            "version v1: selectable field: `.status.conditions` is no text, integer or boolean",
        ),
        (foo().rule(".spec.size", "self > 1", "more"), "the rule `self > 1`: the type has no place `.spec.size`"),
        (foo().version::<Bar>(), "version v2: Bar of example.com/v2 is another kind than foos.example.com"),
        (foo().version::<Foo>(), "version v1 is there twice"),
        (foo().not_served(), "no version is served"),
        (
            foo().short_names(["Fo"]),
            "spec.names.shortNames, `Fo`, is no DNS label: small letters, digits and dashes, 63 at most",
        ),
        (
            Definition::of::<Bar>(),
            "version v2: the status is required, and a new object has none; let it be an Option, or give it #[serde(default)]",
        ),
        (
            Definition::of::<Pod>(),
            "it has no group: the core group has no definitions; name one, as in `example.com/v1`",
        ),
        (
            Definition::of::<Widget>(),
            "a group of Kubernetes, widgets.k8s.io, needs the annotation api-approved.kubernetes.io",
        ),
        (
            Definition::of::<Widget>().annotation("api-approved.kubernetes.io", "unapproved, a test"),
            "spec.names.plural, `Widgets_`, is no DNS label: small letters, digits and dashes, 63 at most",
        ),
        (Definition::from_crd("crd"), "it is no JSON object"),
    ] {
        let found = faults(&definition);
        assert!(found.iter().any(|it| it == fault), "{fault}: {found:?}");
    }
    let error = foo().column("Size", ".spec.size").check().unwrap_err().to_string();
    assert_eq!(
        error,
        "the definition foos.example.com is wrong: version v1: column Size: the type has no place `.spec.size`"
    );
}

#[test]
fn a_definition_that_stands_already_is_checked_and_completed() {
    let definition = Definition::of::<Foo>();
    let mut object = serde_json::to_value(&definition).unwrap();
    object["status"] = json!({ "storedVersions": ["v1"] });
    assert_eq!(Definition::from_crd(&object), definition);
    assert_eq!(Definition::from_crd(&object).short_names(["fo"]), definition.short_names(["fo"]));
    let second =
        json!({ "name": "v2", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } });
    object["spec"]["versions"].as_array_mut().unwrap().push(second);
    assert_eq!(faults(&Definition::from_crd(&object)), ["several versions are stored, and one can be: v1, v2"]);
    for part in ["spec", "metadata"] {
        let mut broken = object.clone();
        broken[part] = json!("text");
        let definition = Definition::from_crd(&broken).short_names(["fo"]).annotation("a", "b").scale(".a", ".b");
        let definition = definition.column("C", ".c").rule("", "true", "").selectable(".d").version::<Foo>();
        assert!(definition.check().is_err());
    }
}

#[test]
fn a_schema_that_is_not_structural_is_told_with_its_place() {
    let of = |field: Value| json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": { "f": field } } } });
    for (schema, fault) in [
        (json!(null), "it has no schema"),
        (json!({ "type": "string" }), "the schema of an object has the type object"),
        (of(json!({})), ".spec.f: it has no type"),
        (of(json!({ "type": "int" })), ".spec.f: there is no type int"),
        (of(json!({ "type": "array" })), ".spec.f: a list has one schema for its elements, `items`"),
        (of(json!({ "type": "array", "items": {} })), ".spec.f[*]: it has no type"),
        (of(json!({ "type": "object", "additionalProperties": {} })), ".spec.f.*: it has no type"),
        (of(json!({ "type": "string", "const": "a" })), ".spec.f: the server knows no `const` in a schema"),
        (
            of(json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": false })),
            ".spec.f: it has both properties and additionalProperties",
        ),
        (
            of(json!({ "type": "string", "anyOf": [{ "type": "string" }] })),
            ".spec.f, anyOf: `type` stands beside it, and not in it",
        ),
        (
            of(json!({ "type": "object", "oneOf": [{ "properties": { "a": { "enum": [1] } } }] })),
            ".spec.f, oneOf: `a` is no field outside of it",
        ),
        (of(json!(7)), ".spec.f: the schema is no JSON object"),
        (
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "required": ["name"] } } }),
            ".metadata says more than the type object and a name",
        ),
    ] {
        let found = faults(&with_schema(&schema));
        assert!(found.iter().any(|it| *it == format!("version v1: {fault}")), "{fault}: {found:?}");
    }
}

#[test]
fn a_definition_is_printed_as_yaml() {
    let yaml = Definition::of::<Foo>().rule("", "self.spec.replicas < 9", "less than nine: 9").to_string();
    assert!(yaml.starts_with("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"), "{yaml}");
    for lines in [
        "  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n",
        "        x-kubernetes-validations:\n        - message: \"less than nine: 9\"\n          rule: \"self.spec.replicas < 9\"\n",
        "    served: true\n    storage: true\n    subresources:\n      status: {}\n",
    ] {
        assert!(yaml.contains(lines), "{lines}\n{yaml}");
    }
}
