//! A step between the deletion of an object and its end.

use super::error::ActError;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::informers::Found;
use listwatch_core::api::{ApiError, ConflictRetry, Patch};
use serde::de::DeserializeOwned;
use serde_json::json;

impl Context {
    /// Keeps a finalizer on an object, and cleans up when it is deleted (kube-rs `finalizer`).
    ///
    /// It returns the object once it has the finalizer, so what is to be cleaned up is made only then. It returns `None` if
    /// the object is being deleted: then there is nothing more to do. An object with the finalizer is read from the server,
    /// `clean_up` is called, and the finalizer removed.
    ///
    /// If the removal fails, it is made again without `clean_up`, as long as the process lives. If the process dies between
    /// the two, the next one calls `clean_up` again, so it must not fail where nothing is left to do.
    ///
    /// `name` is a domain and a word, such as `example.com/bucket`.
    ///
    /// ```
    /// use listwatch_runtime_smol::Found;
    /// use listwatch_runtime_smol::controller::{Context, Outcome, Reconciled};
    /// use listwatch_runtime_smol::decode::MetadataOnly;
    ///
    /// async fn reconcile(cx: &Context, foo: &Found<MetadataOnly>) -> Reconciled {
    ///     let clean_up = async |foo: &Found<MetadataOnly>| {
    ///         println!("deleting the bucket of {}", foo.key());
    ///         Ok(())
    ///     };
    ///     let Some(_foo) = cx.finalizer(foo, "example.com/bucket", clean_up).await? else { return Ok(Outcome::Done) };
    ///     // Here the bucket is made.
    ///     Ok(Outcome::Done)
    /// }
    /// ```
    ///
    /// # Errors
    /// That of `clean_up`, and [`ActError`].
    pub async fn finalizer<T>(
        &self,
        object: &Found<T>,
        name: &str,
        clean_up: impl AsyncFnOnce(&Found<T>) -> Result<(), Error>,
    ) -> Result<Option<Found<T>>, Error>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        finalize(self, object, name, clean_up).await
    }
}

/// Adds the finalizer to an object that lives; cleans up and removes it from one that is being deleted.
async fn finalize<T>(
    cx: &Context,
    object: &Found<T>,
    name: &str,
    clean_up: impl AsyncFnOnce(&Found<T>) -> Result<(), Error>,
) -> Result<Option<Found<T>>, Error>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    match (object.is_terminating(), has(object, name)) {
        (false, true) => Ok(Some(object.clone())),
        (true, false) => Ok(None),
        (false, false) => add(cx, object, name).await.map_err(Error::from),
        (true, true) => {
            // The cache may not show yet that another run has cleaned up.
            let live = live(cx, object).await?.filter(|live| has(live, name));
            if let Some(live) = live {
                if !cx.cleaned().contains(object, name) {
                    clean_up(&live).await?;
                    cx.cleaned().insert(object, name);
                }
                remove(cx, live, name).await?;
            }
            cx.cleaned().remove(object, name);
            Ok(None)
        }
    }
}

/// The object with the finalizer; none if it is being deleted meanwhile.
async fn add<T>(cx: &Context, object: &Found<T>, name: &str) -> Result<Option<Found<T>>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let (mut newest, mut retry) = (object.clone(), ConflictRetry::new(0));
    loop {
        let finalizers = newest.meta().finalizers().chain([name]).collect();
        match set(cx, &newest, finalizers).await {
            Ok(changed) => return Ok(Some(changed)),
            Err(error) => wait_for_next(cx, &mut retry, error).await?,
        }
        match live(cx, object).await? {
            Some(live) if live.is_terminating() => return Ok(None),
            Some(live) if has(&live, name) => return Ok(Some(live)),
            Some(live) => newest = live,
            None => return Ok(None),
        }
    }
}

/// What was cleaned up is not cleaned up again, whatever conflicts follow.
async fn remove<T>(cx: &Context, live_now: Found<T>, name: &str) -> Result<(), ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let (mut newest, mut retry) = (live_now, ConflictRetry::new(0));
    loop {
        let finalizers = newest.meta().finalizers().filter(|known| *known != name).collect();
        match set(cx, &newest, finalizers).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => wait_for_next(cx, &mut retry, error).await?,
        }
        match live(cx, &newest).await? {
            Some(live) if has(&live, name) => newest = live,
            _ => return Ok(()),
        }
    }
}

async fn set<T>(cx: &Context, object: &Found<T>, finalizers: Vec<&str>) -> Result<Found<T>, ApiError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let (informer, version) = (object.informer(), object.meta().resource_version());
    let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
    let call = informer.api_for::<T>(object.key()).patch(object.meta().name(), &Patch::Merge(&patch));
    let call = call.with_query("fieldManager", cx.field_manager());
    Ok(Found::new(cx.write(informer, call.with_meta()).await?.into(), informer))
}

/// Waits before the next attempt; an error that is no conflict ends them.
async fn wait_for_next(cx: &Context, retry: &mut ConflictRetry, error: ApiError) -> Result<(), ApiError> {
    match retry.again(&error) {
        Some(wait) => {
            cx.clock().sleep(wait).await;
            Ok(())
        }
        None => Err(error),
    }
}

/// The same object as the server has it now; none if it is gone.
async fn live<T>(cx: &Context, object: &Found<T>) -> Result<Option<Found<T>>, ApiError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let live = cx.live().get(object.informer(), object.key()).await?;
    Ok(live.filter(|live| live.meta().uid() == object.meta().uid()))
}

fn has<T>(object: &Found<T>, name: &str) -> bool {
    object.meta().finalizers().any(|known| known == name)
}
