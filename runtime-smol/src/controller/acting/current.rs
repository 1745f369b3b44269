//! An object as far as it is known.

use super::error::ActError;
use crate::informers::Found;
use core::any::Any;
use listwatch_core::api::ApiError;
use serde_json::Value;
use std::borrow::Cow;

pub(super) struct Current<T> {
    pub(super) object: Found<T>,
    /// All of it, if the server sent it.
    pub(super) body: Option<Vec<u8>>,
}

impl<T: 'static> Current<T> {
    /// The object as its cache has it.
    pub(super) fn cached(object: Found<T>) -> Self {
        Self { object, body: None }
    }

    /// All of the object as JSON, if the server sent it, or the type is JSON.
    pub(super) fn raw(&self) -> Result<Option<Cow<'_, Value>>, ActError> {
        let Some(body) = &self.body else {
            // A list and watch of metadata shows no more of an object.
            let is_whole = !self.object.informer().resource().is_metadata_only();
            let value: &dyn Any = &**self.object.object();
            return Ok(value.downcast_ref::<Value>().filter(|_| is_whole).map(Cow::Borrowed));
        };
        let unreadable = |error: serde_json::Error| ApiError::Unreadable(error.to_string());
        let raw = serde_json::from_slice(body).map_err(unreadable);
        raw.map(|raw| Some(Cow::Owned(raw))).map_err(|error| ActError::of_request(self.object.key(), error))
    }
}
