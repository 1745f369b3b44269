//! The schema of a custom resource, as its definition has it (apiextensions `JSONSchemaProps`).

use regex_lite::{Regex, RegexBuilder};
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
    #[cfg(feature = "cel")]
    pub(super) optional_old_self: Option<bool>,
}

/// A regular expression, as Go's `regexp` has it. Classes of Unicode (`\p{L}`) are unknown.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern {
    pub(super) text: String,
    read: OnceLock<Result<Read, String>>,
}

/// A regular expression, and the most bytes of the texts with which it is matched.
#[derive(Debug)]
struct Read {
    regex: Regex,
    longest: usize,
}

impl Read {
    /// The most bytes of a compiled expression, and of a text that is matched with it: a match takes their product in time.
    const SMALL: (usize, usize) = (16 * 1024, usize::MAX);
    const LARGE: (usize, usize) = (1024 * 1024, 64 * 1024);

    fn parse(text: &str) -> Result<Self, String> {
        if let Some(count) = repeated_too_often(text) {
            return Err(format!("error parsing regexp: invalid repeat count: `{count}`"));
        }
        let read = |(size, longest): (usize, usize)| {
            RegexBuilder::new(text).size_limit(size).build().map(|regex| Self { regex, longest })
        };
        read(Self::SMALL).or_else(|_| read(Self::LARGE)).map_err(|error| error.to_string())
    }
}

/// The first count of repetitions that is more than 1,000, as `{1001}`.
fn repeated_too_often(text: &str) -> Option<&str> {
    let mut is_literal = false;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        match letter {
            '\\' => rest = &rest[1..],
            '[' => is_literal = true,
            ']' => is_literal = false,
            '{' if !is_literal => {
                let (counts, _) = rest[1..].split_once('}').unwrap_or_default();
                let mut counts_in = counts.split(',').map(|count| count.parse::<u32>().unwrap_or_default());
                if counts_in.any(|count| count > 1_000) {
                    return rest.get(..counts.len() + 2);
                }
            }
            _ => {}
        }
        rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    None
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, read: OnceLock::new() }
    }
}

impl Pattern {
    /// Whether a text matches it. `Err` says why there is no telling.
    pub(super) fn matches(&self, text: &str) -> Result<bool, &str> {
        let Read { regex, longest } = self.read().map_err(String::as_str)?;
        if text.len() > *longest { Err("expression too large for this text") } else { Ok(regex.is_match(text)) }
    }

    /// What is wrong with it.
    pub(super) fn fault(&self) -> Option<&str> {
        self.read().err().map(String::as_str)
    }

    fn read(&self) -> Result<&Read, &String> {
        self.read.get_or_init(|| Read::parse(&self.text)).as_ref()
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
        assert!(label.pattern.matches("ab") == Ok(true) && schema.field("other").is_none());
        assert!(Schema::read(&json!({ "type": 1 })).is_err());
    }

    #[test]
    fn a_pattern_that_takes_long_is_not_matched() {
        let large = Pattern::from("^(a{30}b?){30}$".to_owned());
        assert_eq!((large.matches(&"a".repeat(900)), large.matches("b")), (Ok(true), Ok(false)));
        assert!(large.matches(&"a".repeat(1 << 20)).is_err() && large.fault().is_none());
        let huge = Pattern::from("((a{100}){100}){100}".to_owned());
        assert!(huge.fault().is_some() && huge.matches("a").is_err());
        let why = |text: &str| Pattern::from(text.to_owned()).fault().map(str::to_owned);
        let often = "error parsing regexp: invalid repeat count: `{2,1001}`";
        assert_eq!((why("é\\{[{1001}]a{2,1001}").as_deref(), why("\\{1001}[{1001}]a{1000}")), (Some(often), None));
        assert_eq!(Pattern::from("^[a-z]+$".to_owned()).matches(&"a".repeat(1 << 20)), Ok(true));
    }
}
