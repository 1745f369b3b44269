//! An edit, made on what a type shows and on the raw object alike.

use super::objects::{object, plain, value};
use super::reader::Reader;
use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// Choices on the way to an object or a list.
    steps: Vec<u8>,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    /// Sets a field, here or in every element.
    Set(u8, Value),
    /// Removes a field or an element.
    Remove(u8),
    /// Inserts an element, or sets a field.
    Insert(u8, Value),
    /// Swaps two elements, or removes a field.
    Swap(u8, u8),
}

/// A step to a field or to an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Field(&'static str),
    Element(usize),
}

/// An edit that was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    pub(super) steps: Vec<Step>,
    /// The type sees a difference.
    pub(super) is_visible: bool,
    /// A value is gone, with what the type does not know of it.
    pub(super) removes: bool,
    /// The removed field, or the replaced value, has more than the type knows.
    pub(super) replaces_unknown: bool,
    pub(super) inserts: bool,
    /// The key of an element is another one.
    pub(super) key: Option<&'static str>,
    /// A list on the way is not shown whole.
    pub(super) filtered: bool,
    /// The type has a default where the object has no value.
    pub(super) is_default: bool,
    /// The field has another name in the object.
    pub(super) is_aliased: bool,
    pub(super) has_look_alikes: bool,
}

impl Edit {
    pub(super) fn arbitrary(data: &mut Unstructured<'_>, known: &[&'static str]) -> Result<Self> {
        let steps = (0..1 + data.arbitrary::<u8>()? % 4).map(|_| data.arbitrary()).collect::<Result<_>>()?;
        let (act, one, other): (u8, u8, u8) = data.arbitrary()?;
        let act = match act % 6 {
            0 | 1 => Act::Set(one, value(data, 1, known)?),
            2 => Act::Remove(one),
            3 => Act::Insert(one, value(data, 1, known)?),
            4 => Act::Swap(one, other),
            _ => Act::Insert(u8::MAX, object(data, 1, known)?),
        };
        Ok(Self { steps, act })
    }

    /// Makes the edit on both values, if it fits there.
    pub(super) fn make(&self, reader: &Reader, shown: &mut Value, raw: &mut Value) -> Option<Made> {
        let mut made = Made::default();
        let before = shown.clone();
        let (part, raw) = self.walk(reader, shown, raw, &mut made);
        let is_made = match (part, raw) {
            (Value::Object(part), Value::Object(raw)) => self.edit_fields(reader, part, raw, &mut made),
            (Value::Array(part), Value::Array(raw)) => self.edit_elements(reader, part, raw, &mut made),
            _ => false,
        };
        made.is_visible = plain(&before) != plain(shown);
        is_made.then_some(made)
    }

    /// Walks to an object or a list that both have.
    fn walk<'a>(
        &self,
        reader: &Reader,
        mut shown: &'a mut Value,
        mut raw: &'a mut Value,
        made: &mut Made,
    ) -> (&'a mut Value, &'a mut Value) {
        for choice in &self.steps {
            let Some(step) = step(reader, shown, raw, *choice) else { break };
            made.steps.push(step.clone());
            (shown, raw) = match step {
                Step::Field(name) => {
                    let raw_name = raw.as_object().map_or(name, |fields| reader.raw_name(fields, name));
                    (&mut shown[name], &mut raw[raw_name])
                }
                Step::Element(at) => {
                    made.note_list(reader, shown, raw);
                    (&mut shown[at], &mut raw[at])
                }
            };
        }
        made.note_list(reader, shown, raw);
        (shown, raw)
    }

    fn edit_fields(
        &self,
        reader: &Reader,
        shown: &mut Map<String, Value>,
        raw: &mut Map<String, Value>,
        made: &mut Made,
    ) -> bool {
        let known: Vec<&str> = reader.known.iter().copied().collect();
        let (choice, value) = self.act.field();
        let Some(name) = known.get(usize::from(choice) % known.len().max(1)).copied() else { return false };
        let (old, raw_name) = (shown.get(name).cloned().unwrap_or_default(), reader.raw_name(raw, name));
        let raw_old = raw.get(raw_name).cloned().unwrap_or_default();
        // A value that the type has is none to set, even if the object has it as a default alone.
        if value.is_some_and(|value| plain(value) == plain(&old)) {
            return true;
        }
        let is_container = |value: &Value| value.is_object() || value.is_array();
        // Two objects or lists are not one value that takes the place of another: the type says what differs in them.
        if is_container(&old) && value.is_some_and(is_container) {
            return false;
        }
        let in_element = made.steps.iter().any(|step| matches!(step, Step::Element(_)));
        made.key = Some(name).filter(|name| in_element && ["name", "port"].contains(name)).or(made.key);
        made.is_aliased |= raw_name != name;
        made.is_default |= raw_old.is_null() && !old.is_null();
        made.replaces_unknown |= is_container(&raw_old) && (reader.filters || reader.has_unknown(&raw_old));
        made.removes |= is_container(&raw_old);
        match value {
            Some(value) => {
                shown.insert(name.to_owned(), value.clone());
                raw.insert(raw_name.to_owned(), value.clone());
            }
            None => {
                shown.remove(name);
                if !raw_old.is_null() {
                    raw.remove(raw_name);
                }
            }
        }
        true
    }

    fn edit_elements(&self, reader: &Reader, shown: &mut Vec<Value>, raw: &mut Vec<Value>, made: &mut Made) -> bool {
        let len = shown.len();
        let place = |choice: &u8, len: usize| usize::from(*choice) % len.max(1);
        match &self.act {
            Act::Remove(choice) if len > 0 => {
                made.removes = true;
                shown.remove(place(choice, len));
                raw.remove(place(choice, len));
                true
            }
            Act::Insert(choice, value) => {
                let at = if *choice == u8::MAX { len } else { place(choice, len + 1) };
                made.inserts = true;
                shown.insert(at, value.clone());
                raw.insert(at, value.clone());
                made.has_look_alikes |= reader.has_look_alikes(raw);
                true
            }
            Act::Swap(one, other) if len > 0 => {
                shown.swap(place(one, len), place(other, len));
                raw.swap(place(one, len), place(other, len));
                true
            }
            Act::Set(..) => {
                made.steps.push(Step::Element(0));
                let pairs = shown.iter_mut().zip(raw);
                let fields = pairs.filter_map(|(shown, raw)| Some((shown.as_object_mut()?, raw.as_object_mut()?)));
                fields.map(|(shown, raw)| self.edit_fields(reader, shown, raw, made)).filter(|is_made| *is_made).count()
                    > 0
            }
            Act::Remove(_) | Act::Swap(..) => false,
        }
    }
}

impl Act {
    /// Which field it sets, and to what; or removes.
    fn field(&self) -> (u8, Option<&Value>) {
        match self {
            Self::Set(choice, value) | Self::Insert(choice, value) => (*choice, Some(value)),
            Self::Remove(choice) | Self::Swap(choice, _) => (*choice, None),
        }
    }
}

impl Made {
    fn note_list(&mut self, reader: &Reader, shown: &Value, raw: &Value) {
        if let (Value::Array(shown), Value::Array(raw)) = (shown, raw) {
            self.filtered |= shown.len() != raw.len();
            self.has_look_alikes |= reader.has_look_alikes(raw);
        }
    }
}

/// A step into an object or a list that both values have; `None` if there is none.
fn step(reader: &Reader, shown: &Value, raw: &Value, choice: u8) -> Option<Step> {
    let is_inner = |value: &Value| value.is_object() || value.is_array();
    let steps: Vec<Step> = match (shown, raw) {
        (Value::Object(shown), Value::Object(raw)) => {
            let names = reader.known.iter().filter(|name| {
                let raw = raw.get(reader.raw_name(raw, name));
                shown.get(**name).is_some_and(is_inner) && raw.is_some_and(is_inner)
            });
            names.map(|name| Step::Field(name)).collect()
        }
        (Value::Array(shown), Value::Array(raw)) => {
            let pairs = shown.iter().zip(raw).enumerate();
            let inner = pairs.filter(|(_, (shown, raw))| is_inner(shown) && is_inner(raw));
            inner.map(|(at, _)| Step::Element(at)).collect()
        }
        _ => Vec::new(),
    };
    steps.get(usize::from(choice) % steps.len().max(1)).cloned()
}
