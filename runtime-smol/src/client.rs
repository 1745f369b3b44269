//! Requests to an API server that no executor waits for.

use crate::clock::Clock;
use core::fmt;
use listwatch_core::{ApiCall, ApiClient, ApiError, ConflictRetry};
use std::sync::Arc;

/// An [`ApiClient`] whose answers are awaited: it is asked on threads of smol's, so that no task stands still meanwhile.
///
/// ```
/// use listwatch_runtime_smol::{Api, ApiClient, ApiRequest, ApiResponse, Client, Clock, Executor, Resource, run};
/// use listwatch_runtime_smol::TransportError;
/// use serde_json::{Value, json};
///
/// /// In a program, `cluster.client()?`.
/// struct OnePod;
///
/// impl ApiClient for OnePod {
///     fn send(&self, _request: &ApiRequest) -> Result<ApiResponse, TransportError> {
///         Ok(ApiResponse::new(200, br#"{"metadata":{"name":"a"}}"#))
///     }
/// }
///
/// let clock = Clock::real();
/// let client = Client::new(OnePod, clock.clone());
/// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
/// let pod = run(&clock, &Executor::new(), client.call(pods.get("a")))?;
/// assert_eq!(pod, json!({ "metadata": { "name": "a" } }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    client: Arc<dyn ApiClient + Send + Sync>,
    clock: Clock,
}

impl Client {
    /// Asks by way of `client`, and waits by `clock`.
    #[must_use]
    pub fn new(client: impl ApiClient + Send + Sync + 'static, clock: Clock) -> Self {
        Self { client: Arc::new(client), clock }
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// Where the server cannot be asked, refuses, or answers with something else.
    pub async fn call<T>(&self, call: ApiCall<T>) -> Result<T, ApiError> {
        let (client, request) = (Arc::clone(&self.client), call.request()?.clone());
        let response = smol::unblock(move || client.send(&request)).await?;
        call.read(&response)
    }

    /// Does `change` until it meets no conflict, as often as `retry` says: it reads an object, changes it, and replaces
    /// it.
    ///
    /// # Errors
    /// Those of the last `change`.
    pub async fn retry_on_conflict<T, F>(
        &self,
        mut retry: ConflictRetry,
        mut change: impl FnMut() -> F,
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        loop {
            match change().await {
                Err(error) => match retry.again(&error) {
                    Some(wait) => self.clock.sleep(wait).await,
                    None => return Err(error),
                },
                done => return done,
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Executor, run};
    use listwatch_core::{Api, ApiRequest, ApiResponse, Method, Resource, TransportError};
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A server on which somebody else is quicker, so many times.
    struct Contended(AtomicU32);

    impl ApiClient for Contended {
        fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
            let quicker =
                || self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
            Ok(match request.method {
                Method::Put if quicker() => {
                    ApiResponse::new(409, br#"{"kind":"Status","reason":"Conflict","code":409}"#)
                }
                _ => ApiResponse::new(200, br#"{"metadata":{"name":"a","resourceVersion":"7"}}"#),
            })
        }
    }

    fn replace(conflicts: u32) -> Result<Value, ApiError> {
        let clock = Clock::real();
        let client = Client::new(Contended(conflicts.into()), clock.clone());
        let pods = Api::<Value>::new(&Resource::new("/api/v1/namespaces/web/pods"));
        let (client, pods) = (&client, &pods);
        run(&clock, &Executor::new(), async {
            let change = || async {
                let mut pod = client.call(pods.get("a")).await?;
                pod["metadata"]["labels"] = json!({ "seen": "yes" });
                client.call(pods.replace("a", &pod)).await
            };
            client.retry_on_conflict(ConflictRetry::new(1), change).await
        })
    }

    #[test]
    fn a_change_that_meets_a_conflict_is_made_again_but_not_for_ever() {
        assert_eq!(replace(0).unwrap()["metadata"]["name"], "a");
        assert_eq!(replace(4).unwrap()["metadata"]["name"], "a");
        assert!(replace(5).is_err_and(|error| error.is_conflict()));
    }
}
