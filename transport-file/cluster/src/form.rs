//! The forms in which an object is sent: whole, or its metadata alone (`Accept` with `as=`).

use super::custom::Version;
use super::events;
use super::refusal::Refusal;
use serde_json::{Value, json};
use std::sync::Arc;

/// The form of the objects of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    /// The whole object, an Event as `events.k8s.io/v1` has it.
    Event,
    /// The whole object, in another version than it is stored.
    Version(Arc<Version>),
    Metadata,
}

impl Form {
    /// The first form of an `Accept` header that the server has.
    pub(super) fn negotiate(accept: &str) -> Result<Self, Refusal> {
        if accept.trim().is_empty() {
            return Ok(Self::Whole);
        }
        accept.split(',').find_map(Self::of_clause).ok_or_else(Refusal::not_acceptable)
    }

    fn of_clause(clause: &str) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
            return None;
        }
        match parts.find_map(|parameter| parameter.strip_prefix("as=")) {
            None => Some(Self::Whole),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Self::Metadata),
            Some(_) => None,
        }
    }

    /// The form of objects that are Events of the other version, or of a version of a definition.
    pub(super) fn of(self, is_events: bool, version: Option<&Arc<Version>>) -> Self {
        match (self, version.filter(|version| version.differs_from_stored())) {
            (Self::Whole, _) if is_events => Self::Event,
            (Self::Whole, Some(version)) => Self::Version(Arc::clone(version)),
            (form, _) => form,
        }
    }

    /// The version of the objects, which are stored in this one.
    pub(super) fn api_version<'f>(&'f self, stored: &'f str) -> &'f str {
        match self {
            Self::Whole | Self::Metadata => stored,
            Self::Event => events::VERSION,
            Self::Version(version) => &version.api_version,
        }
    }

    /// Kind and version of a list.
    pub(super) fn list_type(&self, api_version: &str, kind: &str) -> (String, String) {
        match self {
            Self::Whole | Self::Version(_) => (format!("{kind}List"), self.api_version(api_version).to_owned()),
            Self::Event => (format!("{kind}List"), events::VERSION.to_owned()),
            Self::Metadata => ("PartialObjectMetadataList".into(), METADATA_VERSION.into()),
        }
    }

    /// An object as an item of a list, as JSON. The kinds of Kubernetes leave its type to the list.
    pub(super) fn write_item(&self, object: &Value, is_custom: bool) -> String {
        let mut item = match self {
            Self::Whole if !is_custom => object.clone(),
            Self::Event => events::shown(object),
            Self::Whole | Self::Version(_) | Self::Metadata => return self.write(object),
        };
        if let Some(fields) = item.as_object_mut() {
            ["apiVersion", "kind"].iter().for_each(|field| drop(fields.remove(*field)));
        }
        item.to_string()
    }

    /// An object in this form, as JSON.
    pub(super) fn write(&self, object: &Value) -> String {
        match self {
            Self::Whole => object.to_string(),
            Self::Event => events::shown(object).to_string(),
            Self::Version(version) => version.shown(object).to_string(),
            Self::Metadata => {
                let metadata = &object["metadata"];
                json!({ "kind": "PartialObjectMetadata", "apiVersion": METADATA_VERSION, "metadata": metadata })
                    .to_string()
            }
        }
    }
}

const METADATA_VERSION: &str = "meta.k8s.io/v1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_the_server_has_is_chosen() {
        for (accept, form) in [
            ("", Ok(Form::Whole)),
            ("*/*", Ok(Form::Whole)),
            ("application/vnd.kubernetes.protobuf, application/json", Ok(Form::Whole)),
            ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", Ok(Form::Metadata)),
            ("application/json;drop=metadata.managedFields,application/json", Ok(Form::Whole)),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Ok(Form::Whole)),
            ("application/json;as=Table;v=v1;g=meta.k8s.io", Err(Refusal::not_acceptable())),
            ("application/yaml", Err(Refusal::not_acceptable())),
        ] {
            assert_eq!(Form::negotiate(accept), form, "{accept}");
        }
    }
}
