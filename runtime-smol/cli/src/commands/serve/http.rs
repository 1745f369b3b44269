//! Requests, with limits.

use super::body::AnswerBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderName};
use hyper::{Method, Request, Response, StatusCode};
use listwatch::served::{Limits, is_for_this_server};
use smol::Timer;
use smol::future::or;
use std::time::Duration;

pub(super) const LIMITS: Limits = Limits {
    connections: 512,
    head: 64 * 1024,
    first_head: Duration::from_secs(10),
    idle: IDLE,
    stalled: Duration::from_secs(30),
};

/// The most bytes of the body of a request, as an API server takes them.
const BODY: usize = 3 * 1024 * 1024;

/// How long a connection may be without a request, and how long the head or the body of one may take.
const IDLE: Duration = Duration::from_secs(90);

/// A request whose body was read.
pub(super) struct Asked {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) accept: String,
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

/// Reads a request, unless it is refused.
pub(super) async fn read(request: Request<Incoming>) -> Result<Asked, Response<AnswerBody>> {
    let (head, body) = request.into_parts();
    if head.headers.get_all(HOST).iter().nth(1).is_some() {
        return Err(plain(StatusCode::BAD_REQUEST, "the request names its server more than once"));
    }
    if !is_for_this_server(&head.headers, &head.uri) {
        let message = "the request names another server, or comes from a page of a browser";
        return Err(plain(StatusCode::FORBIDDEN, message));
    }
    let text = |name: HeaderName| {
        let values = head.headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.collect::<Vec<_>>().join(",")
    };
    let body = async {
        let body = Limited::new(body, BODY).collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| match error.is::<LengthLimitError>() {
            true => (StatusCode::PAYLOAD_TOO_LARGE, "too large"),
            false => (StatusCode::BAD_REQUEST, "malformed"),
        })
    };
    let late = async {
        Timer::after(IDLE).await;
        Err((StatusCode::REQUEST_TIMEOUT, "too slow"))
    };
    let refused = |(status, why)| plain(status, &format!("the body of the request is {why}"));
    let body = or(body, late).await.map_err(refused)?;
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let (accept, content_type) = (text(hyper::header::ACCEPT), text(CONTENT_TYPE));
    // Hyper sends the head of the answer alone.
    let method = if head.method == Method::HEAD { Method::GET } else { head.method };
    Ok(Asked { method: method.to_string(), target, accept, content_type, body })
}

fn plain(status: StatusCode, message: &str) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(format!("{message}\n").into_bytes()));
    *response.status_mut() = status;
    response
}
