use super::call::{self, ApiCall, ObjectList};
use super::{ApiError, ApiRequest, DeleteOptions, Method, Patch, Scale};
use crate::request::{PercentEncoded, Resource};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
pub struct Api<T> {
    path: Arc<str>,
    subresource: Option<&'static str>,
    types: PhantomData<fn() -> T>,
}

impl<T> Api<T> {
    /// The requests for a collection, of one namespace if `resource` names one. The resource's selectors are ignored.
    #[must_use]
    pub fn new(resource: &Resource) -> Self {
        Self { path: resource.path().into(), subresource: None, types: PhantomData }
    }

    /// The status subresource: a change through it touches the status alone.
    #[must_use]
    pub fn status(&self) -> Self {
        self.subresource("status")
    }

    /// The scale subresource: how many replicas an object has.
    #[must_use]
    pub fn scale(&self) -> Api<Scale> {
        self.subresource("scale")
    }

    /// Another subresource, which is read as `U`.
    #[must_use]
    pub fn subresource<U>(&self, name: &'static str) -> Api<U> {
        Api { path: self.path.clone(), subresource: Some(name), types: PhantomData }
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
        let Some(name) = name else { return Ok((*self.path).to_owned()) };
        // Each of these would be another path.
        if matches!(name, "" | "." | "..") {
            return Err(ApiError::Unwritable(format!("`{name}` is no name of an object")));
        }
        let object = format!("{}/{}", self.path, PercentEncoded(name));
        Ok(self.subresource.map_or_else(|| object.clone(), |part| format!("{object}/{part}")))
    }
}

impl<T: DeserializeOwned> Api<T> {
    /// Reads an object.
    pub fn get(&self, name: &str) -> ApiCall<T> {
        ApiCall::new(self.target(Some(name)).map(|path| ApiRequest::new(Method::Get, path)), call::object)
    }

    /// Lists the collection, or a page of it. Selectors, a limit and a continue token go into the query
    /// ([`ApiCall::with_query`]). To follow a collection, use an [`Informer`](crate::Informer).
    pub fn list(&self) -> ApiCall<ObjectList<T>> {
        ApiCall::new(self.target(None).map(|path| ApiRequest::new(Method::Get, path)), call::list)
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
        Self { path: self.path.clone(), subresource: self.subresource, types: PhantomData }
    }
}
