//! What a reconcile sees of its key: in the caches, or on the server itself.

use super::kinds::{Deployment, Foo};
use listwatch_core::object::ObjectHandle;
use serde_json::Value;

/// The objects that a key is about.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) foo: Option<SeenFoo>,
    pub(super) deployment: Option<SeenDeployment>,
}

#[derive(Clone, Debug)]
pub(super) struct SeenFoo {
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) replicas: u64,
    pub(super) setting: String,
    pub(super) seen: Option<i64>,
}

#[derive(Clone, Debug)]
pub(super) struct SeenDeployment {
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) owner: Option<String>,
    pub(super) spec: Value,
}

impl From<&ObjectHandle<Foo>> for SeenFoo {
    fn from(foo: &ObjectHandle<Foo>) -> Self {
        Self {
            uid: foo.meta().uid().map(|uid| uid.to_string()).unwrap_or_default(),
            generation: foo.meta().generation(),
            replicas: foo.spec.replicas,
            setting: foo.spec.setting.clone(),
            seen: foo.status.seen,
        }
    }
}

impl From<&Value> for SeenFoo {
    fn from(foo: &Value) -> Self {
        Self {
            uid: text(&foo["metadata"]["uid"]),
            generation: foo["metadata"]["generation"].as_i64().unwrap_or_default(),
            replicas: foo["spec"]["replicas"].as_u64().unwrap_or_default(),
            setting: text(&foo["spec"]["setting"]),
            seen: foo["status"]["seen"].as_i64(),
        }
    }
}

impl From<&ObjectHandle<Deployment>> for SeenDeployment {
    fn from(deployment: &ObjectHandle<Deployment>) -> Self {
        let meta = deployment.meta();
        Self {
            uid: meta.uid().map(|uid| uid.to_string()).unwrap_or_default(),
            version: meta.resource_version().to_owned(),
            owner: meta.owner_references().next().map(|owner| owner.uid.map(|uid| uid.to_string()).unwrap_or_default()),
            spec: deployment.spec.clone(),
        }
    }
}

impl From<&Value> for SeenDeployment {
    fn from(deployment: &Value) -> Self {
        let metadata = &deployment["metadata"];
        Self {
            uid: text(&metadata["uid"]),
            version: text(&metadata["resourceVersion"]),
            owner: metadata["ownerReferences"][0]["uid"].as_str().map(str::to_owned),
            spec: deployment["spec"].clone(),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
