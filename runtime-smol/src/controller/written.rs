//! What the answer to a write says of the object's new state.

use super::expected::Expected;
use crate::informers::{Collection, InformerHandle};
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use listwatch_core::controller::{Awaited, Write};
use listwatch_core::decode::{DecodeOptions, Decoder, ListMeta, MetadataOnly, Status};
use listwatch_core::object::{LabelSelector, Meta, Uid, Version};
use listwatch_core::{Key, Resource};

/// A state that the server has, and that a watch will bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The object at a version.
    Version(Meta),
    /// An object that is gone, or terminates.
    Deleted(Deleted),
}

/// What the answer to a deletion says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deleted {
    key: Key,
    uid: Uid,
    /// The object, unless the answer is a status.
    object: Option<Meta>,
}

impl Written {
    /// Reads the answer to `request`; `None` if it names no state to wait for: the request changes nothing, or the
    /// answer is about something else, such as an eviction.
    pub(super) fn read(request: &ApiRequest, response: &ApiResponse) -> Option<Self> {
        let is_dry_run = request.query.iter().any(|(name, _)| *name == "dryRun");
        if request.method == Method::Get || is_dry_run || !(200..300).contains(&response.status) {
            return None;
        }
        match (request.method, object_in(response)) {
            (Method::Delete, Some(meta)) => {
                let (key, uid) = (meta.key().clone(), meta.uid()?);
                Some(Self::Deleted(Deleted { key, uid, object: Some(meta) }))
            }
            (Method::Delete, None) => {
                let status = Status::read(response.status, &response.body);
                let namespace = Collection::of(&request.path).and_then(|collection| collection.namespace);
                let key = Key::new(namespace, status.name()?);
                Some(Self::Deleted(Deleted { key, uid: status.uid()?, object: None }))
            }
            (_, Some(object)) if !object.resource_version().is_empty() => Some(Self::Version(object)),
            _ => None,
        }
    }

    /// Why no store of this resource shows the write, if the program or the server made a mistake.
    pub(super) fn mistake(&self, request: &ApiRequest, resource: &Resource) -> Option<String> {
        let requested = Collection::of(&request.path)?;
        let (path, key) = (resource.path(), self.key());
        if !Collection::of(path).is_none_or(|collection| collection.covers(&requested)) {
            return Some(format!("the request is for {}, and the informer has {path}", request.path));
        }
        // A name with special characters is escaped in the path.
        let is_name = requested.name.is_none_or(|name| name == key.name() || name.contains('%'));
        let is_namespace = requested.namespace == key.namespace();
        (!is_name || !is_namespace).then(|| format!("the answer is about {key}, and the request for {}", request.path))
    }

    /// Whether the informer's store can show the write, as far as the object's labels tell. An object that leaves the
    /// selection is shown as a deletion, if it was there before.
    pub(super) fn is_of<T>(&self, kind: &InformerHandle<T>) -> bool {
        let selector = kind.resource().label_selector().and_then(|selector| LabelSelector::parse(selector).ok());
        match (self.object(), selector) {
            (Some(meta), Some(selector)) => selector.matches(|name| meta.label(name)) || kind.contains(self.key()),
            _ => true,
        }
    }

    /// Whether the informer's store will show an object that was only read. Where there are field selectors, that cannot be
    /// told, unless the store has it.
    pub(super) fn is_surely_of<T>(&self, kind: &InformerHandle<T>) -> bool {
        kind.contains(self.key()) || (kind.resource().field_selector().is_none() && self.is_of(kind))
    }

    /// What the informer's store is to show.
    pub(super) fn expected_in<T: Send + Sync + 'static>(self, kind: &InformerHandle<T>) -> Expected {
        let (source, object) = (kind.resource().path().into(), self.key().clone());
        let version = self.object().and_then(version_of);
        let (until, uid) = match (self, &version) {
            (Self::Deleted(Deleted { uid, .. }), _) => (Awaited::Gone(Some(uid.clone())), Some(uid)),
            (Self::Version(meta), version) => (Awaited::Version(version.clone().unwrap_or_default()), meta.uid()),
        };
        Expected::new(kind, Write { source, object, until }, uid, version)
    }

    /// The object that was written.
    pub(super) fn key(&self) -> &Key {
        match self {
            Self::Version(meta) => meta.key(),
            Self::Deleted(deleted) => &deleted.key,
        }
    }

    fn object(&self) -> Option<&Meta> {
        match self {
            Self::Version(meta) => Some(meta),
            Self::Deleted(deleted) => deleted.object.as_ref(),
        }
    }
}

/// The version of an object in an answer.
pub(super) fn version_in(response: &ApiResponse) -> Option<Version> {
    version_of(&object_in(response)?)
}

fn object_in(response: &ApiResponse) -> Option<Meta> {
    let object = Decoder::new(DecodeOptions::default()).item::<MetadataOnly>(&response.body, &ListMeta::default());
    Some(object.ok()?.meta)
}

/// The version of an object.
pub(super) fn version_of(meta: &Meta) -> Option<Version> {
    Some(meta.resource_version()).filter(|version| !version.is_empty()).map(Version::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::Resource;
    use listwatch_core::api::{Api, ApiCall, DeleteOptions};
    use serde_json::{Value, json};

    const POD: &[u8] = br#"{"metadata":{"namespace":"web","name":"a","uid":"u-1","resourceVersion":"7"}}"#;

    fn pods() -> Api<Value> {
        Api::new(&Resource::new("/api/v1/namespaces/web/pods"))
    }

    fn read<T>(call: &ApiCall<T>, status: u16, body: &[u8]) -> Option<Written> {
        Written::read(call.request().unwrap(), &ApiResponse::new(status, body))
    }

    #[test]
    fn a_write_is_at_the_version_of_its_answer() {
        for call in
            [pods().create(&json!({})), pods().replace("a", &json!({})), pods().status().replace("a", &json!({}))]
        {
            let Some(Written::Version(meta)) = read(&call, 201, POD) else { panic!("no version") };
            assert_eq!((meta.key().as_str(), meta.resource_version()), ("web/a", "7"));
        }
    }

    #[test]
    fn a_deletion_is_of_the_uid_of_its_answer_whether_that_is_the_object_or_a_status() {
        let deleted = |written| match written {
            Some(Written::Deleted(Deleted { key, uid, object })) => {
                (key, uid, object.and_then(|meta| version_of(&meta)))
            }
            other => panic!("{other:?}"),
        };
        let (key, uid) = (Key::from("web/a"), Uid::from("u-1"));
        let delete = pods().delete("a", &DeleteOptions::default());
        assert_eq!(deleted(read(&delete, 200, POD)), (key.clone(), uid.clone(), Some("7".into())));
        let status = br#"{"kind":"Status","metadata":{},"status":"Success","details":{"name":"a","uid":"u-1"}}"#;
        assert_eq!(deleted(read(&delete, 200, status)), (key, uid, None));
        let node = Api::<Value>::new(&Resource::new("/api/v1/namespaces")).delete("a", &DeleteOptions::default());
        assert_eq!(read(&node, 200, status).map(|written| written.key().clone()), Some("a".into()));
    }

    #[test]
    fn what_changes_nothing_or_is_refused_or_is_about_something_else_is_not_waited_for() {
        assert_eq!(read(&pods().get("a"), 200, POD), None);
        assert_eq!(read(&pods().create(&json!({})).with_dry_run(), 201, POD), None);
        assert_eq!(read(&pods().create(&json!({})), 409, POD), None);
        let eviction = pods().subresource::<Value>("eviction");
        assert_eq!(read(&eviction.create(&json!({})), 201, br#"{"kind":"Status","status":"Success"}"#), None);
        assert_eq!(read(&pods().delete("a", &DeleteOptions::default()), 200, b"gone"), None);
    }
}
