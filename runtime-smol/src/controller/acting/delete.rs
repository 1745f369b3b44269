use super::error::ActError;
use super::newest::{is_gone, newest, unless_gone};
use crate::controller::context::Context;
use crate::informers::Found;
use core::fmt;
use core::pin::Pin;
use listwatch_core::api::{DeleteOptions, PropagationPolicy};
use serde::de::DeserializeOwned;

/// The deletion of an object: [`Context::delete`](crate::controller::Context::delete). It is sent when it is awaited.
#[must_use = "nothing is deleted until it is awaited"]
pub struct Delete<'a, T> {
    cx: &'a Context,
    object: &'a Found<T>,
    options: DeleteOptions,
}

impl Context {
    /// Deletes this object, and never another one of its name: the request has its uid. An object that is gone already is
    /// no error. As with [`write`](Self::write), the key that is reconciled waits until the store shows it.
    pub fn delete<'a, T>(&'a self, object: &'a Found<T>) -> Delete<'a, T> {
        let mut options = DeleteOptions::default();
        options.uid = object.meta().uid();
        Delete { cx: self, object, options }
    }
}

impl<T> Delete<'_, T> {
    /// Deletes the object only if it has not changed since it was read. Otherwise it is a conflict.
    pub fn if_unchanged(mut self) -> Self {
        self.options = self.options.with_resource_version(self.object.meta().resource_version());
        self
    }

    /// Sets the policy for the object's dependents.
    pub fn with_propagation(mut self, policy: PropagationPolicy) -> Self {
        self.options = self.options.with_propagation(policy);
        self
    }

    /// Gives the object this many seconds to shut down.
    pub fn with_grace_period(mut self, seconds: u32) -> Self {
        self.options = self.options.with_grace_period(seconds);
        self
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Delete<'a, T> {
    type Output = Result<(), ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { cx, object, options } = self;
            let (informer, key) = (object.informer(), object.key());
            if options.uid.is_none() {
                return Err(ActError::refused(
                    key,
                    "the object has no uid, by which the server tells it from another one",
                ));
            }
            let deleted = cx.write(informer, informer.api_for::<T>(key).delete(key.name(), &options)).await;
            match deleted.map_err(|error| ActError::of_request(key, error)) {
                Err(error) if is_gone(&error) => Ok(()),
                // Another object has the name, or this one has changed.
                Err(error) if error.is_conflict() => match unless_gone(newest(cx, object).await) {
                    Ok(None) => Ok(()),
                    _ => Err(error),
                },
                deleted => deleted,
            }
        })
    }
}

impl<T> fmt::Debug for Delete<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delete").field("key", self.object.key()).finish_non_exhaustive()
    }
}
