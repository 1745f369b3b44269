//! Single requests to an API server, by futures.

mod blocking;
#[cfg(feature = "definitions")]
mod define;
mod gate;
mod pending;

use crate::clock::Clock;
use crate::mutex::Mutex;
use blocking::Blocking;
use core::time::Duration;
#[cfg(feature = "definitions")]
pub use define::DefineError;
use gate::Entry;
pub(crate) use gate::{Gate, OpenWrite};
#[cfg(feature = "file")]
use listwatch_core::api::ApiFn;
use listwatch_core::api::{
    ApiCall, ApiClient, ApiError, ApiRequest, ApiResponse, ApiTransport, Calls, ConflictRetry, Method,
};
use listwatch_core::transport::TransportError;
#[cfg(feature = "file")]
use listwatch_transport_file::Tape;
use pending::{OpenCalls, Pending};
pub(crate) use pending::{Requests, Sender, Unanswered};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a server has to tell its identity.
const IDENTIFIED: Duration = Duration::from_secs(5);
/// The characters of an identity at the most.
const LONGEST_UID: usize = 128;

/// A client for single requests: each [call](Self::call) is a plain future, for any executor. A clone is the same
/// client, so tasks share one.
///
/// The deadline of a call is 30 s of the clock, unless [`with_timeout`](Self::with_timeout) or
/// [`ApiCall::with_timeout`] sets another. A call is aborted at its deadline, and when its future is dropped; over
/// HTTP, the abort closes the connection. The server may have made a change although its call was aborted.
///
/// The transport decides whether simulated time passes ([`Clock::outside`]). Recordings, simulated servers and
/// functions answer in simulated time, deadlines included. While a request to a real server is open, simulated time
/// stands still, and the transport's own limits end the request.
///
/// ```
/// use listwatch::api::{Api, ApiFn, ApiRequest, ApiResponse};
/// use listwatch::{Client, Clock, Executor, Resource, run};
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
    gates: Vec<Arc<dyn Gate>>,
    /// The reconcile whose requests it sends.
    sender: Option<Sender>,
    /// How many requests of reconciles all clones sent.
    sent: Arc<AtomicU64>,
    requests: Arc<Requests>,
}

impl Client {
    /// Sends requests by `transport`, and reads deadlines from `clock`.
    ///
    /// If the transport panics, that call fails and the others go on. The transport is polled under a lock, so it must
    /// not use this client.
    #[doc(alias = "try_default")]
    pub fn new(transport: impl ApiTransport + Send + 'static, clock: Clock) -> Self {
        let calls = Arc::new(Mutex::new(Calls::new(Box::new(transport) as _)));
        Self {
            calls,
            clock,
            timeout: None,
            gates: Vec::new(),
            sender: None,
            sent: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// Sends requests by a client that blocks, each on a thread of the `blocking` crate's pool, under any executor.
    ///
    /// Such a request runs outside of simulated time. If its call is aborted, the thread continues until the blocking
    /// client returns, and the answer is dropped.
    pub fn from_blocking(client: impl ApiClient + Send + Sync + 'static, clock: Clock) -> Self {
        Self::new(Blocking::new(client), clock)
    }

    /// Sets the time limit of calls that have none of their own, instead of 30 s. [`Duration::MAX`] leaves the limit to
    /// the transport.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// [`ApiError`] says which: the request cannot be sent, the server refuses it or answers too late, or the answer
    /// cannot be decoded.
    pub async fn call<T>(&self, call: ApiCall<T>) -> Result<T, ApiError> {
        let (call, response) = self.respond(call).await?;
        call.read(&response)
    }

    /// A client of the same server by another transport. No request of the one waits for requests of the other.
    #[cfg(feature = "http")]
    pub(crate) fn beside(&self, transport: impl ApiTransport + Send + 'static) -> Self {
        Self { calls: Arc::new(Mutex::new(Calls::new(Box::new(transport) as _))), ..self.clone() }
    }

    /// Whether both send by one transport.
    #[cfg(feature = "file")]
    pub(crate) fn shares_transport(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.calls, &other.calls)
    }

    /// A clone that sends changes only while `gate` lets it, and the gates of this client do.
    pub(crate) fn behind(&self, gate: Arc<dyn Gate>) -> Self {
        let mut client = self.clone();
        client.gates.push(gate);
        client
    }

    /// A clone whose requests tell the server of this reconcile.
    pub(crate) fn of(&self, sender: Sender) -> Self {
        Self { sender: Some(sender), ..self.clone() }
    }

    /// Sends a request now, past gates and witnesses; without a time limit, with that of the client. Its caller gives it up
    /// by dropping the future.
    pub(crate) fn send(
        &self,
        request: &ApiRequest,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<ApiResponse, Unanswered>> + Send + use<> {
        self.open(request, limit.or(self.timeout))
    }

    /// Sends a request, and returns it with its answer, whatever the server said.
    pub(crate) async fn respond<T>(&self, call: ApiCall<T>) -> Result<(ApiCall<T>, ApiResponse), ApiError> {
        let call = call.map_request(|request| self.signed(request));
        let (timeout, request) = (call.timeout().or(self.timeout), call.request()?);
        let line = request.line();
        let failed = |error: TransportError| error.of_request(&line);
        if self.gates.is_empty() || request.method == Method::Get {
            let response = self.open(request, timeout).await.map_err(|it| failed(it.into()))?;
            return Ok((call, response));
        }
        let (entry, asked) = Entry::enter(&self.gates, line.clone()).map_err(failed)?;
        let call = call.map_request(|request| request.behind(asked));
        let response = entry.answer(self.open(call.request()?, timeout)).await.map_err(failed)?;
        Ok((call, response))
    }

    /// What the clones of this client, and the streams of its world, have asked.
    pub(crate) fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    fn open(&self, request: &ApiRequest, timeout: Option<Duration>) -> Pending {
        Pending::open(&self.calls, &self.clock, &self.requests, request, timeout)
    }

    /// The request with what it tells of the reconcile that sends it: to the server, and to a recording.
    fn signed(&self, mut request: ApiRequest) -> ApiRequest {
        if let Some(sender) = self.sender {
            request = request.with_trace(sender.trace(self.sent.fetch_add(1, Ordering::Relaxed)));
        }
        if let Some(witness) = crate::witness::present() {
            request = request.sent_by(witness.reconcile());
        }
        request
    }

    /// The identity of the cluster, by which its recordings are told from those of others: the uid of the namespace
    /// `kube-system`.
    ///
    /// It is `None` if the server does not tell it within five seconds, such as for want of permission to `get` that
    /// namespace.
    pub async fn cluster_uid(&self) -> Option<String> {
        let mut request = ApiRequest::new(Method::Get, "/api/v1/namespaces/kube-system");
        request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        let response = self.open(&request, Some(IDENTIFIED)).await.ok()?;
        let namespace: serde_json::Value = serde_json::from_slice(&response.body).ok()?;
        let uid =
            namespace["metadata"]["uid"].as_str().filter(|uid| response.status == 200 && uid.len() <= LONGEST_UID);
        uid.map(str::to_owned)
    }

    /// Records the requests of all clones from now on.
    #[cfg(feature = "file")]
    pub(crate) fn record(&self, tape: &Tape) {
        let mut calls = self.calls.lock();
        let transport = calls.transport_mut();
        let recorded = core::mem::replace(transport, Box::new(ApiFn::new(|_| Ok(ApiResponse::new(503, *b"")))));
        *transport = Box::new(tape.client(recorded));
    }

    /// Calls `change` again while it fails with a conflict (409), as often and after such delays as `retry` says:
    /// client-go's `RetryOnConflict`. Each `change` reads the object anew, changes it, and replaces it.
    ///
    /// ```
    /// use listwatch::api::{Api, ApiError, ConflictRetry};
    /// use listwatch::{Client, Resource};
    /// use serde_json::{Value, json};
    ///
    /// async fn label(client: &Client, name: &str) -> Result<Value, ApiError> {
    ///     let pods = Api::<Value>::new(&Resource::new("/api/v1/namespaces/web/pods"));
    ///     let change = || async {
    ///         // A `Value` keeps every field, `resourceVersion` included.
    ///         let mut pod = client.call(pods.get(name)).await?;
    ///         pod["metadata"]["labels"]["seen"] = json!("yes");
    ///         client.call(pods.replace(name, &pod)).await
    ///     };
    ///     client.retry_on_conflict(ConflictRetry::new(7), change).await
    /// }
    /// # use listwatch::api::{ApiFn, ApiRequest, ApiResponse, Method};
    /// # use listwatch::{Clock, Executor, run};
    /// # let conflict = std::cell::Cell::new(true);
    /// # let server = ApiFn::new(move |request: &ApiRequest| {
    /// #     Ok(match request.method {
    /// #         Method::Get => ApiResponse::new(200, *br#"{"metadata":{"resourceVersion":"7"}}"#),
    /// #         _ if conflict.take() => ApiResponse::new(409, *b"{}"),
    /// #         _ => ApiResponse::new(200, request.body.clone()),
    /// #     })
    /// # });
    /// # let clock = Clock::simulated();
    /// # let client = Client::new(server, clock.clone());
    /// # let pod = run(&clock, &Executor::new(), label(&client, "a"))?;
    /// # assert_eq!(pod, json!({ "metadata": { "resourceVersion": "7", "labels": { "seen": "yes" } } }));
    /// # Ok::<(), ApiError>(())
    /// ```
    ///
    /// # Errors
    /// That of the last `change`.
    #[doc(alias = "RetryOnConflict")]
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

listwatch_core::summary!("Client" for Client);

#[cfg(test)]
mod tests;
