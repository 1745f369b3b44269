//! The schema of a custom resource, as its definition has it (apiextensions `JSONSchemaProps`).

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The schema of a value.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Schema {
    /// The type of the value; empty for any.
    #[serde(rename = "type")]
    pub(super) of: String,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) format: String,
    pub(super) properties: BTreeMap<String, Self>,
    pub(super) additional_properties: Option<Additional>,
    pub(super) items: Option<Items>,
    pub(super) required: Vec<String>,
    #[serde(rename = "enum")]
    pub(super) values: Vec<Value>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: Pattern,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) all_of: Vec<Self>,
    pub(super) any_of: Vec<Self>,
    pub(super) one_of: Vec<Self>,
    pub(super) not: Option<Box<Self>>,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub(super) preserves_unknown: Option<bool>,
    #[serde(rename = "x-kubernetes-embedded-resource")]
    pub(super) is_embedded: bool,
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub(super) is_int_or_string: bool,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(super) list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub(super) list_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    pub(super) map_type: Option<String>,
    #[serde(rename = "x-kubernetes-validations")]
    pub(super) rules: Vec<Rule>,
    pub(super) id: String,
    #[serde(rename = "$ref")]
    pub(super) reference: Option<String>,
    pub(super) pattern_properties: Option<Value>,
    pub(super) dependencies: Option<Value>,
    pub(super) additional_items: Option<Value>,
    pub(super) definitions: Option<Value>,
}

/// What the other fields of an object are.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Additional {
    /// Whether there may be some.
    Allowed(bool),
    Of(Box<Schema>),
}

/// What the elements of a list are.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Items {
    All(Box<Schema>),
    /// Each has a schema of its own, which no server takes.
    Each(Vec<Schema>),
}

/// A rule in CEL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) message_expression: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
}

/// A regular expression, as Go's `regexp` has it. Classes of Unicode (`\p{L}`) are unknown.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern {
    pub(super) text: String,
    regex: OnceLock<Result<Regex, String>>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, regex: OnceLock::new() }
    }
}

impl Pattern {
    /// The expression, or what is wrong with it.
    pub(super) fn regex(&self) -> Result<&Regex, &str> {
        let read = || Regex::new(&self.text).map_err(|error| error.to_string());
        self.regex.get_or_init(read).as_ref().map_err(String::as_str)
    }
}

/// How the elements of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListType<'s> {
    Atomic,
    Set,
    Map(&'s [String]),
}

impl Schema {
    /// Reads a schema. `Err` says what no schema can have.
    pub(crate) fn read(schema: &Value) -> Result<Self, String> {
        serde_json::from_value(without_nulls(schema)).map_err(|error| error.to_string())
    }

    /// The schema of a field that has one of its own.
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// The schema of a field; `None` if its value can be anything.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional())
    }

    /// The schema of the fields that have none of their own.
    pub(super) fn additional(&self) -> Option<&Self> {
        match &self.additional_properties {
            Some(Additional::Of(schema)) => Some(schema),
            Some(Additional::Allowed(_)) | None => None,
        }
    }

    /// The schema of the elements.
    pub(super) fn element(&self) -> Option<&Self> {
        match &self.items {
            Some(Items::All(schema)) => Some(schema),
            Some(Items::Each(_)) | None => None,
        }
    }

    pub(super) fn preserves_unknown(&self) -> bool {
        self.preserves_unknown == Some(true)
    }

    pub(super) fn list_type(&self) -> ListType<'_> {
        match self.list_type.as_deref() {
            Some("map") => ListType::Map(&self.list_keys),
            Some("set") => ListType::Set,
            _ => ListType::Atomic,
        }
    }

    /// The types that the value may have; none for any.
    pub(super) fn types(&self) -> &[&str] {
        match self.of.as_str() {
            _ if self.is_int_or_string => &["integer", "string"],
            "array" => &["array"],
            "boolean" => &["boolean"],
            "integer" => &["integer"],
            "number" => &["number"],
            "object" => &["object"],
            "string" => &["string"],
            _ => &[],
        }
    }
}

/// The value of each key of an element. An absent one is null.
pub(super) fn keys_of<'v>(keys: &[String], element: &'v Value) -> Vec<&'v Value> {
    keys.iter().map(|key| element.get(key).unwrap_or(&Value::Null)).collect()
}

/// A schema without the fields that are null. Those that take any JSON stay.
fn without_nulls(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let is_any = |name: &str| ["default", "enum", "example"].contains(&name);
            let cleaned = |(name, value): (&String, &Value)| {
                (name.clone(), if is_any(name) && !value.is_object() { value.clone() } else { without_nulls(value) })
            };
            fields.map(cleaned).collect()
        }
        Value::Array(elements) => elements.iter().map(without_nulls).collect(),
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_has_what_its_definition_says() {
        let schema = Schema::read(&json!({ "type": "object", "description": null, "properties": {
            "ports": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                "items": { "type": "object", "properties": { "port": { "type": "integer" } } } },
            "labels": { "type": "object", "additionalProperties": { "type": "string", "pattern": "^a" } } } }))
        .unwrap();
        let ports = schema.field("ports").unwrap();
        assert_eq!(ports.list_type(), ListType::Map(&["port".to_owned()]));
        assert_eq!(ports.element().unwrap().field("port").unwrap().types(), ["integer"]);
        let label = schema.field("labels").unwrap().field("any").unwrap();
        assert!(label.pattern.regex().unwrap().is_match("ab") && schema.field("other").is_none());
        assert!(Schema::read(&json!({ "type": 1 })).is_err());
    }
}
