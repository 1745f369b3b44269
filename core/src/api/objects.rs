use super::call::{self, ApiCall, ObjectList};
use super::{ApiError, ApiRequest, Method};
use crate::object::Uid;
use crate::request::{PercentEncoded, Resource};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::marker::PhantomData;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The requests for the objects of one collection, each as a value; objects are read as `T` (kube-rs `Api`).
///
/// To [replace](Self::replace) an object, read it as `serde_json::Value`, or as a type that keeps its whole `metadata`.
/// The server drops each field that the new object leaves out, and without `resourceVersion` it detects no conflict.
/// [`Raw`](crate::decode::Raw) is a type for informers: with `Api<Raw>`, each answer is an [`ApiError::Unreadable`].
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
/// let options = DeleteOptions::default().with_uid("7c9e6679-7425-40de-944b-e07fc1f90ae7");
/// assert_eq!(pods.delete("a", &options).request()?.method.name(), "DELETE");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Api<T> {
    resource: Resource,
    subresource: Option<&'static str>,
    types: PhantomData<fn() -> T>,
}

impl<T> Api<T> {
    /// The requests for a collection, of one namespace if `resource` names one. Its selectors are those of
    /// [`list`](Self::list).
    pub fn new(resource: &Resource) -> Self {
        Self { resource: resource.clone(), subresource: None, types: PhantomData }
    }

    /// The status subresource: a change through it touches the status alone.
    pub fn status(&self) -> Self {
        self.subresource("status")
    }

    /// The scale subresource: how many replicas an object has.
    pub fn scale(&self) -> Api<Scale> {
        self.subresource("scale")
    }

    /// Another subresource, which is read as `U`.
    pub fn subresource<U>(&self, name: &'static str) -> Api<U> {
        Api { resource: self.resource.clone(), subresource: Some(name), types: PhantomData }
    }

    /// Deletes an object. The body of the answer, the last state or a `Status`, is not read.
    pub fn delete(&self, name: &str, options: &DeleteOptions) -> ApiCall<()> {
        let body = serde_json::to_vec(&options.body()).map_err(ApiError::from);
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

    /// The path of an object, or of the collection.
    fn target(&self, name: Option<&str>) -> Result<String, ApiError> {
        let Some(name) = name else { return Ok(self.resource.path().to_owned()) };
        // Each of these would be another path.
        if matches!(name, "" | "." | "..") {
            return Err(ApiError::Unwritable(format!("`{name}` is no name of an object")));
        }
        let object = format!("{}/{}", self.resource.path(), PercentEncoded(name));
        Ok(self.subresource.map_or_else(|| object.clone(), |part| format!("{object}/{part}")))
    }
}

impl<T: DeserializeOwned> Api<T> {
    /// Reads an object.
    pub fn get(&self, name: &str) -> ApiCall<T> {
        ApiCall::new(self.target(Some(name)).map(|path| ApiRequest::new(Method::Get, path)), call::object)
    }

    /// Lists what the selectors of the resource select, or a page of it: a limit and a continue token go into the query
    /// ([`ApiCall::with_query`]). To follow a collection, use an [`Informer`](crate::Informer).
    pub fn list(&self) -> ApiCall<ObjectList<T>> {
        let call = ApiCall::new(self.target(None).map(|path| ApiRequest::new(Method::Get, path)), call::list);
        let (labels, fields) = (self.resource.label_selector(), self.resource.field_selector());
        let selectors = [("labelSelector", labels), ("fieldSelector", fields)];
        let selectors = selectors.into_iter().filter_map(|(name, text)| Some((name, text?)));
        selectors.fold(call, |call, (name, text)| call.with_query(name, text))
    }

    /// Creates an object.
    pub fn create(&self, object: &(impl Serialize + ?Sized)) -> ApiCall<T> {
        let body = serde_json::to_vec(object).map_err(ApiError::from);
        ApiCall::new(self.write(Method::Post, None, "application/json", body), call::object)
    }

    /// Replaces an object. If its metadata has a `resourceVersion` and the object has changed since, the server answers
    /// with a conflict.
    pub fn replace(&self, name: &str, object: &(impl Serialize + ?Sized)) -> ApiCall<T> {
        let body = serde_json::to_vec(object).map_err(ApiError::from);
        ApiCall::new(self.write(Method::Put, Some(name), "application/json", body), call::object)
    }

    /// Changes a part of an object.
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
        Self { resource: self.resource.clone(), subresource: self.subresource, types: PhantomData }
    }
}

/// How the server deletes an object, and under which conditions (`meta/v1` `DeleteOptions`).
///
/// ```
/// use listwatch_core::api::{DeleteOptions, PropagationPolicy};
///
/// let options = DeleteOptions::default()
///     .with_uid("7c9e6679-7425-40de-944b-e07fc1f90ae7")
///     .with_propagation(PropagationPolicy::Foreground);
/// assert_eq!(options.grace_period_seconds, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct DeleteOptions {
    /// If set, the server deletes the object only while it has this uid, and never its successor of the same name.
    pub uid: Option<Uid>,
    /// If set, the server deletes the object only in this version.
    pub resource_version: Option<String>,
    /// The seconds that the object has to shut down; `None` for the default of its kind.
    pub grace_period_seconds: Option<u32>,
    /// The policy for its dependents; `None` for the default of its kind.
    pub propagation: Option<PropagationPolicy>,
}

/// The policy for the dependents of a deleted object (`meta/v1` `DeletionPropagation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum PropagationPolicy {
    /// The dependents stay.
    Orphan,
    /// The dependents are deleted after the object.
    Background,
    /// The dependents are deleted before the object.
    Foreground,
}

impl DeleteOptions {
    /// Deletes the object only while it has this uid.
    pub fn with_uid(mut self, uid: impl Into<Uid>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// Deletes the object only in this version.
    pub fn with_resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// Gives the object this many seconds to shut down.
    pub fn with_grace_period(mut self, seconds: u32) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }

    /// Sets the policy for the object's dependents.
    pub fn with_propagation(mut self, policy: PropagationPolicy) -> Self {
        self.propagation = Some(policy);
        self
    }

    /// The body of the request.
    pub(super) fn body(&self) -> impl Serialize + '_ {
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

/// A change of a part of an object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Patch<'a, B: ?Sized> {
    /// A list of operations: JSON Patch (RFC 6902).
    Json(&'a B),
    /// The fields that change; `null` deletes one: JSON Merge Patch (RFC 7386).
    Merge(&'a B),
    /// A merge patch that merges lists by their keys. A server refuses it for custom resources.
    Strategic(&'a B),
    /// All fields that a field manager owns: server-side apply.
    Apply {
        /// The name of the field manager.
        manager: &'a str,
        /// Whether the manager takes fields that other managers own.
        force: bool,
        /// The fields, with `apiVersion`, `kind` and `metadata.name`.
        object: &'a B,
    },
}

/// The replicas of an object, wanted and present (`autoscaling/v1` `Scale`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scale {
    /// The metadata of the scaled object.
    pub metadata: serde_json::Value,
    /// The replicas that are wanted.
    pub spec: ScaleSpec,
    /// The replicas that are present.
    pub status: ScaleStatus,
}

/// The replicas that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleSpec {
    /// Their number.
    pub replicas: u32,
}

/// The replicas that are present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// Their number.
    pub replicas: u32,
    /// The label selector that finds them.
    pub selector: String,
}
