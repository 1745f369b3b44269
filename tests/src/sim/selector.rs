//! The objects that a request selects.

use super::object::{self, KeyNumber, Stored};
use listwatch_core::Resource;
use listwatch_core::object::LabelSelector;

/// A label selector and a field selector.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    labels: LabelSelector,
    fields: Vec<Requirement>,
}

#[derive(Clone, Debug)]
struct Requirement {
    field: String,
    value: String,
    equal: bool,
}

/// The fields that can be selected by.
const FIELDS: [&str; 3] = ["metadata.name", "metadata.namespace", "spec.nodeName"];

impl Selector {
    /// That of a request; `None` where it makes no sense.
    #[must_use]
    pub fn of(resource: &Resource) -> Option<Self> {
        let labels = LabelSelector::parse(resource.label_selector().unwrap_or_default()).ok()?;
        let fields = resource.field_selector().into_iter().flat_map(|fields| fields.split(','));
        Some(Self { labels, fields: fields.map(Requirement::parse).collect::<Option<_>>()? })
    }

    /// Whether it wants every object.
    #[must_use]
    pub fn selects_all(&self) -> bool {
        self.labels.selects_all() && self.fields.is_empty()
    }

    /// Whether it wants this one.
    #[must_use]
    pub fn matches(&self, key: KeyNumber, object: &Stored) -> bool {
        let label = |name: &str| (name == "app").then(|| object::app(object));
        self.labels.matches(label) && self.fields.iter().all(|field| field.holds(key, object))
    }

    /// The object, if it wants it.
    #[must_use]
    pub fn of_those(&self, key: KeyNumber, object: Option<Stored>) -> Option<Stored> {
        object.filter(|object| self.matches(key, object))
    }
}

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let (field, value, equal) = match text.split_once("!=") {
            Some((field, value)) => (field, value, false),
            None => text.split_once('=').map(|(field, value)| (field, value.trim_start_matches('='), true))?,
        };
        FIELDS.contains(&field).then(|| Self { field: field.to_owned(), value: value.to_owned(), equal })
    }

    fn holds(&self, key: KeyNumber, object: &Stored) -> bool {
        (object::field(key, object, &self.field).as_deref() == Some(&self.value)) == self.equal
    }
}
