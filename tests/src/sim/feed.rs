//! Lists and watches of a simulated server, as a transport.

use super::api_server::{ApiServer, Inside};
use super::dice::Dice;
use super::fault::Fault;
use super::place::Place;
use super::refusal::Refusal;
use listwatch_core::request::{Query, Request, RequestId, Verb};
use listwatch_core::time::earliest;
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher};
use std::task::Poll;
use std::time::Duration;

/// What an informer hears of an [`ApiServer`]: lists at once, and of what happens to them after a lag.
#[derive(Debug)]
pub struct Feed {
    server: ApiServer,
    dice: Dice,
    troubles: FeedTroubles,
    open: Option<Open>,
}

/// What goes wrong with lists and watches, and how late they are.
#[derive(Clone, Copy, Debug)]
pub struct FeedTroubles {
    /// In a hundred requests, how many are not answered as they should be.
    pub refused: u64,
    /// In a hundred answers, how many break off.
    pub broken: u64,
    /// Within what time a watch that breaks off does so.
    pub within: Duration,
    /// Up to how long a change is on its way. Lists of any state are as old.
    pub lag: Duration,
    /// The server knows watch-lists, and bookmarks.
    pub streams: bool,
}

/// How long a change is on its way at least.
const LAG: Duration = Duration::from_millis(3);
/// How often a bookmark comes.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How late an answer is that is late.
const LATE: Duration = Duration::from_secs(20);

/// The answers that are not those to the question.
const REFUSALS: [Fault; 13] = [
    Fault::Gone,
    Fault::TooManyRequests,
    Fault::Throttled,
    Fault::InternalError,
    Fault::Unavailable,
    Fault::GatewayTimeout,
    Fault::HtmlBadGateway,
    Fault::EmptyBody,
    Fault::Forbidden,
    Fault::Unauthorized,
    Fault::ConnectionRefused,
    Fault::Silence,
    Fault::Delay,
];
/// The ways in which an answer breaks off.
const CUTS: [Fault; 3] = [Fault::CutByReset, Fault::CutByEnd, Fault::CutBySilence];
/// The ways in which a watch breaks off.
const BREAKS: [Fault; 6] = [
    Fault::CutByReset,
    Fault::CutByEnd,
    Fault::CutBySilence,
    Fault::StreamGone,
    Fault::StreamError,
    Fault::StreamThrottled,
];

impl Default for FeedTroubles {
    /// None.
    fn default() -> Self {
        Self { refused: 0, broken: 0, within: Duration::ZERO, lag: LAG, streams: false }
    }
}

/// A request, and how far its answer is.
#[derive(Debug)]
struct Open {
    id: RequestId,
    request: Request,
    stage: Stage,
    /// When it was first looked for.
    began: Instant,
    /// Which start of the server it is answered by.
    start: u64,
    lag: Duration,
    body: Vec<u8>,
    read: usize,
    /// How far a watch has told.
    told: Option<u64>,
    /// When the next bookmark comes.
    bookmark: Option<Instant>,
    /// When it breaks off at the earliest, after how many bytes at least, and how.
    breaks: Option<(Instant, usize, Fault)>,
}

#[derive(Debug)]
enum Stage {
    Asked,
    /// The connection fails.
    Failing(TransportErrorKind),
    Head(Instant, ResponseHead),
    Body,
    /// Nothing more comes.
    Silent,
}

impl Feed {
    /// A transport for an informer of one of `server`'s collections, without faults.
    #[must_use]
    pub fn new(server: &ApiServer) -> Self {
        Self::troubled(server, Dice::new(0), FeedTroubles::default())
    }

    /// A transport on which things go wrong until the server is [calm](super::Inside::calm).
    #[must_use]
    pub fn troubled(server: &ApiServer, dice: Dice, troubles: FeedTroubles) -> Self {
        Self { server: server.clone(), dice, troubles, open: None }
    }
}

impl Open {
    fn new(id: RequestId, request: &Request) -> Self {
        Self {
            id,
            request: request.clone(),
            stage: Stage::Asked,
            began: Instant::ZERO,
            start: 0,
            lag: LAG,
            body: Vec::new(),
            read: 0,
            told: None,
            bookmark: None,
            breaks: None,
        }
    }

    /// The request arrives.
    fn arrive(&mut self, now: Instant, inside: &mut Inside, dice: &mut Dice, troubles: &FeedTroubles) {
        (self.began, self.start) = (now, inside.start());
        inside.trace.request(now, self.id, &self.request);
        if inside.is_away(now) {
            self.stage = Stage::Failing(TransportErrorKind::Refused);
            return;
        }
        let is_troubled = !inside.is_calm();
        if is_troubled && troubles.lag > LAG {
            self.lag = dice.between(LAG, troubles.lag);
        }
        let fault = (is_troubled && dice.chance(troubles.refused)).then(|| dice.pick(&REFUSALS));
        fault.iter().for_each(|fault| inside.met(&format!("{fault:?}")));
        self.stage = match fault {
            Some(Fault::Silence) => Stage::Silent,
            Some(Fault::ConnectionRefused) => Stage::Failing(TransportErrorKind::Refused),
            _ => {
                let delay =
                    if fault == Some(Fault::Delay) { dice.between(Duration::ZERO, LATE) } else { Duration::ZERO };
                let refusal = fault.and_then(Fault::refusal);
                let refusal = refusal.map_or_else(|| self.answer(now, inside, troubles), Err);
                Stage::Head(now + delay, self.head(refusal))
            }
        };
        if is_troubled && dice.chance(troubles.broken) {
            self.break_off(now, dice, troubles.within);
        }
    }

    fn head(&mut self, answer: Result<Vec<u8>, Refusal>) -> ResponseHead {
        let (status, retry_after, media_type, body) = match answer {
            Ok(body) => (200, None, "application/json", body),
            Err(Refusal { status, retry_after, content_type, body }) => {
                (status, retry_after, content_type, body.into_bytes())
            }
        };
        self.body = body;
        let content_type = Some(media_type.into());
        ResponseHead { status, content_type, retry_after }
    }

    fn break_off(&mut self, now: Instant, dice: &mut Dice, within: Duration) {
        self.breaks = Some(match self.told {
            Some(_) => (now + dice.between(Duration::ZERO, within.max(LAG)), 0, dice.pick(&BREAKS)),
            None => (now, dice.below(1 + self.body.len() as u64) as usize, dice.pick(&CUTS)),
        });
    }

    /// What the server has to say to it at once.
    fn answer(&mut self, now: Instant, inside: &Inside, troubles: &FeedTroubles) -> Result<Vec<u8>, Refusal> {
        let (store, query) = (&inside.store, self.request.query());
        let place = Place::parse(self.request.resource.path()).ok_or_else(|| Refusal::of(404))?;
        let asked = match &self.request.verb {
            Verb::List { resource_version, .. } | Verb::Watch { resource_version, .. } => resource_version.as_deref(),
        };
        let asked = asked.map(|version| version.parse::<u64>().unwrap_or_default());
        // Whoever takes any state gets an old one.
        let state = asked.map_or_else(|| store.revision(), |asked| asked.max(store.revision_after(now, self.lag)));
        let bookmark = (troubles.streams && query != Query::List).then_some(now + BOOKMARKS);
        match query {
            Query::List => Ok(store.list(&place, state).to_string().into_bytes()),
            Query::Watch if !store.remembers(asked.unwrap_or(state)) => Err(Refusal::of(410)),
            Query::Watch => {
                (self.told, self.bookmark) = (Some(asked.unwrap_or(state)), bookmark);
                Ok(Vec::new())
            }
            Query::WatchList if !troubles.streams => Err(Refusal::of(422)),
            Query::WatchList => {
                (self.told, self.bookmark) = (Some(state), bookmark);
                let list = store.list(&place, state);
                let mut events = Vec::new();
                list["items"].as_array().into_iter().flatten().for_each(|item| say(&mut events, "ADDED", item));
                say_bookmark(&mut events, state, true);
                Ok(events)
            }
        }
    }

    /// Adds what has arrived, and says when something more does.
    fn follow(&mut self, now: Instant, inside: &Inside) -> Option<Instant> {
        let told = self.told.as_mut()?;
        let place = Place::parse(self.request.resource.path())?;
        let (arrived, lag) = (inside.store.revision_after(now, self.lag), self.lag);
        let changes = inside.store.since(*told);
        for change in changes.iter().take_while(|change| change.revision <= arrived) {
            *told = change.revision;
            if place.covers(&change.place) {
                say(&mut self.body, change.kind, &change.object);
            }
        }
        if self.bookmark.is_some_and(|due| due <= now) {
            say_bookmark(&mut self.body, *told, false);
            self.bookmark = Some(now + BOOKMARKS);
        }
        let next = inside.store.since(*told).first().map(|change| change.at + lag);
        earliest(next, self.bookmark)
    }

    /// When the server ends it.
    fn ends_at(&self) -> Option<Instant> {
        match (self.told, &self.request.verb) {
            (None, _) => Some(self.began),
            (Some(_), Verb::Watch { timeout, .. }) => {
                timeout.map(|timeout| self.began + Duration::from_secs(timeout.as_secs()))
            }
            (Some(_), Verb::List { .. }) => None,
        }
    }

    /// What there is to read, up to where it breaks off.
    fn read(&mut self, now: Instant, buf: &mut [u8]) -> usize {
        let left = match self.breaks {
            Some((at, bytes, _)) if at <= now => bytes.saturating_sub(self.read),
            _ => usize::MAX,
        };
        let unread = self.body.get(self.read..).unwrap_or_default();
        let len = unread.len().min(buf.len()).min(left);
        buf[..len].copy_from_slice(&unread[..len]);
        self.read += len;
        if self.read == self.body.len() && self.told.is_some() {
            self.body.clear();
            self.read = 0;
        }
        len
    }

    /// It breaks off, if it does by now.
    fn broken(&mut self, now: Instant) -> Option<Fault> {
        self.breaks.take_if(|(at, bytes, _)| *at <= now && self.read >= *bytes).map(|(_, _, how)| how)
    }
}

fn say(out: &mut Vec<u8>, kind: &str, object: &serde_json::Value) {
    out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").as_bytes());
}

fn say_bookmark(out: &mut Vec<u8>, revision: u64, ends: bool) {
    let annotations =
        if ends { serde_json::json!({ "k8s.io/initial-events-end": "true" }) } else { serde_json::json!({}) };
    let metadata = serde_json::json!({ "resourceVersion": revision.to_string(), "annotations": annotations });
    say(out, "BOOKMARK", &serde_json::json!({ "metadata": metadata }));
}

impl Feed {
    /// The next piece of an answer, or when to look again.
    fn advance(open: &mut Open, now: Instant, inside: &mut Inside, buf: &mut [u8]) -> Incoming {
        let id = open.id;
        if open.start != inside.start() {
            open.stage = Stage::Failing(TransportErrorKind::Reset);
        }
        match &open.stage {
            Stage::Failing(kind) => return fail(open.id, now, inside, *kind),
            Stage::Head(due, _) if *due > now => return Incoming::Idle { until: Some(*due) },
            Stage::Head(_, head) => {
                let head = head.clone();
                inside.trace.head(now, id, &head);
                open.stage = Stage::Body;
                return Incoming::Head { id, head };
            }
            Stage::Asked | Stage::Silent => return Incoming::Idle { until: None },
            Stage::Body => {}
        }
        let next = open.follow(now, inside);
        let len = open.read(now, buf);
        if len > 0 {
            inside.trace.data(now, id, &buf[..len]);
            return Incoming::Data { id, len };
        }
        if let Some(how) = open.broken(now) {
            return Self::break_off(open, now, inside, how, buf);
        }
        let end = open.ends_at();
        if end.is_some_and(|end| end <= now) {
            inside.trace.end(now, id, None);
            return Incoming::End { id };
        }
        Incoming::Idle { until: earliest(earliest(next, end), open.breaks.map(|(at, ..)| at)) }
    }

    fn break_off(open: &mut Open, now: Instant, inside: &mut Inside, how: Fault, buf: &mut [u8]) -> Incoming {
        let id = open.id;
        inside.met(&format!("{how:?}"));
        match how {
            Fault::CutByReset => fail(id, now, inside, TransportErrorKind::Reset),
            Fault::CutBySilence => {
                open.stage = Stage::Silent;
                Incoming::Idle { until: None }
            }
            how => {
                // It ends with the error, if there is one.
                open.told = None;
                let error = how.refusal().map_or_else(Vec::new, |refusal| {
                    format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", refusal.body).into_bytes()
                });
                (open.body, open.read) = (error, 0);
                Self::advance(open, now, inside, buf)
            }
        }
    }
}

fn fail(id: RequestId, now: Instant, inside: &mut Inside, kind: TransportErrorKind) -> Incoming {
    let error = TransportError::new(kind, "");
    inside.trace.end(now, id, Some(&error));
    Incoming::Failed { id, error }
}

impl ListerWatcher for Feed {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.open = Some(Open::new(id, request));
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(open) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let mut inside = self.server.lock();
        if matches!(open.stage, Stage::Asked) {
            open.arrive(turn.now, &mut inside, &mut self.dice, &self.troubles);
        }
        let incoming = Self::advance(open, turn.now, &mut inside, buf);
        match &incoming {
            Incoming::End { .. } | Incoming::Failed { .. } => self.open = None,
            Incoming::Idle { .. } => inside.follow(turn.cx.waker()),
            _ => {}
        }
        Poll::Ready(incoming)
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|open| open.id == id);
    }
}
