//! What each request is answered.

use super::PANICKED;
use super::page::page;
use super::probes::{Checks, Recent, probed};
use super::snapshot::{snapshot, stream_line};
use crate::caught::caught_call;
use crate::clock::Clock;
#[cfg(feature = "file")]
use crate::informers::{DumpCause, DumpError, FlightRecorder};
use crate::metrics::{Metrics, bound};
use crate::served::{Site, is_for_this_server};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
#[cfg(feature = "file")]
use listwatch_core::text::Printable;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const HEALTH: &str = "/healthz";
const READINESS: &str = "/readyz";
const DEBUG: &str = "/debug/listwatch";
const DUMP: &str = "/debug/listwatch/dump";
const PATHS: &str = "/metrics\n/healthz\n/readyz\n/debug/listwatch\n/debug/listwatch/dump (POST)\n";

/// The pages of an endpoint.
#[derive(Clone)]
pub(super) struct OpsSite(Arc<Shared>);

struct Shared {
    metrics: Metrics,
    health: Checks,
    readiness: Checks,
    /// The streams and controllers that are not ready.
    unready: Recent<Vec<String>>,
    is_loopback: bool,
    clock: Clock,
    openmetrics: Recent<Bytes>,
    prometheus: Recent<Bytes>,
    json: Recent<Bytes>,
    html: Recent<Bytes>,
}

impl OpsSite {
    pub(super) fn new(metrics: Metrics, health: Checks, readiness: Checks, address: IpAddr) -> Self {
        Self(Arc::new(Shared {
            metrics,
            health,
            readiness,
            unready: Recent::default(),
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
    type Body = Full<Bytes>;

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if let Some(refusal) = self.0.refusal(&request) {
            return refusal;
        }
        if request.uri().path() == DUMP {
            return dump(self.0.metrics.clone()).await;
        }
        // Why the program is not healthy, or not ready, by the path.
        let obstacles = self.0.obstacles(request.uri().path()).await;
        caught_call(|| self.0.answer(&request, &obstacles))
            .unwrap_or_else(|_panic| answer(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, format!("{PANICKED}\n")))
    }
}

impl Shared {
    fn refusal(&self, request: &Request<Incoming>) -> Option<Response<Full<Bytes>>> {
        let headers = request.headers();
        if headers.get_all(HOST).iter().nth(1).is_some() {
            return Some(plain(StatusCode::BAD_REQUEST, "the request names its server more than once\n"));
        }
        let is_ours = !self.is_loopback || is_for_this_server(headers, request.uri());
        if !is_ours || headers.contains_key(ORIGIN) {
            let message = "the request names another server, or comes from a page of a browser\n";
            return Some(plain(StatusCode::FORBIDDEN, message));
        }
        let is_dump = request.uri().path() == DUMP;
        let (allowed, message) = if is_dump { ("POST", "only POST\n") } else { ("GET, HEAD", "only GET and HEAD\n") };
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if is_read && !is_dump || *request.method() == Method::POST && is_dump {
            return None;
        }
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, message);
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        Some(refused)
    }

    async fn obstacles(&self, path: &str) -> Vec<String> {
        match path {
            HEALTH => self.health.obstacles(&self.clock).await,
            READINESS | DEBUG => {
                let unready = caught_call(|| self.unready.get(&self.clock, || self.unready()));
                let mut obstacles = unready.unwrap_or_else(|_message| vec![PANICKED.to_owned()]);
                obstacles.extend(self.readiness.obstacles(&self.clock).await);
                obstacles
            }
            _ => Vec::new(),
        }
    }

    /// A line for each stream that has not synced, and one for the controllers that have not begun.
    fn unready(&self) -> Vec<String> {
        let streams = self.metrics.streams();
        let mut unready: Vec<_> = streams.iter().filter(|it| !it.status.is_synced()).map(stream_line).collect();
        match self.metrics.awaited() {
            0 => {}
            1 => unready.push("a controller has not begun".to_owned()),
            many => unready.push(format!("{many} controllers have not begun")),
        }
        unready
    }

    fn answer(&self, request: &Request<Incoming>, obstacles: &[String]) -> Response<Full<Bytes>> {
        let probed = |healthy| {
            let status = if obstacles.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            answer(status, PLAIN, probed(healthy, obstacles))
        };
        let accepted = accepted(request.headers());
        match request.uri().path() {
            HEALTH => probed("healthy"),
            READINESS => probed("ready"),
            "/metrics" if accepts(&accepted, "application/openmetrics-text") => {
                let text = || self.metrics.encode().into();
                answer(StatusCode::OK, OPENMETRICS, self.openmetrics.get(&self.clock, text))
            }
            "/metrics" => {
                let text = || classic(&self.metrics.encode()).into();
                answer(StatusCode::OK, PROMETHEUS, self.prometheus.get(&self.clock, text))
            }
            DEBUG => self.debug(request.uri().query().unwrap_or_default(), &accepted, obstacles),
            "/" => plain(StatusCode::OK, PATHS),
            _ => plain(StatusCode::NOT_FOUND, PATHS),
        }
    }

    fn debug(&self, query: &str, accepted: &str, obstacles: &[String]) -> Response<Full<Bytes>> {
        let snapshot = || snapshot(&self.metrics, obstacles);
        let is_json = match query.split('&').find_map(|part| part.strip_prefix("format=")) {
            Some(format) => format == "json",
            None => accepts(accepted, JSON) && !accepts(accepted, "text/html"),
        };
        if is_json {
            return answer(StatusCode::OK, JSON, self.json.get(&self.clock, || snapshot().to_string().into()));
        }
        answer(StatusCode::OK, HTML, self.html.get(&self.clock, || page(&snapshot()).into()))
    }
}

/// Dumps the flight recorders, on a thread that may wait for the disk. Each line names a file, or says why there is none.
#[cfg(feature = "file")]
async fn dump(metrics: Metrics) -> Response<Full<Bytes>> {
    let dumps = smol::unblock(move || {
        let dump = |recorder: &Arc<FlightRecorder>| recorder.dump(DumpCause::Endpoint, "asked for by a request");
        caught_call(|| metrics.flight_recorders().iter().map(dump).collect::<Vec<_>>())
    });
    let Ok(dumps) = dumps.await else {
        return answer(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, format!("{PANICKED}\n"));
    };
    let status = match dumps.iter().find_map(|dump| dump.as_ref().err()) {
        _ if dumps.is_empty() => return answer(StatusCode::NOT_FOUND, PLAIN, format!("{}\n", DumpError::NoRecorder)),
        None => StatusCode::OK,
        Some(DumpError::TooSoon { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(_) => StatusCode::INSUFFICIENT_STORAGE,
    };
    let lines = dumps.iter().map(|dump| match dump {
        Ok(path) => format!("{}\n", Printable::new(path.display())),
        Err(error) => format!("{error}\n"),
    });
    answer(status, PLAIN, lines.collect::<String>())
}

#[cfg(not(feature = "file"))]
async fn dump(_: Metrics) -> Response<Full<Bytes>> {
    plain(StatusCode::NOT_FOUND, PATHS)
}

fn plain(status: StatusCode, message: &'static str) -> Response<Full<Bytes>> {
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

/// An answer that no browser keeps, frames, or takes for anything else.
pub(super) fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; \
                          form-action 'none'";
    let mut response = Response::new(Full::new(body.into()));
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
fn classic(openmetrics: &str) -> String {
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
    use crate::controller::ControllerHandle;
    use crate::{Executor, run};
    use std::net::Ipv4Addr;
    use std::time::Duration;

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

    #[test]
    fn probes_read_the_status_of_the_streams_once_a_second() {
        let (metrics, clock) = (Metrics::new(), Clock::simulated());
        let [health, readiness] = [(); 2].map(|()| Checks::default());
        let mut site = OpsSite::new(metrics.clone(), health, readiness, Ipv4Addr::LOCALHOST.into());
        Arc::get_mut(&mut site.0).unwrap().clock = clock.clone();
        let obstacles = || smol::block_on(site.0.obstacles(READINESS));
        assert!(obstacles().is_empty());
        metrics.add_controller(&ControllerHandle::default());
        assert!(obstacles().is_empty(), "those of this second");
        run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(1)));
        assert_eq!(obstacles(), ["a controller has not begun"]);
    }
}
