//! Every exchange that was recorded with a real server, through an informer that asks just that.

use crate::protocol::document::check;
use crate::protocol::exchange::{Exchange, exchanges};
use crate::root;
use core::time::Duration;
use listwatch_core::decode::Raw;
use listwatch_core::reflector::{Action, FailureReport};
use listwatch_core::request::{Query, Request, RequestId, Verb};
use listwatch_core::transport::{Incoming, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{Event, Informer, InformerConfig, Instant};
use std::fmt::Write;

/// An informer that has one request open.
struct Talk {
    informer: Informer<Raw>,
    now: Instant,
    id: RequestId,
}

impl Talk {
    /// An informer that is at the point where it asks for what was recorded.
    fn before(exchange: &Exchange) -> Self {
        let Request { resource, verb } = exchange.request();
        let mut config = InformerConfig::default();
        config.reflector.watch_list = exchange.request().query() == Query::WatchList;
        config.reflector.watch_timeout = None;
        if let Verb::List { limit, .. } = verb {
            config.reflector.page_size = limit;
        }
        let resource = if exchange.accept.contains("as=") { resource.metadata_only() } else { resource };
        let mut talk = Self { informer: Informer::new(resource, config), now: Instant::ZERO, id: RequestId(0) };
        talk.informer.start(talk.now);
        match verb {
            // All pages of a list have one version.
            Verb::List { continue_token: Some(token), .. } => talk.is_listed("2451", &token),
            Verb::List { resource_version: Some(version), .. } => {
                talk.is_listed(&version, "");
                talk.is_expired();
            }
            Verb::Watch { initial_events: false, resource_version, .. } => {
                talk.is_listed(&resource_version.unwrap(), "");
            }
            _ => {}
        }
        talk
    }

    fn is_listed(&mut self, version: &str, token: &str) {
        let _ = self.asks();
        let metadata = format!(r#"{{"resourceVersion":"{version}","continue":"{token}"}}"#);
        let body = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":[]}}"#);
        self.begins(ResponseHead { status: 200, ..ResponseHead::default() });
        self.brings(&body);
        self.ends(true);
        let _ = self.told();
    }

    /// The watch is answered by a 410, and the back-off is over.
    fn is_expired(&mut self) {
        let _ = self.asks();
        self.begins(ResponseHead { status: 410, ..ResponseHead::default() });
        self.ends(true);
        let _ = self.told();
        self.now = self.informer.poll_timeout().unwrap();
        self.informer.handle_timeout(self.now);
    }

    fn asks(&mut self) -> Option<Request> {
        loop {
            match self.informer.poll_action()? {
                Action::Abort(_) => {}
                Action::Open(id, request) => {
                    self.id = id;
                    return Some(request);
                }
            }
        }
    }

    fn begins(&mut self, head: ResponseHead) {
        self.informer.handle(self.now, Incoming::Head { id: self.id, head });
    }

    fn brings(&mut self, data: &str) {
        for piece in data.as_bytes().chunks(1000) {
            self.informer.space()[..piece.len()].copy_from_slice(piece);
            self.informer.handle(self.now, Incoming::Data { id: self.id, len: piece.len() });
        }
    }

    fn ends(&mut self, whole: bool) {
        let (id, error) = (self.id, TransportError::new(TransportErrorKind::Reset, "cut"));
        self.informer.handle(self.now, if whole { Incoming::End { id } } else { Incoming::Failed { id, error } });
    }

    fn told(&mut self) -> (usize, Option<FailureReport>) {
        let (mut objects, mut failed) = (0, None);
        while let Some(event) = self.informer.poll_event() {
            match event {
                Event::Failed(report) => failed = Some(report),
                event => objects += usize::from(event.object().is_some()),
            }
        }
        (objects, failed)
    }
}

/// What the two requests have in common: version, token, what they ask for and in which form.
fn question(request: &Request) -> (Query, Option<String>, String) {
    let (Verb::List { resource_version: version, .. } | Verb::Watch { resource_version: version, .. }) = &request.verb;
    let place = request.continue_token().or(version.as_deref()).map(str::to_owned);
    (request.query(), place, request.accept().to_owned())
}

fn row(id: u64, exchange: &Exchange) -> String {
    let mut talk = Talk::before(exchange);
    let asked = talk.asks().unwrap();
    let recorded = Request { resource: asked.resource.clone(), ..exchange.request() };
    assert_eq!(question(&asked), question(&recorded), "{id}: {}", exchange.target);
    talk.now = talk.now + Duration::from_millis(exchange.millis);
    talk.begins(exchange.head.clone());
    exchange.body.iter().for_each(|data| talk.brings(data));
    talk.ends(exchange.whole);
    let (objects, failed) = talk.told();
    let (class, reaction) = failed.map_or_else(
        || (String::from("–"), String::new()),
        |failed| (failed.failure.class().to_string(), format!("{}, ", failed.reaction)),
    );
    let (status, next) = (talk.informer.status(talk.now), next(&mut talk));
    let (asked, answer) = (shown(&exchange.target), exchange.head.status);
    format!("| {id} | {asked} | {answer} | {objects} | {class} | {status} | {reaction}{next} |")
}

/// What is asked for next, and when.
fn next(talk: &mut Talk) -> String {
    let at = talk.now;
    let next = talk.asks().or_else(|| {
        talk.now = talk.informer.poll_timeout().unwrap();
        talk.informer.handle_timeout(talk.now);
        talk.asks()
    });
    let when = if talk.now > at { "later" } else { "at once" };
    format!("{when} {}", shown(&next.unwrap().to_string()))
}

/// A request target in short.
fn shown(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter(|pair| !pair.starts_with("allowWatchBookmarks") && !pair.is_empty());
    let short = |pair: &str| match pair.split_once('=') {
        Some(("continue", token)) if token.len() > 8 => String::from("continue=…"),
        _ => pair.to_owned(),
    };
    let pairs: Vec<String> = pairs.map(short).collect();
    let path = path.rsplit('/').next().unwrap();
    if pairs.is_empty() { format!("`{path}`") } else { format!("`{path}?{}`", pairs.join("&")) }
}

#[test]
fn every_recorded_exchange_leads_to_the_state_and_the_request_of_the_table() {
    let mut table =
        "| id | asked | answer | events | class | state | next |\n|--:|---|--:|--:|---|---|---|\n".to_owned();
    let exchanges = exchanges(&root().join("tests/data/captures/protocol.jsonl.gz"));
    assert_eq!(exchanges.len(), 32);
    exchanges.iter().for_each(|(id, exchange)| writeln!(table, "{}", row(*id, exchange)).unwrap());
    check("tests/tests/protocol/exchanges.txt", "exchanges", &table);
}
