//! What each request is answered.

use super::PANICKED;
use super::page::page;
use super::probes::{Checks, Readiness, Recent, probed};
use super::snapshot::Snapshot;
use crate::caught::caught_call;
use crate::clock::Clock;
use crate::metrics::{Metrics, bound};
use crate::served::{Site, is_for_this_server};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const HEALTH: &str = "/healthz";
const READINESS: &str = "/readyz";
const DEBUG: &str = "/debug/listwatch";
const PATHS: &str = "/metrics\n/healthz\n/readyz\n/debug/listwatch\n";

/// The pages of an endpoint.
#[derive(Clone)]
pub(super) struct OpsSite(Arc<Shared>);

struct Shared {
    metrics: Metrics,
    health: Checks,
    readiness: Readiness,
    is_loopback: bool,
    clock: Clock,
    openmetrics: Recent<Bytes>,
    prometheus: Recent<Bytes>,
    json: Recent<Bytes>,
    html: Recent<Bytes>,
}

/// A request that is not refused.
pub(super) struct Asked {
    path: String,
    query: String,
    accept: String,
    /// Why the program is not healthy, or not ready, by the path.
    obstacles: Vec<String>,
}

impl OpsSite {
    pub(super) fn new(metrics: Metrics, health: Checks, readiness: Readiness, address: IpAddr) -> Self {
        Self(Arc::new(Shared {
            metrics,
            health,
            readiness,
            // An address of IPv4 may be written as one of IPv6.
            is_loopback: address.to_canonical().is_loopback(),
            clock: Clock::real(),
            openmetrics: Recent::default(),
            prometheus: Recent::default(),
            json: Recent::default(),
            html: Recent::default(),
        }))
    }
}

impl Site for OpsSite {
    type Asked = Asked;
    type Body = Whole;

    async fn read(&self, request: Request<Incoming>) -> Result<Asked, Response<Whole>> {
        let headers = request.headers();
        if headers.get_all(HOST).iter().nth(1).is_some() {
            return Err(plain(StatusCode::BAD_REQUEST, "the request names its server more than once\n"));
        }
        let is_ours = if self.0.is_loopback { is_for_this_server(headers, request.uri()) } else { true };
        if !is_ours || headers.contains_key(ORIGIN) {
            let message = "the request names another server, or comes from a page of a browser\n";
            return Err(plain(StatusCode::FORBIDDEN, message));
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Err(refused);
        }
        let uri = request.uri();
        let (path, query) = (uri.path().to_owned(), uri.query().unwrap_or_default().to_owned());
        let accept = accepted(headers);
        let obstacles = self.0.obstacles(&path).await;
        Ok(Asked { path, query, accept, obstacles })
    }

    fn answer(&self, asked: Asked) -> Response<Whole> {
        caught_call(|| self.0.answer(&asked))
            .unwrap_or_else(|_panic| answer(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, format!("{PANICKED}\n")))
    }
}

impl Shared {
    async fn obstacles(&self, path: &str) -> Vec<String> {
        match path {
            HEALTH => self.health.obstacles(&self.clock).await,
            READINESS | DEBUG => self.readiness.obstacles(&self.clock).await,
            _ => Vec::new(),
        }
    }

    fn answer(&self, asked: &Asked) -> Response<Whole> {
        let probed = |healthy| {
            let is_good = asked.obstacles.is_empty();
            let status = if is_good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            answer(status, PLAIN, probed(healthy, &asked.obstacles))
        };
        match asked.path.as_str() {
            HEALTH => probed("healthy"),
            READINESS => probed("ready"),
            "/metrics" if accepts(&asked.accept, "application/openmetrics-text") => {
                answer(StatusCode::OK, OPENMETRICS, self.openmetrics())
            }
            "/metrics" => {
                let text = || classic(&String::from_utf8_lossy(&self.openmetrics())).into();
                answer(StatusCode::OK, PROMETHEUS, self.prometheus.get(&self.clock, text))
            }
            DEBUG => self.debug(asked),
            "/" => plain(StatusCode::OK, PATHS),
            _ => plain(StatusCode::NOT_FOUND, PATHS),
        }
    }

    fn openmetrics(&self) -> Bytes {
        self.openmetrics.get(&self.clock, || self.metrics.encode().into())
    }

    fn debug(&self, asked: &Asked) -> Response<Whole> {
        let snapshot = || Snapshot::of(&self.metrics, asked.obstacles.clone());
        let is_json = match asked.query.split('&').find_map(|part| part.strip_prefix("format=")) {
            Some(format) => format == "json",
            None => accepts(&asked.accept, JSON) && !accepts(&asked.accept, "text/html"),
        };
        if is_json {
            let text = || serde_json::to_vec(&snapshot()).expect("text and numbers have a form in JSON").into();
            return answer(StatusCode::OK, JSON, self.json.get(&self.clock, text));
        }
        answer(StatusCode::OK, HTML, self.html.get(&self.clock, || page(&snapshot()).into()))
    }
}

fn plain(status: StatusCode, message: &'static str) -> Response<Whole> {
    answer(status, PLAIN, message)
}

fn accepted(headers: &HeaderMap) -> String {
    let values = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",").to_ascii_lowercase()
}

/// Whether a media type is named, and not with a weight of zero.
fn accepts(accepted: &str, media_type: &str) -> bool {
    accepted.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts.next() == Some(media_type);
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        is_named && weight != Some(0.0)
    })
}

pub(super) const PLAIN: &str = "text/plain; charset=utf-8";

/// A body that is known whole.
pub(super) struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |body| body.len() as u64))
    }
}

/// An answer that no browser keeps, frames, or takes for anything else.
pub(super) fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Whole> {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; \
                          form-action 'none'";
    let mut response = Response::new(Whole(Some(body.into())));
    *response.status_mut() = status;
    let mut set = |name: HeaderName, value| _ = response.headers_mut().insert(name, HeaderValue::from_static(value));
    set(CONTENT_TYPE, content_type);
    set(CACHE_CONTROL, "no-store");
    set(VARY, "accept");
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "no-referrer");
    set(CONTENT_SECURITY_POLICY, POLICY);
    response
}

/// The same series in the older format: a counter's family has the name of its series, there is neither an end nor a
/// unit, and a bound is written as `1` instead of `1.0`, as programs of Go do.
pub(super) fn classic(openmetrics: &str) -> String {
    let counters: HashSet<&str> =
        openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let mut parts = line.splitn(4, ' ');
        let _infallible = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(family), Some(rest)) if counters.contains(family) => {
                writeln!(text, "# {what} {family}_total {rest}")
            }
            _ => match bound(line) {
                Some((before, bound, after)) => {
                    writeln!(text, "{before}{}{after}", bound.strip_suffix(".0").unwrap_or(bound))
                }
                None => writeln!(text, "{line}"),
            },
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_accepted_by_its_name() {
        let scrape = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert!(accepts(scrape, "application/openmetrics-text"));
        assert!(!accepts("*/*", "application/openmetrics-text"));
        assert!(!accepts("application/openmetrics-text; q=0, text/plain", "application/openmetrics-text"));
        assert!(accepts("text/html, application/json", JSON));
    }

    #[test]
    fn a_bound_without_a_fraction_has_no_point() {
        let openmetrics = "a_bucket{le=\"1.0\",x=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 3\nb{x=\"1.0\"} 1\n";
        assert_eq!(classic(openmetrics), openmetrics.replace("le=\"1.0\"", "le=\"1\""));
    }

    #[test]
    fn a_counter_is_named_as_its_series() {
        let openmetrics = "# HELP a Of a.\n# TYPE a counter\na_total{x=\"# HELP a b\"} 1\n# HELP b Of b.\n# TYPE b gauge\n\
                           # UNIT b s\nb 2\n# EOF\n";
        let text = "# HELP a_total Of a.\n# TYPE a_total counter\na_total{x=\"# HELP a b\"} 1\n# HELP b Of b.\n# TYPE b \
                    gauge\nb 2\n";
        assert_eq!(classic(openmetrics), text);
    }
}
