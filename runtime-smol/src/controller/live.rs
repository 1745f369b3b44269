use super::context::Context;
use super::written::{version_in, version_of};
use crate::informers::{Found, InformerHandle};
use core::fmt;
use listwatch_core::Key;
use listwatch_core::api::ApiError;
use serde::de::DeserializeOwned;

/// Reads past the cache; see [`Context::live`](super::Context::live).
pub struct Live<'a>(&'a Context);

impl Context {
    /// Reads from the server, past the cache. A reconcile that must not act on an old state does so, for example before
    /// it deletes.
    #[must_use]
    pub fn live(&self) -> Live<'_> {
        Live(self)
    }
}

impl Live<'_> {
    /// The object as the server has it now; `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Client::call`](crate::Client::call), except for an object that does not exist.
    pub async fn get<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        kind: &InformerHandle<T>,
        key: impl Into<Key>,
    ) -> Result<Option<Found<T>>, ApiError> {
        match self.read(kind, &key.into()).await {
            Ok((object, _)) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The object and all of its JSON.
    pub(super) async fn read<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        kind: &InformerHandle<T>,
        key: &Key,
    ) -> Result<(Found<T>, Vec<u8>), ApiError> {
        let get = kind.api_for::<T>(key).get(key.name()).with_meta();
        let (get, response) = self.0.respond(kind, get).await?;
        let read = get.read(&response);
        // The server has the object, whether or not it can be read as a `T`.
        let version = read.as_ref().map_or_else(|_| version_in(&response), |object| version_of(&object.meta));
        if let Some(version) = version {
            self.0.saw(kind, key, version);
        }
        Ok((Found::new(read?.into(), kind), response.body))
    }
}

impl fmt::Debug for Live<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}
