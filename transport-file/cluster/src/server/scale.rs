//! The subresource `scale` (`autoscaling/v1`).

use super::super::limits;
use super::super::metadata::{metadata_of, set_inside};
use super::super::place::Place;
use super::super::refusal::Refusal;
use super::super::write::{self, Part};
use super::read::body;
use super::single::patched;
use super::{Asked, Reply, Server};
use serde_json::{Value, json};
use std::sync::Arc;

impl Server {
    /// The scale of an object.
    pub(super) fn scale_of(object: &Value) -> Value {
        let fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
        let metadata: serde_json::Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), object["metadata"][field].clone())).collect();
        let labels = object["spec"]["selector"]["matchLabels"].as_object();
        let labels = labels.into_iter().flatten().map(|(name, value)| {
            let value = value.as_str().unwrap_or_default();
            format!("{name}={value}")
        });
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
            "spec": { "replicas": number(&object["spec"]["replicas"]) },
            "status": { "replicas": number(&object["status"]["replicas"]), "selector": labels.collect::<Vec<_>>().join(",") } })
    }

    pub(super) fn change_scale(&mut self, asked: &Asked<'_>, place: &Place) -> Result<Reply, Refusal> {
        let stored = Arc::clone(place.stored(&self.store)?);
        limits::check(&stored)?;
        let scale = Self::scale_of(&stored);
        let wanted = match asked.call.method {
            "PUT" => body(asked, &place.kind)?,
            _ => patched(asked, &place.kind, &scale)?,
        };
        let mut object = (*stored).clone();
        set_inside(&mut object, ["spec", "replicas"], wanted["spec"]["replicas"].clone())?;
        if let Some(version) = wanted["metadata"]["resourceVersion"].as_str() {
            metadata_of(&mut object).insert("resourceVersion".into(), json!(version));
        }
        let object = write::update(&mut self.store, asked.moment, place, object, Part::Whole, asked.actor)?;
        self.note_update(asked, place, &stored, &object);
        Ok(asked.done(200, &Self::scale_of(&object)))
    }
}
