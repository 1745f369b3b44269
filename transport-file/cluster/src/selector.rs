//! Which objects a list or a watch selects: by namespace, labels and fields.

use super::events;
use super::options::check_read;
use super::refusal::Refusal;
use super::shard::ShardSelector;
use super::target::Target;
use crate::kinds::ServedKind;
use listwatch_core::object::LabelSelector;
use serde_json::Value;

/// The selection of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    namespace: String,
    labels: LabelSelector,
    fields: Vec<FieldRequirement>,
    shards: Option<ShardSelector>,
}

#[derive(Clone, Debug)]
struct FieldRequirement {
    field: String,
    value: String,
    is_equal: bool,
}

/// What a request says of a field, which its kind may not have.
struct Term<'t> {
    field: &'t str,
    value: &'t str,
    is_equal: bool,
}

impl Selection {
    /// The selection that a target asks for, whose other options are checked before the names of fields.
    pub(super) fn of(target: &Target, kind: &ServedKind) -> Result<Self, Refusal> {
        let labels = target.parameter("labelSelector").unwrap_or_default();
        let unable = |error| Refusal::bad_request(format!("unable to parse requirement: {error}"));
        let labels = LabelSelector::parse(labels).map_err(unable)?;
        let fields = target.parameter("fieldSelector").unwrap_or_default().split(',').map(str::trim);
        let fields = fields.filter(|term| !term.is_empty()).map(Term::parse).collect::<Result<Vec<_>, _>>()?;
        check_read(target)?;
        let fields = fields.into_iter().map(|term| FieldRequirement::of(term, kind, target.is_events));
        let (fields, namespace) = (fields.collect::<Result<_, _>>()?, target.namespace.clone());
        Ok(Self { namespace, labels, fields, shards: ShardSelector::of(target)? })
    }

    /// Whether it selects by more than the namespace.
    pub(super) fn is_filtered(&self) -> bool {
        !self.labels.selects_all() || !self.fields.is_empty() || self.shards.is_some()
    }

    /// The shards that are selected, if not all are.
    pub(super) fn shards(&self) -> Option<&ShardSelector> {
        self.shards.as_ref()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.reads(object)
            && self.labels.matches(|label| object["metadata"]["labels"].get(label).and_then(Value::as_str))
            && self.fields.iter().all(|requirement| requirement.holds(object))
            && self.shards.as_ref().is_none_or(|shards| shards.matches(object))
    }

    /// Whether a server looks at an object at all: it is in the namespace, and has the name or the Node that is asked for.
    pub(super) fn reads(&self, object: &Value) -> bool {
        let indexed =
            |it: &&FieldRequirement| it.is_equal && ["metadata.name", "spec.nodeName"].contains(&it.field.as_str());
        let is_there = self.namespace.is_empty() || object["metadata"]["namespace"].as_str() == Some(&self.namespace);
        is_there && self.fields.iter().filter(indexed).all(|requirement| requirement.holds(object))
    }
}

/// The requirements of some labels, as text.
pub(super) fn required_labels(labels: &Value) -> impl Iterator<Item = String> {
    labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
}

impl<'t> Term<'t> {
    fn parse(term: &'t str) -> Result<Self, Refusal> {
        let parts = term.split_once("!=").map(|(field, value)| (field, value, false));
        let parts = parts.or_else(|| term.split_once("==").map(|(field, value)| (field, value, true)));
        let parts = parts.or_else(|| term.split_once('=').map(|(field, value)| (field, value, true)));
        let unable = || Refusal::bad_request(format!("invalid selector: '{term}'; can't understand '{term}'"));
        parts.map(|(field, value, is_equal)| Self { field, value, is_equal }).ok_or_else(unable)
    }
}

impl FieldRequirement {
    fn of(Term { field, value, is_equal }: Term<'_>, kind: &ServedKind, is_events: bool) -> Result<Self, Refusal> {
        let own = kind.selectable_fields();
        let stored = if is_events { events::selected(field) } else { Some(field.to_owned()) };
        let is_known =
            |field: &String| field == "metadata.name" || field == "metadata.namespace" || own.contains(field);
        let Some(stored) = stored.filter(is_known) else {
            return Err(Refusal::bad_request(if own.is_empty() && !kind.is_custom() {
                let known = r#"only "metadata.name", "metadata.namespace""#;
                format!("\"{field}\" is not a known field selector: {known}")
            } else if kind.kind == "Job" {
                format!("field label {field:?} not supported for Job")
            } else {
                format!("field label not supported: {field}")
            }));
        };
        Ok(Self { field: stored, value: value.to_owned(), is_equal })
    }

    fn holds(&self, object: &Value) -> bool {
        let found = path(&self.field).split('.').try_fold(object, |value, field| value.get(field));
        let found = match found {
            None | Some(Value::Null) if self.field == "source" => object.get("reportingComponent"),
            found => found,
        };
        let is_same = match found {
            None | Some(Value::Null) => self.value == absent(&self.field),
            Some(Value::String(text)) => *text == self.value,
            Some(other) => {
                let text = other.to_string();
                text == self.value
            }
        };
        is_same == self.is_equal
    }
}

/// The path to the value of a field that has another name in selectors.
fn path(field: &str) -> &str {
    match field {
        "source" => "source.component",
        "status.successful" => "status.succeeded",
        field => field,
    }
}

/// The text of a field that is absent.
fn absent(field: &str) -> &'static str {
    match field {
        "spec.restartPolicy" => "Always",
        "spec.schedulerName" => "default-scheduler",
        "spec.type" => "ClusterIP",
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.replicas" | "status.successful" => "0",
        _ => "",
    }
}
