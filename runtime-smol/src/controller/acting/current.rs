//! An object as far as it is known.

use super::error::ActError;
use crate::informers::Found;
use listwatch_core::api::ApiError;
use serde_json::Value;

pub(super) struct Current<T> {
    pub(super) object: Found<T>,
    /// All of it, if the server sent it.
    pub(super) body: Option<Vec<u8>>,
}

impl<T> Current<T> {
    /// All of the object as JSON, if the server sent it.
    pub(super) fn raw(&self) -> Result<Option<Value>, ActError> {
        let Some(body) = &self.body else { return Ok(None) };
        let unreadable = |error: serde_json::Error| ApiError::Unreadable(error.to_string());
        let raw = serde_json::from_slice(body).map_err(unreadable);
        raw.map(Some).map_err(|error| ActError::of_request(self.object.key(), error))
    }
}
