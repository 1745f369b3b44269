//! What each request of HTTP is answered, and what it may take.

use super::report::Reports;
use super::webhooks::{Answer, CONVERT, Webhooks};
use core::time::Duration;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use listwatch::served::{Arrival, Limits, Site};
use smol::Timer;
use smol::future::or;
use smol::lock::Semaphore;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const LIMITS: Limits = Limits {
    connections: 512,
    head: 16 * 1024,
    first_head: Duration::from_secs(10),
    // API servers keep an idle connection for 90 s, and lose the request that meets its end.
    idle: Duration::from_secs(180),
    stalled: Duration::from_secs(10),
};

/// An API server takes bodies of 3 MiB. A review may have two objects of that size.
const BODY: u64 = 7 * 1024 * 1024;
/// A body of more bytes than this takes one of few places.
const LARGE: u64 = 64 * 1024;
const LARGE_PLACES: usize = 4;
/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(10);
/// How many calls of one function run at a time.
const CALLS: usize = 32;
/// The longest time that an API server waits.
const LONGEST: Duration = Duration::from_secs(30);

/// Webhooks over HTTP.
#[derive(Clone)]
pub(crate) struct HookSite(Arc<Shared>);

struct Shared {
    webhooks: Arc<Webhooks>,
    /// By the paths of the functions: one that hangs holds up no other.
    calls: HashMap<String, Arc<Semaphore>>,
    large: Arc<Semaphore>,
    reports: Arc<Reports>,
    /// A clone for each request that has no answer yet.
    open: Arc<()>,
}

/// The status, and the reason, of a request without a review.
type Refusal = (StatusCode, String);

impl HookSite {
    pub(crate) fn new(webhooks: Arc<Webhooks>, reports: Arc<Reports>) -> Self {
        let convert = (!webhooks.conversions.is_empty()).then_some(CONVERT);
        let paths = webhooks.hooks.iter().map(|hook| &*hook.path).chain(convert);
        let calls = paths.map(|path| (path.to_owned(), Arc::new(Semaphore::new(CALLS)))).collect();
        let large = Arc::new(Semaphore::new(LARGE_PLACES));
        Self(Arc::new(Shared { webhooks, calls, large, reports, open: Arc::default() }))
    }

    /// Whether a request has no answer yet.
    pub(crate) fn is_busy(&self) -> bool {
        Arc::strong_count(&self.0.open) > 1
    }
}

impl Site for HookSite {
    type Body = Full<Bytes>;

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.0.answer(request).await {
            Ok(answer) => response(StatusCode::OK, "application/json", answer.body),
            Err((status, why)) => refused(status, why),
        }
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let _open = Arc::clone(&self.open);
        let (calls, time) = (self.admit(&request)?, time_of(request.uri()));
        let (arrival, path) = (request.extensions().get::<Arrival>().cloned(), request.uri().path().to_owned());
        let late = async {
            Timer::after(BODY_TIME).await;
            Err((StatusCode::REQUEST_TIMEOUT, format!("the body has not come within {} s", BODY_TIME.as_secs())))
        };
        let body = or(self.body(request), late).await?;
        let _connection_stays = arrival.map(|arrival| arrival.keep());
        let hung = async {
            Timer::after(time).await;
            let why = format!("its function has not answered within {} s", time.as_secs_f32());
            self.reports.tell(&path, &why);
            Err((StatusCode::GATEWAY_TIMEOUT, why))
        };
        or(self.call(calls, path.clone(), body), hung).await
    }

    /// Refuses what no server sends, before its body is read.
    fn admit(&self, request: &Request<Incoming>) -> Result<Arc<Semaphore>, Refusal> {
        let path = request.uri().path();
        let Some(calls) = self.calls.get(path) else {
            return Err((StatusCode::NOT_FOUND, "no function has this path".to_owned()));
        };
        if *request.method() != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "only POST".to_owned()));
        }
        if !is_json(request.headers()) {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type is not application/json".to_owned()));
        }
        if request.body().size_hint().lower() > BODY { Err(too_large()) } else { Ok(Arc::clone(calls)) }
    }

    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, Refusal> {
        let length = request.body().size_hint().exact();
        let _place = if length.is_none_or(|length| length > LARGE) { Some(self.large.acquire().await) } else { None };
        let limit = usize::try_from(BODY).unwrap_or(usize::MAX);
        match Limited::new(request.into_body(), limit).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
            Err(_) => Err((StatusCode::BAD_REQUEST, "the body breaks off".to_owned())),
        }
    }

    /// Calls the function on a thread that may wait. Its place is free when it returns, also if nobody waits any more.
    async fn call(&self, calls: Arc<Semaphore>, path: String, body: Bytes) -> Result<Answer, Refusal> {
        let place = calls.acquire_arc().await;
        let (webhooks, reports) = (Arc::clone(&self.webhooks), Arc::clone(&self.reports));
        let call = move || {
            let _place = place;
            webhooks.try_answer(&path, &body).map_err(|(status, why)| {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                if status != StatusCode::INTERNAL_SERVER_ERROR {
                    return (status, why);
                }
                reports.tell(&path, &why);
                // What a panic says may be confidential.
                (status, "the function failed; the report of the program says why".to_owned())
            })
        };
        smol::unblock(call).await
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(given)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// How long the server waits, which it says in the query.
fn time_of(uri: &Uri) -> Duration {
    let asked = uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let seconds = asked.and_then(|text| text.strip_suffix('s')?.parse::<u64>().ok());
    seconds.map_or(LONGEST, |seconds| Duration::from_secs(seconds).clamp(Duration::from_secs(1), LONGEST))
}

fn too_large() -> Refusal {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {BODY} bytes"))
}

fn refused(status: StatusCode, why: String) -> Response<Full<Bytes>> {
    let mut response = response(status, "text/plain; charset=utf-8", (why + "\n").into_bytes());
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    // The rest of its body is not read.
    if status.is_client_error() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn response(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_how_long_it_waits() {
        let seconds = |uri: &'static str| time_of(&Uri::from_static(uri)).as_secs();
        let uris = ["/a?timeout=5s", "/a?x=1&timeout=10s", "/a", "/a?timeout=5m", "/a?timeout=999s", "/a?timeout=0s"];
        assert_eq!(uris.map(seconds), [5, 10, 30, 30, 30, 1]);
    }
}
