//! What each request is answered.

use super::audience::Audience;
use super::body::AnswerBody;
use super::date::RecordedDate;
use super::discovery;
use super::http::{self, Asked};
use super::table::{TableEvents, TableForm, Tables};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use listwatch::Clock;
use listwatch::file::RecordedResource;
use listwatch::served;
use listwatch::testing::{Answer, Call, ServedKind, SimulatedCluster};
use listwatch::time::WallTime;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A cluster that is a recording.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) cluster: SimulatedCluster,
    pub(super) clock: Clock,
    pub(super) audience: Audience,
    pub(super) writable: bool,
    date: RecordedDate,
    resources: Arc<Mutex<Resources>>,
}

/// The resources that the recording has shown, in that order.
#[derive(Default)]
struct Resources {
    all: Vec<Arc<RecordedResource>>,
    /// Their places, by the names of their collections.
    places: HashMap<String, usize>,
}

impl served::Site for Site {
    type Body = AnswerBody;

    async fn answer(&self, request: Request<Incoming>) -> Response<AnswerBody> {
        http::read(request).await.map_or_else(|refusal| refusal, |asked| self.respond(&asked))
    }
}

impl Site {
    /// A cluster without resources.
    pub(super) fn new(clock: Clock, writable: bool, date: WallTime) -> Self {
        let elapsed = clock.now().saturating_since(listwatch::time::Instant::ZERO);
        let micros = i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX);
        let origin = WallTime::from_unix_micros(date.as_unix_micros().saturating_sub(micros));
        Self {
            cluster: SimulatedCluster::starting_at(origin),
            clock,
            audience: Audience::default(),
            writable,
            date: RecordedDate::new(date),
            resources: Arc::default(),
        }
    }

    /// Sets the date, and adds a resource that is new.
    pub(super) fn reach(&self, date: WallTime, resource: &Arc<RecordedResource>) {
        self.date.set(date);
        self.resources().add(resource);
    }

    /// Answers a request, by a 500 if that panics.
    fn respond(&self, asked: &Asked) -> Response<AnswerBody> {
        caught(|| self.answer_or_panic(asked))
    }

    fn answer_or_panic(&self, asked: &Asked) -> Response<AnswerBody> {
        if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&asked.method.as_str()) {
            return self.not_allowed();
        }
        if !self.writable && asked.method != "GET" {
            let message = "this cluster is a recording, which nothing changes; with `listwatch serve --writable`, changes are \
                           kept in memory";
            return status(403, "Forbidden", message);
        }
        let call = call(asked, &asked.accept);
        let path = call.path();
        match path {
            "/healthz" | "/livez" | "/readyz" => return response(200, "text/plain", b"ok".to_vec()),
            // An empty document is no bytes. So kubectl finds no schema, and leaves the validation to the server.
            "/openapi/v2" => return response(200, OPENAPI, Vec::new()),
            _ => {}
        }
        let kinds = self.kinds();
        let discovered = || discovery::answer(path, kinds.iter().map(AsRef::as_ref), self.writable);
        if asked.method == "GET"
            && let Some(found) = discovered()
        {
            return json_response(200, &found);
        }
        let collection = call.collection();
        let refusal = collection.as_deref().and_then(|collection| self.refusal(asked, collection));
        refusal.unwrap_or_else(|| self.objects(asked, collection.as_deref()))
    }

    fn not_allowed(&self) -> Response<AnswerBody> {
        let allowed = if self.writable { "GET, HEAD, POST, PUT, PATCH, DELETE" } else { "GET, HEAD" };
        let message = "the server does not allow this method on the requested resource";
        let mut answer = status(405, "MethodNotAllowed", message);
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        answer
    }

    /// Why a request for a collection is refused, if it is.
    fn refusal(&self, asked: &Asked, collection: &str) -> Option<Response<AnswerBody>> {
        if is_binary(&asked.content_type) {
            let message =
                "this server takes JSON; with kubectl, give `create -f FILE`, or `apply --server-side -f FILE`";
            return Some(status(415, "UnsupportedMediaType", message));
        }
        let resources = self.resources();
        match resources.of(collection) {
            None if !self.writable => {
                let message = format!("the recording has no list and no watch of {collection}");
                Some(status(404, "NotFound", &message))
            }
            Some(resource) if resource.metadata_only && !asks_for_metadata(asked) => {
                let message = format!(
                    "the recording has the metadata of {collection} alone; ask for `as=PartialObjectMetadata`, or \
                     record it without `--type meta`"
                );
                Some(status(406, "NotAcceptable", &message))
            }
            _ => None,
        }
    }

    /// Answers a request for objects.
    fn objects(&self, asked: &Asked, collection: Option<&str>) -> Response<AnswerBody> {
        let now = self.clock.now();
        let form = TableForm::of(&asked.accept, &asked.target).zip(collection);
        let tables = form.map(|(form, collection)| Tables::new(form, collection, self.date.clone()));
        let accept = if tables.is_some() { "application/json" } else { asked.accept.as_str() };
        let Answer { head, body, watch } = self.cluster.handle(now, &call(asked, accept));
        let table = || tables.as_ref().filter(|_| head.status < 300).and_then(|tables| tables.of(&body));
        let mut answer = match watch {
            None => response(head.status, "", table().unwrap_or(body)),
            Some(stream) => {
                let events = tables.map(TableEvents::new);
                let seat = self.audience.join();
                Response::new(AnswerBody::watch(stream, self.clock.clone(), events, seat))
            }
        };
        let content_type = head.content_type.and_then(|content_type| content_type.parse().ok());
        answer.headers_mut().insert(CONTENT_TYPE, content_type.unwrap_or(JSON));
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if let Some(delay) = head.retry_after {
            answer.headers_mut().insert(RETRY_AFTER, delay.as_secs().into());
        }
        answer
    }

    /// The kinds that are served.
    fn kinds(&self) -> Vec<Arc<ServedKind>> {
        if self.writable {
            return self.cluster.kinds();
        }
        self.resources().all.iter().map(|resource| ServedKind::of_recorded(resource)).collect()
    }

    fn resources(&self) -> MutexGuard<'_, Resources> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resources {
    /// Adds a resource, unless its collection has one.
    fn add(&mut self, resource: &Arc<RecordedResource>) {
        if let Entry::Vacant(place) = self.places.entry(resource.collection.clone()) {
            place.insert(self.all.len());
            self.all.push(Arc::clone(resource));
        }
    }

    fn of(&self, collection: &str) -> Option<&Arc<RecordedResource>> {
        self.places.get(collection).map(|place| &self.all[*place])
    }
}

/// The media type in which kubectl reads the schemas of a server.
const OPENAPI: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The request as the cluster takes it.
fn call<'a>(asked: &'a Asked, accept: &'a str) -> Call<'a> {
    let Asked { method, target, content_type, body, .. } = asked;
    Call { method, target, accept, content_type, body }
}

/// The answer or, if it panics, a status that says so. The hook of panics has told standard error. Locks open again,
/// because no holder of one relies on [`std::sync::PoisonError`].
fn caught(answer: impl FnOnce() -> Response<AnswerBody>) -> Response<AnswerBody> {
    let message = "this request met a bug in listwatch, which its standard error tells; please report it";
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| status(500, "InternalError", message))
}

fn is_binary(content_type: &str) -> bool {
    ["application/vnd.kubernetes.protobuf", "application/cbor"].iter().any(|binary| content_type.starts_with(binary))
}

/// Whether the metadata of objects is enough for a client.
fn asks_for_metadata(asked: &Asked) -> bool {
    call(asked, &asked.accept).asks_for_metadata() || TableForm::of(&asked.accept, &asked.target).is_some()
}

fn status(code: u16, reason: &str, message: &str) -> Response<AnswerBody> {
    json_response(
        code,
        &json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "details": {}, "code": code,
        }),
    )
}

fn json_response(code: u16, body: &Value) -> Response<AnswerBody> {
    response(code, "application/json", body.to_string().into_bytes())
}

fn response(code: u16, content_type: &'static str, body: Vec<u8>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[test]
    fn a_panic_answers_its_request_with_an_internal_server_error() {
        let answer = caught(|| panic!("a bug"));
        assert_eq!((answer.status(), &answer.headers()[CONTENT_TYPE]), (StatusCode::INTERNAL_SERVER_ERROR, &JSON));
        let body = smol::block_on(answer.into_body().collect()).unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (&body["kind"], &body["reason"], &body["code"]),
            (&json!("Status"), &json!("InternalError"), &json!(500))
        );
    }
}
