//! The requests of a client, and what it learnt of their answers.

use crate::real_server::audit::NUMBER;
use core::task::Poll;
use listwatch_core::api::{ApiRequest, ApiTransport, Method, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::ReadContext;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Writes, by the number that is in their query. Clones are the same writes.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Vec<Request>>>);

/// A write, as its client knows it.
#[derive(Clone)]
pub(crate) struct Request {
    /// The name of the object.
    pub(crate) name: String,
    /// The status of the answer; `None` without one.
    pub(crate) answer: Option<u16>,
}

impl Requests {
    /// The write of this number.
    pub(crate) fn get(&self, number: usize) -> Request {
        self.lock()[number].clone()
    }

    /// How many writes the client knows to be made.
    pub(crate) fn made(&self) -> usize {
        let is_made = |request: &&Request| request.answer.is_some_and(|status| status < 300);
        self.lock().iter().filter(is_made).count()
    }

    /// Notes another one, and returns its number.
    fn push(&self, request: &ApiRequest) -> usize {
        let created = serde_json::from_slice::<Value>(&request.body).ok().filter(|_| request.method == Method::Post);
        let mut path = request.path.trim_end_matches("/status").rsplit('/');
        let name = match &created {
            Some(created) => created["metadata"]["name"].as_str(),
            None => path.next(),
        };
        let mut requests = self.lock();
        requests.push(Request { name: name.unwrap().to_owned(), answer: None });
        requests.len() - 1
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.0.lock().unwrap()
    }
}

/// A transport that numbers its writes in their query, and notes their answers. Those of Events are none.
pub(crate) struct Recorded<X> {
    inner: X,
    requests: Requests,
    open: HashMap<RequestId, usize>,
}

impl<X> Recorded<X> {
    pub(crate) fn new(inner: X, requests: &Requests) -> Self {
        Self { inner, requests: requests.clone(), open: HashMap::new() }
    }
}

impl<X: ApiTransport> ApiTransport for Recorded<X> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        if request.method == Method::Get || request.path.starts_with("/apis/events.k8s.io/") {
            return self.inner.open(id, request);
        }
        let number = self.requests.push(request);
        self.open.insert(id, number);
        let mut request = request.clone();
        request.query.push((NUMBER, number.to_string()));
        self.inner.open(id, &request);
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let reply = self.inner.poll_response(id, turn);
        if let Poll::Ready(Reply::Answered(response)) = &reply
            && let Some(number) = self.open.remove(&id)
        {
            self.requests.lock()[number].answer = Some(response.status);
        }
        reply
    }

    fn abort(&mut self, id: RequestId) {
        self.open.remove(&id);
        self.inner.abort(id);
    }
}
