use super::call::{self, ApiCall, ObjectList};
use super::{ApiError, ApiRequest, Method};
use crate::object::Uid;
use crate::request::{PercentEncoded, Resource};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The requests for the objects of one collection, as values of `T`.
///
/// ```
/// use listwatch_core::api::{Api, DeleteOptions, Patch};
/// use listwatch_core::Resource;
/// use serde_json::{Value, json};
///
/// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
/// let call = pods.patch("a", &Patch::Merge(&json!({ "metadata": { "labels": { "seen": "yes" } } })));
/// let request = call.request()?;
/// assert_eq!(request.to_string(), "/api/v1/namespaces/web/pods/a");
/// assert_eq!(request.content_type, Some("application/merge-patch+json"));
/// let deletion = DeleteOptions { uid: Some("7c9e".into()), ..DeleteOptions::default() };
/// assert_eq!(pods.delete("a", &deletion).request()?.method.name(), "DELETE");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Api<T> {
    path: Arc<str>,
    subresource: Option<&'static str>,
    types: PhantomData<fn() -> T>,
}

impl<T> Api<T> {
    /// The objects of a collection: of one namespace, where they have one. Selectors are not looked at.
    #[must_use]
    pub fn new(resource: &Resource) -> Self {
        Self { path: resource.path().into(), subresource: None, types: PhantomData }
    }

    /// The same objects, of which a change touches the status only.
    #[must_use]
    pub fn status(&self) -> Self {
        self.subresource("status")
    }

    /// How many of them there are to be.
    #[must_use]
    pub fn scale(&self) -> Api<Scale> {
        self.subresource("scale")
    }

    /// Another part of each object, which is a `U`.
    #[must_use]
    pub fn subresource<U>(&self, name: &'static str) -> Api<U> {
        Api { path: self.path.clone(), subresource: Some(name), types: PhantomData }
    }

    /// Deletes one. What the server says of it is not read: the object as it was, or a status.
    pub fn delete(&self, name: &str, deletion: &DeleteOptions) -> ApiCall<()> {
        let body = serde_json::to_vec(&deletion.options()).map_err(ApiError::from);
        ApiCall::new(self.write(Method::Delete, Some(name), "application/json", body), |_| Ok(()))
    }

    fn write(
        &self,
        method: Method,
        name: Option<&str>,
        content_type: &'static str,
        body: Result<Vec<u8>, ApiError>,
    ) -> Result<ApiRequest, ApiError> {
        let mut request = ApiRequest::new(method, self.target(name)?);
        request.content_type = Some(content_type);
        request.body = body?;
        Ok(request)
    }

    /// The path of an object, or of all.
    fn target(&self, name: Option<&str>) -> Result<String, ApiError> {
        let Some(name) = name else { return Ok((*self.path).to_owned()) };
        // Either would be another path.
        if matches!(name, "" | "." | "..") {
            return Err(ApiError::Unwritable(format!("`{name}` is no name of an object")));
        }
        let object = format!("{}/{}", self.path, PercentEncoded(name));
        Ok(self.subresource.map_or_else(|| object.clone(), |part| format!("{object}/{part}")))
    }
}

impl<T: DeserializeOwned> Api<T> {
    /// Reads one.
    pub fn get(&self, name: &str) -> ApiCall<T> {
        ApiCall::new(self.target(Some(name)).map(|path| ApiRequest::new(Method::Get, path)), call::object)
    }

    /// Reads all, or a page of them; selectors, a limit and a continue token go into the query. To keep up with a
    /// collection, use an informer.
    pub fn list(&self) -> ApiCall<ObjectList<T>> {
        ApiCall::new(self.target(None).map(|path| ApiRequest::new(Method::Get, path)), call::list)
    }

    /// Creates one.
    pub fn create(&self, object: &(impl Serialize + ?Sized)) -> ApiCall<T> {
        let body = serde_json::to_vec(object).map_err(ApiError::from);
        ApiCall::new(self.write(Method::Post, None, "application/json", body), call::object)
    }

    /// Replaces one. With a `resourceVersion` in its metadata it is a conflict if the object has changed since.
    pub fn replace(&self, name: &str, object: &(impl Serialize + ?Sized)) -> ApiCall<T> {
        let body = serde_json::to_vec(object).map_err(ApiError::from);
        ApiCall::new(self.write(Method::Put, Some(name), "application/json", body), call::object)
    }

    /// Changes a part of one.
    pub fn patch<B: Serialize + ?Sized>(&self, name: &str, patch: &Patch<'_, B>) -> ApiCall<T> {
        let (content_type, body) = match patch {
            Patch::Json(body) => ("application/json-patch+json", body),
            Patch::Merge(body) => ("application/merge-patch+json", body),
            Patch::Strategic(body) => ("application/strategic-merge-patch+json", body),
            // JSON is YAML.
            Patch::Apply { object, .. } => ("application/apply-patch+yaml", object),
        };
        let body = serde_json::to_vec(body).map_err(ApiError::from);
        let call = ApiCall::new(self.write(Method::Patch, Some(name), content_type, body), call::object);
        match patch {
            Patch::Apply { manager, force: false, .. } => call.with_query("fieldManager", *manager),
            Patch::Apply { manager, .. } => call.with_query("fieldManager", *manager).with_query("force", "true"),
            _ => call,
        }
    }
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Self {
        Self { path: self.path.clone(), subresource: self.subresource, types: PhantomData }
    }
}

/// A change of a part of an object.
#[derive(Clone, Copy, Debug)]
pub enum Patch<'a, B: ?Sized> {
    /// A list of operations (RFC 6902).
    Json(&'a B),
    /// What is to be different; null deletes (RFC 7386).
    Merge(&'a B),
    /// The same, with lists merged by their keys; not for custom resources.
    Strategic(&'a B),
    /// All that a manager of fields wants to be so (server-side apply).
    Apply {
        /// Who wants it.
        manager: &'a str,
        /// Whether to take fields away from other managers.
        force: bool,
        /// What, with `apiVersion`, `kind` and `metadata.name`.
        object: &'a B,
    },
}

/// How an object is deleted, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Only the object that has this uid, not another one of the same name.
    pub uid: Option<Uid>,
    /// Only the object in this version.
    pub resource_version: Option<String>,
    /// How long it has to shut down, in seconds; `None` for as long as its kind has.
    pub grace_period_seconds: Option<u32>,
    /// What happens to what it owns; `None` for what its kind does.
    pub propagation: Option<PropagationPolicy>,
}

/// What happens to what a deleted object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PropagationPolicy {
    /// It stays.
    Orphan,
    /// It is deleted afterwards.
    Background,
    /// It is deleted first.
    Foreground,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteBody<'a> {
    kind: &'static str,
    api_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    preconditions: Option<Preconditions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_period_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    propagation_policy: Option<PropagationPolicy>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preconditions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
}

impl DeleteOptions {
    fn options(&self) -> DeleteBody<'_> {
        let (uid, resource_version) = (self.uid.as_ref().map(Uid::to_string), self.resource_version.as_deref());
        let has_any = uid.is_some() || resource_version.is_some();
        DeleteBody {
            kind: "DeleteOptions",
            api_version: "v1",
            preconditions: has_any.then_some(Preconditions { uid, resource_version }),
            grace_period_seconds: self.grace_period_seconds,
            propagation_policy: self.propagation,
        }
    }
}

/// How many there are to be, and are (`autoscaling/v1`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scale {
    /// Of which object.
    pub metadata: serde_json::Value,
    /// How many there are to be.
    pub spec: ScaleSpec,
    /// How many there are.
    pub status: ScaleStatus,
}

/// How many there are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleSpec {
    /// The number.
    pub replicas: u32,
}

/// How many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// The number.
    pub replicas: u32,
    /// By which labels they are found.
    pub selector: String,
}
