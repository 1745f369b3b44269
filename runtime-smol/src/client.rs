//! Requests to an API server that no executor waits for.

mod blocking;
mod pending;

use crate::clock::Clock;
use blocking::Blocking;
use core::fmt;
use core::time::Duration;
use listwatch_core::api::{ApiCall, ApiClient, ApiError, ApiTransport, Calls, ConflictRetry};
use pending::Pending;
use std::sync::{Arc, Mutex};

/// A client whose answers are awaited. Tasks share one: a clone is the same client.
///
/// A call has 30 s on the clock, unless [`with_timeout`](Self::with_timeout) or [`ApiCall::with_timeout`] says otherwise. It
/// is given up at its deadline and when its future is dropped; over HTTP its connection is closed then. A change that was
/// given up may have been made all the same.
///
/// The transport decides whether simulated time passes ([`Clock::outside`]). While a real server is asked, it stands still,
/// and the transport's own limits end the request. Recordings, simulated servers and functions answer in simulated time,
/// deadlines included.
///
/// ```
/// use listwatch_runtime_smol::api::{Api, ApiFn, ApiRequest, ApiResponse};
/// use listwatch_runtime_smol::{Client, Clock, Executor, Resource, run};
/// use serde_json::{Value, json};
///
/// // In a program: `cluster.client()?`.
/// let server = ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *br#"{"metadata":{"name":"a"}}"#)));
///
/// let clock = Clock::simulated();
/// let client = Client::new(server, clock.clone());
/// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
/// let pod = run(&clock, &Executor::new(), client.call(pods.get("a")))?;
/// assert_eq!(pod, json!({ "metadata": { "name": "a" } }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    calls: Arc<Mutex<OpenCalls>>,
    clock: Clock,
    timeout: Option<Duration>,
}

/// What the clones of a client share.
type OpenCalls = Calls<Box<dyn ApiTransport + Send>>;

impl Client {
    /// Asks by way of `transport`, and waits by `clock`. Where the transport panics, its call fails and the others go on; it
    /// is polled under a lock, so it must not use this client.
    #[must_use]
    pub fn new(transport: impl ApiTransport + Send + 'static, clock: Clock) -> Self {
        Self { calls: Arc::new(Mutex::new(Calls::new(Box::new(transport)))), clock, timeout: None }
    }

    /// Asks a client that blocks, on threads of smol's. What it does is outside of simulated time; a call that is given up
    /// is not heard any more, and goes on until the blocking client ends it.
    #[must_use]
    pub fn from_blocking(client: impl ApiClient + Send + Sync + 'static, clock: Clock) -> Self {
        Self::new(Blocking::new(client), clock)
    }

    /// How long a call may take that says nothing else, instead of 30 s; [`Duration::MAX`] for as long as the transport
    /// likes.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// Where the server cannot be asked, refuses, answers too late, or answers with something else.
    pub async fn call<T>(&self, call: ApiCall<T>) -> Result<T, ApiError> {
        let timeout = call.timeout().or(self.timeout);
        let response = Pending::open(&self.calls, &self.clock, call.request()?, timeout).await?;
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
mod tests;
