//! The subresource `scale` (`autoscaling/v1`).

use super::super::field_path::Step;
use super::super::limits;
use super::super::metadata::{Part, metadata_of, set_inside};
use super::super::place::Place;
use super::super::refusal::Refusal;
use super::super::selector::required_labels;
use super::super::write;
use super::read::body;
use super::single::{manager, patched};
use super::{Asked, Reply, Server};
use serde_json::{Value, json};
use std::sync::Arc;

impl Server {
    /// The scale of an object.
    pub(super) fn scale_of(place: &Place, object: &Value) -> Value {
        let fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
        let metadata: serde_json::Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), object["metadata"][field].clone())).collect();
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
        let (wanted, present, selector) = match place.version.as_ref().map(|version| &version.scale) {
            Some(scale) => {
                let selector = at(object, &scale.selector).and_then(Value::as_str).unwrap_or_default();
                (at(object, &scale.wanted), at(object, &scale.present), selector.to_owned())
            }
            None => (at(object, "spec.replicas"), at(object, "status.replicas"), selector_of(object)),
        };
        let mut scale = json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
            "spec": {}, "status": { "replicas": number(present) } });
        if number(wanted) > 0 {
            scale["spec"]["replicas"] = json!(number(wanted));
        }
        if !selector.is_empty() {
            scale["status"]["selector"] = json!(selector);
        }
        scale
    }

    /// The scale, which a custom resource has as long as it says how much is wanted.
    pub(super) fn read_scale(&self, asked: &Asked<'_>, place: &Place) -> Result<Reply, Refusal> {
        let stored = place.stored(&self.store)?;
        let path = place.version.as_ref().map(|version| &version.scale.wanted);
        if let Some(path) = path.filter(|path| at(stored, path).is_none()) {
            let why = format!("the spec replicas field \".{path}\" does not exist");
            let refusal = Refusal::new(500, "InternalError", format!("Internal error occurred: {why}"));
            return Err(refusal.with_details(json!({ "causes": [{ "message": why }] })));
        }
        Ok(asked.done(200, &Self::scale_of(place, stored)))
    }

    pub(super) fn change_scale(&mut self, asked: &Asked<'_>, place: &Place) -> Result<Reply, Refusal> {
        let stored = Arc::clone(place.stored(&self.store)?);
        limits::check(&stored)?;
        let scale = Self::scale_of(place, &stored);
        let wanted = match asked.call.method {
            "PUT" => body(asked, &place.kind)?,
            _ => {
                let (asked, place) = (Asked { version: None, ..*asked }, Place { version: None, ..place.clone() });
                patched(&asked, &place, &scale)?
            }
        };
        let mut object = place.shown(&stored);
        let path = place.version.as_ref().map_or("spec.replicas", |version| &version.scale.wanted);
        let path: Vec<&str> = path.split('.').collect();
        // Clients leave a zero out.
        let replicas = Some(&wanted["spec"]["replicas"]).filter(|it| !it.is_null());
        set_at(&mut object, &path, replicas.cloned().unwrap_or_else(|| json!(0)))?;
        // An object that had no spec has one now, with its defaults.
        place.version.as_ref().map_or(Ok(Vec::new()), |it| it.conform(&mut object)).map_err(Refusal::bad_request)?;
        if let Some(version) = wanted["metadata"]["resourceVersion"].as_str() {
            metadata_of(&mut object).insert("resourceVersion".into(), json!(version));
        }
        let object =
            write::update(&mut self.store, asked.moment, place, object, Part::Whole, asked.actor, &write::any)?;
        self.note_scale(asked, place, &path, [&stored, &object]);
        Ok(asked.done(200, &Self::scale_of(place, &object)))
    }

    /// Takes note of a change of a scale, which is one field. A scale shows no zero, so nobody owns it, and a server follows
    /// the scale of an object as long as it has an owner.
    fn note_scale(&mut self, asked: &Asked<'_>, place: &Place, path: &[&str], [before, after]: [&Value; 2]) {
        let count = |object: &Value| path.iter().try_fold(object, |value, field| value.get(field)).cloned();
        let (before, after) = (count(before), count(after));
        let path = path.iter().map(|field| Step::Field((*field).to_owned())).collect();
        let Some(mut managers) = self.owners.get(&place.id()).cloned().filter(|it| it.has(&path) && before != after)
        else {
            return;
        };
        managers.release(&path);
        if after.is_some_and(|after| after != 0) {
            managers.add(manager(asked, place, asked.manager()), path);
        }
        self.set_managers(place, managers);
    }
}

/// The value at a path; none at an empty one.
fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(object, |value, field| value.get(field))
}

fn set_at(object: &mut Value, path: &[&str], value: Value) -> Result<(), Refusal> {
    match *path {
        [first, ref rest @ ..] if rest.len() > 1 => {
            let missing = || Refusal::bad_request(format!("the object has no `{first}`"));
            set_at(object.get_mut(first).ok_or_else(missing)?, rest, value)
        }
        [parent, field] => set_inside(object, [parent, field], value),
        _ => Ok(()),
    }
}

/// The selector of a kind of Kubernetes, as text.
fn selector_of(object: &Value) -> String {
    let selector = &object["spec"]["selector"];
    let labels = if object["kind"] == "ReplicationController" { selector } else { &selector["matchLabels"] };
    required_labels(labels).collect::<Vec<_>>().join(",")
}
