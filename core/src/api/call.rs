use super::{ApiClient, ApiError, ApiRequest, ApiResponse, RequestLine};
use crate::decode::{DecodeOptions, Decoder, ListMeta, Status};
use crate::object::Object;
use crate::request::is_confidential;
use crate::text::WITHHELD;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A request, and how its answer is read. [`send`](Self::send) does both. A caller with its own transport sends
/// [`request`](Self::request) and passes the answer to [`read`](Self::read).
#[must_use = "a call does nothing until it is sent"]
pub struct ApiCall<T> {
    request: Result<ApiRequest, ApiError>,
    read: fn(&[u8]) -> Result<T, String>,
    timeout: Option<Duration>,
}

/// A list, or a page of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectList<T> {
    /// Version and continue token.
    pub meta: ListMeta,
    /// The objects.
    pub items: Vec<T>,
}

impl<T> ApiCall<T> {
    pub(super) fn new(request: Result<ApiRequest, ApiError>, read: fn(&[u8]) -> Result<T, String>) -> Self {
        Self { request, read, timeout: None }
    }

    /// Adds a parameter, such as `labelSelector`, `limit`, `continue`, `fieldManager` or `fieldValidation`.
    pub fn with_query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Ok(request) = &mut self.request {
            request.query.push((name, value.into()));
        }
        self
    }

    /// Lets the server check the request and persist nothing.
    pub fn with_dry_run(self) -> Self {
        self.with_query("dryRun", "All")
    }

    /// Changes the request in a way for which this type has no method.
    pub fn map_request(mut self, change: impl FnOnce(ApiRequest) -> ApiRequest) -> Self {
        self.request = self.request.map(change);
        self
    }

    /// Sets a time limit for this call, instead of the one of its [`Calls`](super::Calls).
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The time limit of this call, if it has its own.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Reads the answer's metadata too, beside the value: key, uid, version, owners.
    pub fn with_meta(self) -> ApiCall<Object<T>>
    where
        T: DeserializeOwned,
    {
        ApiCall { request: self.request, timeout: self.timeout, read: object_and_meta }
    }

    /// The request to send.
    ///
    /// # Errors
    /// [`ApiError::Unwritable`] if the body cannot be written as JSON, or a name does not fit into a path.
    pub fn request(&self) -> Result<&ApiRequest, ApiError> {
        self.request.as_ref().map_err(Clone::clone)
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// [`ApiError::Status`] for a status outside 200 to 299, [`ApiError::Unreadable`] for a body that is not a `T`.
    pub fn read(&self, response: &ApiResponse) -> Result<T, ApiError> {
        let line = || self.request.as_ref().ok().map(ApiRequest::line);
        checked(response, line)?;
        (self.read)(&response.body).map_err(|why| {
            let which = line().map(|line| format!("{line}: ")).unwrap_or_default();
            let is_secret = self.request.as_ref().is_ok_and(|request| is_confidential(&request.path));
            let why = if is_secret { WITHHELD } else { &*why };
            ApiError::Unreadable(format!("{which}{why}"))
        })
    }

    /// Sends the request, and blocks until the answer has arrived. The client's time limit counts, not the call's.
    ///
    /// # Errors
    /// Those of [`request`](Self::request) and [`read`](Self::read), and [`ApiError::Transport`] if no complete answer
    /// arrived.
    pub fn send(&self, client: &(impl ApiClient + ?Sized)) -> Result<T, ApiError> {
        let request = self.request()?;
        let response = client.send(request).map_err(|error| error.of_request(request.line()))?;
        self.read(&response)
    }
}

impl<T> fmt::Debug for ApiCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ApiCall").field(&self.request).finish()
    }
}

/// An error unless the status of the answer is a success. It names the request, if that is known.
pub(super) fn checked(response: &ApiResponse, request: impl FnOnce() -> Option<RequestLine>) -> Result<(), ApiError> {
    if (200..300).contains(&response.status) {
        return Ok(());
    }
    let status = Box::new(Status::read(response.status, &response.body));
    Err(ApiError::Status { status, request: request().map(Box::new), retry_after: response.retry_after })
}

pub(super) fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn object_and_meta<T: DeserializeOwned>(body: &[u8]) -> Result<Object<T>, String> {
    let decoded = Decoder::new(DecodeOptions::default()).item(body, &ListMeta::default());
    decoded.map_err(|error| error.to_string())
}

pub(super) fn list<T: DeserializeOwned>(body: &[u8]) -> Result<ObjectList<T>, String> {
    #[derive(Deserialize)]
    #[serde(bound = "T: DeserializeOwned")]
    struct List<'a, T> {
        #[serde(borrow)]
        metadata: Option<&'a RawValue>,
        // Required, but may be null.
        #[serde(deserialize_with = "Option::deserialize")]
        items: Option<Vec<T>>,
    }
    let list: List<'_, T> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut meta = ListMeta::default();
    if let Some(metadata) = list.metadata {
        meta.read_field(b"metadata", metadata.get().as_bytes());
    }
    Ok(ObjectList { meta, items: list.items.unwrap_or_default() })
}
