//! A type that is itself data: it knows some fields, and has defaults, nulls and an alias.

use super::objects::{ALIAS, NAMES, plain};
use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a type knows, at every place alike.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) known: BTreeSet<&'static str>,
    /// The values that it has where the object has none.
    pub(super) defaults: BTreeMap<&'static str, Value>,
    /// It writes null where the object has no value.
    pub(super) nulls: bool,
    pub(super) alias: bool,
    /// It shows lists without their last element.
    pub(super) filters: bool,
}

impl Reader {
    pub(super) fn arbitrary(data: &mut Unstructured<'_>) -> Result<Self> {
        let (known, defaults, flags): (u8, u8, u8) = data.arbitrary()?;
        // In most types the list is known, and a field of its elements.
        let often = |mask: u8, bit: u8| if flags & mask == 0 { 0 } else { bit };
        let known = known | often(0x30, 8) | often(0xc0, 4);
        let names = NAMES.iter().enumerate().filter(|(bit, name)| known >> bit & 1 == 1 && **name != ALIAS);
        let known: BTreeSet<&str> = names.map(|(_, name)| *name).collect();
        let all = [("image", json!("a")), ("port", json!(80)), ("x", json!(0))];
        let chosen =
            all.into_iter().enumerate().filter(|(bit, (name, _))| defaults >> bit & 7 == 7 && known.contains(name));
        Ok(Self {
            defaults: chosen.map(|(_, default)| default).collect(),
            alias: known.contains("image") && flags & 7 == 7,
            nulls: flags & 8 == 8,
            filters: flags & 0x1f == 0x1f,
            known,
        })
    }

    /// What the type shows of a raw value.
    pub(super) fn show(&self, raw: &Value) -> Value {
        match raw {
            Value::Object(fields) => Value::Object(self.show_fields(fields)),
            Value::Array(elements) => {
                let shown = elements.len() - usize::from(self.filters && elements.len() > 1);
                elements[..shown].iter().map(|element| self.show(element)).collect()
            }
            scalar => scalar.clone(),
        }
    }

    pub(super) fn show_fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let shown = self.known.iter().filter_map(|name| {
            let value = fields.get(self.raw_name(fields, name)).filter(|value| !value.is_null());
            let default = || self.defaults.get(name).cloned();
            let null = || self.nulls.then_some(Value::Null);
            Some(((*name).to_owned(), value.map(|value| self.show(value)).or_else(default).or_else(null)?))
        });
        shown.collect()
    }

    /// The name of a field in the raw object.
    pub(super) fn raw_name<'a>(&self, fields: &Map<String, Value>, name: &'a str) -> &'a str {
        let is_alias = self.alias && name == "image" && !fields.contains_key(name) && fields.contains_key(ALIAS);
        if is_alias { ALIAS } else { name }
    }

    /// The raw value with the defaults that the type has.
    pub(super) fn fill(&self, raw: &Value) -> Value {
        match raw {
            Value::Object(fields) => {
                let mut filled: Map<String, Value> =
                    fields.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect();
                for (name, default) in &self.defaults {
                    filled.entry(*name).or_insert_with(|| default.clone());
                }
                Value::Object(filled)
            }
            Value::Array(elements) => elements.iter().map(|element| self.fill(element)).collect(),
            scalar => scalar.clone(),
        }
    }

    /// The scalars, and the empty objects and lists, in fields that the type does not know.
    pub(super) fn collect_unknown(&self, raw: &Value, is_unknown: bool, found: &mut Vec<String>) {
        match raw {
            empty if is_unknown && [json!({}), json!([])].contains(&plain(empty)) => {
                found.push(plain(empty).to_string());
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.collect_unknown(value, is_unknown || !self.is_known(name), found);
                }
            }
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.collect_unknown(element, is_unknown, found));
            }
            scalar if is_unknown && !scalar.is_null() => found.push(scalar.to_string()),
            _ => {}
        }
    }

    /// Leaves an empty object or list of each value in a field that the type does not know.
    pub(super) fn empty_unknown(&self, raw: &mut Value) {
        match raw {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        known if self.is_known(name) => self.empty_unknown(known),
                        Value::Number(_) | Value::Array(_) => *value = json!([]),
                        _ => *value = json!({}),
                    }
                }
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.empty_unknown(element)),
            _ => {}
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.contains(name) || self.alias && name == ALIAS
    }

    pub(super) fn has_unknown(&self, raw: &Value) -> bool {
        let mut found = Vec::new();
        self.collect_unknown(raw, false, &mut found);
        !found.is_empty()
    }

    /// Whether a list has elements that look alike, of which one has more than is shown.
    pub(super) fn has_look_alikes(&self, elements: &[Value]) -> bool {
        let shown: BTreeSet<String> = elements.iter().map(|element| plain(&self.show(element)).to_string()).collect();
        shown.len() < elements.len() && elements.iter().any(|element| self.has_unknown(element))
    }
}
