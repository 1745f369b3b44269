//! What the answer to a write says of the object's new state.

use crate::informers::InformerHandle;
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use listwatch_core::controller::{Awaited, Write};
use listwatch_core::decode::{DecodeOptions, Decoder, ListMeta, MetadataOnly, Status};
use listwatch_core::object::{LabelSelector, Meta, Uid};
use listwatch_core::{Resource, Store};
use std::sync::Arc;

/// A state that the server has, and that a watch will bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The object at a version.
    Version(Meta),
    /// An object of this uid that is gone, or terminates.
    Deleted { key: Key, uid: Uid },
}

/// A write, and what waits until its store shows it. The wait can begin again.
#[derive(Clone)]
pub(super) struct Expected {
    pub(super) write: Write,
    pub(super) shown: Arc<dyn Fn() -> Shown + Send + Sync>,
}

/// Completes when a store shows a write, or can show it no more.
pub(super) type Shown = Pin<Box<dyn Future<Output = Sight> + Send>>;

/// What a store has when it shows a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// The object, or the lack of one that was deleted.
    AsWritten,
    /// No object, although it was not deleted by this write: another client may have deleted it before the watch told
    /// of it. If the store never had it, no event tells of that.
    Missing,
}

impl Written {
    /// Reads the answer to `request`; `None` if it names no state to wait for: the request changes nothing, or the
    /// answer is about something else, such as an eviction.
    pub(super) fn read(request: &ApiRequest, response: &ApiResponse) -> Option<Self> {
        let is_dry_run = request.query.iter().any(|(name, _)| *name == "dryRun");
        if request.method == Method::Get || is_dry_run || !(200..300).contains(&response.status) {
            return None;
        }
        let object = Decoder::new(DecodeOptions::default()).item::<MetadataOnly>(&response.body, &ListMeta::default());
        match (request.method, object) {
            (Method::Delete, Ok(object)) => {
                Some(Self::Deleted { key: object.meta.key().clone(), uid: object.meta.uid()? })
            }
            (Method::Delete, Err(_)) => {
                let status = Status::read(response.status, &response.body);
                let key = Key::new(namespace_in(&request.path), status.name()?);
                Some(Self::Deleted { key, uid: status.uid()? })
            }
            (_, Ok(object)) if !object.meta.resource_version().is_empty() => Some(Self::Version(object.meta)),
            _ => None,
        }
    }

    /// Whether the informer's store can show the write, as far as the object's labels tell.
    pub(super) fn is_of<T>(&self, kind: &InformerHandle<T>) -> bool {
        self.is_selected(kind.resource()) || kind.contains(self.key())
    }

    /// An object that leaves the selection is shown as a deletion, if it was there before.
    fn is_selected(&self, resource: &Resource) -> bool {
        let selector = resource.label_selector().and_then(|selector| LabelSelector::parse(selector).ok());
        match (self, selector) {
            (Self::Version(meta), Some(selector)) => selector.matches(|name| meta.label(name)),
            _ => true,
        }
    }

    /// What the informer's store is to show.
    pub(super) fn expected_in<T: Send + Sync + 'static>(self, kind: &InformerHandle<T>) -> Expected {
        let (store, object, source) = (kind.store().clone(), self.key().clone(), kind.resource().path().into());
        let until = match self {
            Self::Version(meta) => Awaited::Version(meta.resource_version().into()),
            Self::Deleted { uid, .. } => Awaited::Gone(Some(uid)),
        };
        let write = Write { source, object, until };
        let awaited = write.clone();
        let shown = Arc::new(move || Box::pin(shown(store.clone(), awaited.clone())) as Shown);
        Expected { write, shown }
    }

    /// The object that was written.
    pub(super) fn key(&self) -> &Key {
        match self {
            Self::Version(meta) => meta.key(),
            Self::Deleted { key, .. } => key,
        }
    }
}

/// Waits until the store shows the write, or cannot: its informer was stopped, its versions have no order, or it does
/// not cover the object's namespace.
async fn shown<T>(store: Store<T>, write: Write) -> Sight {
    let known = match &write.until {
        Awaited::Version(version) => {
            store.await_version(&write.object, version).await.map(|()| store.get(&write.object))
        }
        Awaited::Gone(Some(uid)) => {
            _ = store.await_gone(&write.object, uid.clone()).await;
            return Sight::AsWritten;
        }
        Awaited::Gone(None) => return Sight::AsWritten,
    };
    if matches!(known, Ok(None)) { Sight::Missing } else { Sight::AsWritten }
}

/// The namespace in the path of an object: `/api/v1/namespaces/web/pods/a`, but not `/api/v1/namespaces/web`.
fn namespace_in(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once("/namespaces/")?;
    match rest.split('/').collect::<Vec<_>>()[..] {
        [namespace, _plural, _name, ..] => Some(namespace),
        _ => None,
    }
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
        let deleted = Some(Written::Deleted { key: "web/a".into(), uid: Uid::from("u-1") });
        let delete = pods().delete("a", &DeleteOptions::default());
        assert_eq!(read(&delete, 200, POD), deleted);
        let status = br#"{"kind":"Status","metadata":{},"status":"Success","details":{"name":"a","uid":"u-1"}}"#;
        assert_eq!(read(&delete, 200, status), deleted);
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
