//! A wire of sockets: whatever the simulated connection says is written by a server, and read by the transport.

use crate::sockets::answer::Answer;
use crate::sockets::cluster::TOKEN;
use crate::sockets::connection::Waiting;
use crate::sockets::near::{Near, Next};
use crate::sockets::server::{Asked, Server};
use crate::sockets::site::Site;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_tests::sim::{Ask, Dice, Wire};
use std::fmt;
use std::mem::discriminant;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

/// A client, its server, and the sockets between them.
pub(crate) struct Sockets {
    site: Arc<Site>,
    near: Near,
    server: Server,
    /// The request that is open.
    answer: Option<Answer>,
    /// A failure that has arrived before it is its time.
    early: Option<Incoming>,
    /// The connection that is kept for the next request.
    kept: Option<Waiting>,
    dice: Dice,
}

/// What is written at once: not more than the transport reads before somebody takes it.
const PART: usize = 8 * 1024;

impl Sockets {
    /// A server of this site and its client; how answers are written follows from `seed`.
    pub(crate) fn new(site: &Arc<Site>, seed: u64) -> Self {
        let (bell, signals) = mpsc::channel();
        let server = Server::new(site.shown.clone(), bell.clone());
        let cluster = site.files.cluster(site.scheme(), server.address());
        let near = Near::new(cluster.transport().unwrap(), bell, signals);
        let (answer, early, kept) = (None, None, None);
        Self { site: site.clone(), near, server, answer, early, kept, dice: Dice::new(seed) }
    }

    fn answer(&mut self) -> &mut Answer {
        self.answer.as_mut().expect("there is a request")
    }

    fn begin_answer(&mut self, asked: Asked) -> Answer {
        Answer::new(asked, Dice::new(self.dice.throw()))
    }

    /// The request that was sent.
    fn request(&mut self, now: Instant) -> Asked {
        match self.near.next(now, &mut []) {
            Next::Asked(asked) => asked,
            Next::Arrived(incoming) => panic!("a request does not reach the server: {incoming:?}"),
        }
    }

    /// A connection is closed without an answer. The request has to come again, over another one.
    fn forget(&mut self, now: Instant, asked: Asked) -> Asked {
        let head = asked.head.clone();
        drop(asked);
        let again = self.request(now);
        assert!(again.head == head && !again.is_late, "not the same on a new connection: {}", again.head);
        self.site.seen.again.fetch_add(1, Ordering::Relaxed);
        again
    }

    fn carry_data(&mut self, now: Instant, id: RequestId, buf: &mut [u8]) -> Incoming {
        for part in buf.chunks_mut(PART) {
            self.answer().go_on(part);
            part.fill(0);
            let mut filled = 0;
            while filled < part.len() {
                match self.near.arrival(now, &mut part[filled..]) {
                    Incoming::Data { id: of, len } if of == id => filled += len,
                    other => return other,
                }
            }
        }
        Incoming::Data { id, len: buf.len() }
    }

    fn carry_end(&mut self, now: Instant) -> Incoming {
        let kept = self.answer.take().expect("there is a request").end();
        let arrived = self.near.arrival(now, &mut []);
        if let Some(asked) = kept {
            self.kept = Some(asked.connection.waiting());
            asked.keep();
        }
        arrived
    }

    fn carry_failure(&mut self, now: Instant, kind: TransportErrorKind) -> Incoming {
        let answer = self.answer.take().expect("there is a request");
        match kind {
            TransportErrorKind::Reset => self.break_off(now, answer),
            TransportErrorKind::Protocol => {
                let mut connection = answer.redirect();
                let arrived = self.near.arrival(now, &mut []);
                assert!(connection.is_left(), "a connection is kept on which somebody pointed elsewhere");
                arrived
            }
            _ => panic!("no answer fails like this: {kind}"),
        }
    }

    /// What was broken before it began may be asked for once more: the connection could have been an old one.
    fn break_off(&mut self, now: Instant, answer: Answer) -> Incoming {
        let unsaid = answer.unsaid().map(str::to_owned);
        let left = answer.break_off();
        let arrived = match self.near.next(now, &mut []) {
            Next::Arrived(incoming) => incoming,
            Next::Asked(asked) => {
                assert_eq!(Some(&asked.head), unsaid.as_ref(), "something else is asked for");
                self.site.seen.again.fetch_add(1, Ordering::Relaxed);
                let answer = self.begin_answer(asked);
                answer.break_off();
                self.near.arrival(now, &mut [])
            }
        };
        assert!(left.is_none_or(|mut connection| connection.is_left()), "a connection is kept whose answer was broken");
        arrived
    }

    /// The server closes the connection that is kept, and nobody knows yet.
    fn hang_up(&mut self) {
        self.kept.take().into_iter().for_each(Waiting::hang_up);
        self.wait_for_silence();
    }

    /// No connection is open any more.
    fn wait_for_silence(&self) {
        self.near.wait_until(|| self.server.open() == 0);
    }
}

impl Wire for Sockets {
    fn open(&mut self, now: Instant, id: RequestId, request: &Request) -> Ask {
        self.near.transport().open(id, request);
        let mut asked = self.request(now);
        self.kept = None;
        // The server may close a connection that was kept just when somebody comes to use it.
        if asked.is_late && self.dice.chance(5) {
            asked = self.forget(now, asked);
        }
        let ask = read(&asked);
        self.answer = Some(self.begin_answer(asked));
        ask
    }

    fn bar(&mut self, now: Instant, id: RequestId, request: &Request, kind: TransportErrorKind) {
        self.hang_up();
        let near = &mut self.near;
        let meanwhile = || {
            near.transport().open(id, request);
            near.arrival(now, &mut [])
        };
        let arrived = match kind {
            TransportErrorKind::Refused => self.server.while_shut(meanwhile),
            TransportErrorKind::Tls if self.site.untrusted.is_some() => {
                self.server.while_showing(self.site.untrusted.clone(), meanwhile)
            }
            // Without TLS, nobody is asked for trust.
            TransportErrorKind::Tls => Incoming::Failed { id, error: TransportError::new(kind, "") },
            _ => panic!("no connection fails like this: {kind}"),
        };
        self.early = Some(arrived);
        self.wait_for_silence();
    }

    fn carry(&mut self, now: Instant, said: Incoming, buf: &mut [u8]) -> Incoming {
        let arrived = match &said {
            Incoming::Head { head, .. } => {
                self.answer().begin(head);
                self.near.arrival(now, &mut [])
            }
            Incoming::Data { id, len } => self.carry_data(now, *id, &mut buf[..*len]),
            Incoming::End { .. } => self.carry_end(now),
            Incoming::Failed { error, .. } => match self.early.take() {
                Some(early) => early,
                None => self.carry_failure(now, error.kind),
            },
            Incoming::Idle { .. } => panic!("a connection is idle"),
        };
        assert_eq!(discriminant(&said), discriminant(&arrived), "{said:?} arrives as {arrived:?}");
        let over = matches!(arrived, Incoming::End { .. } | Incoming::Failed { .. });
        assert!(!over || self.near.is_idle(now), "something comes after the end");
        arrived
    }

    fn abort(&mut self, id: RequestId) {
        self.early = None;
        self.near.transport().abort(id);
        if let Some(answer) = self.answer.take() {
            assert!(answer.into_connection().is_left(), "the connection of {id:?} is open, which was given up");
        }
    }

    fn close(&mut self) {
        self.near.close();
        if let Some(answer) = self.answer.take() {
            assert!(answer.into_connection().is_left(), "a connection is open whose transport is gone");
        }
        self.wait_for_silence();
        self.server.stop();
        let seen = &self.site.seen;
        seen.connections.fetch_add(self.server.accepted(), Ordering::Relaxed);
        seen.bytes.fetch_add(self.server.sent(), Ordering::Relaxed);
    }
}

/// What the server reads of a request.
fn read(asked: &Asked) -> Ask {
    let header = |name| asked.header(name).unwrap_or_else(|| panic!("not one header {name}: {}", asked.head));
    let line = asked.head.lines().next().and_then(|line| line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1"));
    let target = line.unwrap_or_else(|| panic!("this is no GET: {}", asked.head));
    let ask = Ask::parse(target, header("accept"));
    let compressed = if ask.query() == Query::List { "gzip" } else { "identity" };
    assert_eq!(header("accept-encoding"), compressed, "{target}");
    assert_eq!(header("authorization"), format!("Bearer {TOKEN}"), "{target}");
    ask
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets").field("address", &self.server.address()).finish_non_exhaustive()
    }
}
