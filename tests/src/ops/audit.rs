//! Operations on an audit, whose store follows a server with losses, and whose server answers anything.

use arbitrary::{Arbitrary, Unstructured};
use listwatch_core::api::{ApiRequest, ApiResponse};
use listwatch_core::audit::{Audit, AuditConfig, AuditError, AuditReport, DifferenceKind, Replica, Verdict};
use listwatch_core::object::Version;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use listwatch_core::{Instant, Key, Resource};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op<'d> {
    /// Milliseconds pass.
    Later(u16),
    /// Time passes until the machine wants to be called.
    Wait,
    /// An object is created or changed.
    Put(u8),
    Delete(u8),
    /// Somebody writes another collection.
    Skip,
    /// The store takes the next event.
    Follow,
    /// The store takes all of them.
    FollowAll,
    /// The next event is lost.
    Lose,
    /// The state of an object comes, and cannot be decoded.
    Spoil,
    /// The store reads the whole state again.
    Relist,
    /// The server answers as it should.
    Serve,
    /// Each page until the end.
    ServeAll,
    /// A list begins with an older state.
    ServeOld(u8),
    /// The continue token has expired.
    Expire,
    Refuse(u16),
    Break,
    /// Any bytes.
    Answer(&'d [u8]),
    /// An answer without a request.
    Stray,
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// If a rule does not hold.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let mut it = Audited::new(data.arbitrary().unwrap_or_default());
    for op in super::rest::<Op<'_>>(&mut data) {
        it.act(op);
        it.look();
    }
    it.end();
}

const KEYS: u8 = 5;
const MAX_PAGES: u32 = 8;
const RESTARTS: u32 = 2;

/// A change of the server's.
#[derive(Clone, Copy, Debug)]
struct Change {
    version: u64,
    key: u8,
    is_there: bool,
}

/// The store, as its informer writes it.
#[derive(Clone, Debug, Default)]
struct Stored {
    objects: BTreeMap<u8, u64>,
    applied: u64,
    /// How many changes it took.
    taken: usize,
    undecodable: BTreeSet<(u8, u64)>,
}

struct Audited {
    audit: Audit,
    now: Instant,
    log: Vec<Change>,
    version: u64,
    store: Stored,
    open: Option<ApiRequest>,
    requests: u32,
    /// The server has answered what is not true.
    has_lied: bool,
    /// Something that the server wrote could not be decoded.
    has_spoiled: bool,
    /// What the store had when the audit decided, and the server's version.
    judged: Option<(BTreeMap<u8, u64>, u64)>,
    result: Option<Result<AuditReport, AuditError>>,
}

impl Audited {
    fn new(page_size: u8) -> Self {
        let mut config = AuditConfig::default();
        (config.page_size, config.max_pages, config.restarts) = (u32::from(page_size % 4), MAX_PAGES, RESTARTS);
        (config.patience, config.named) = (Duration::from_secs(30), 3);
        Self {
            audit: Audit::new(Resource::new("/api/v1/pods"), config),
            now: Instant::ZERO,
            log: Vec::new(),
            version: 1,
            store: Stored { applied: 1, ..Stored::default() },
            open: None,
            requests: 0,
            has_lied: false,
            has_spoiled: false,
            judged: None,
            result: None,
        }
    }

    fn act(&mut self, op: Op<'_>) {
        match op {
            Op::Later(millis) => self.pass(self.now + Duration::from_millis(millis.into())),
            Op::Wait => self.pass(self.audit.poll_timeout().unwrap_or(self.now)),
            Op::Put(key) => self.write(key % KEYS, true),
            Op::Delete(key) if self.state(key % KEYS, self.version).is_some() => self.write(key % KEYS, false),
            Op::Delete(_) => {}
            Op::Skip => self.version += 1,
            Op::Follow => self.follow(|_, _| true),
            Op::FollowAll => {
                while self.store.taken < self.log.len() {
                    self.follow(|_, _| true);
                }
                self.store.applied = self.version;
            }
            Op::Lose => self.follow(|_, _| false),
            Op::Spoil => {
                self.has_spoiled = true;
                self.follow(|store, change| {
                    if change.is_there {
                        store.undecodable.insert((change.key, change.version));
                    }
                    !change.is_there
                });
            }
            Op::Relist => {
                let objects = (0..KEYS).filter_map(|key| Some((key, self.state(key, self.version)?))).collect();
                (self.store.objects, self.store.applied, self.store.taken) = (objects, self.version, self.log.len());
            }
            Op::Serve => self.serve(0),
            Op::ServeAll => (0..2 * MAX_PAGES).for_each(|_| {
                self.serve(0);
                self.look();
            }),
            Op::ServeOld(back) => self.serve(back.into()),
            Op::Expire => self.answer(Ok(ApiResponse::new(410, *br#"{"reason":"Expired","code":410}"#))),
            Op::Refuse(status) => self.answer(Ok(ApiResponse::new(status, *b"no"))),
            Op::Break => self.answer(Err(TransportError::new(TransportErrorKind::Reset, "broken"))),
            Op::Answer(body) => {
                self.has_lied = true;
                self.answer(Ok(ApiResponse::new(200, body)));
            }
            Op::Stray if self.open.is_none() => {
                self.audit.handle_answer(self.now, &self.store, Ok(ApiResponse::new(200, *b"{}")));
            }
            Op::Stray => {}
        }
    }

    fn pass(&mut self, to: Instant) {
        self.now = self.now.max(to);
        self.audit.handle_timeout(self.now, &self.store);
    }

    fn write(&mut self, key: u8, is_there: bool) {
        self.version += 1;
        self.log.push(Change { version: self.version, key, is_there });
    }

    /// The store takes a change, unless `takes` says that it is lost.
    fn follow(&mut self, takes: impl FnOnce(&mut Stored, Change) -> bool) {
        let Some(change) = self.log.get(self.store.taken).copied() else { return };
        self.store.taken += 1;
        self.store.applied = change.version;
        if takes(&mut self.store, change) {
            match change.is_there {
                true => _ = self.store.objects.insert(change.key, change.version),
                false => _ = self.store.objects.remove(&change.key),
            }
        }
    }

    /// The version of an object at `version`, if it was there.
    fn state(&self, key: u8, version: u64) -> Option<u64> {
        let changes = self.log.iter().rev().filter(|change| change.key == key && change.version <= version);
        changes.into_iter().next().filter(|change| change.is_there).map(|change| change.version)
    }

    /// A page of the newest state, or of one that is older by so many versions.
    fn serve(&mut self, back: u64) {
        let Some(request) = &self.open else { return };
        let parameter = |name: &str| request.query.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value);
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let limit = parameter("limit").map_or(usize::MAX, |limit| number(limit) as usize);
        // A second list that is older than the newest state proves nothing.
        let back = if self.audit.is_confirming() { 0 } else { back };
        let (version, first) = match parameter("continue").and_then(|token| token.split_once('.')) {
            Some((version, first)) => (number(version), number(first) as u8),
            None => (self.version.saturating_sub(back).max(1), 0),
        };
        let mut items = (first..KEYS).filter_map(|key| Some((key, self.state(key, version)?)));
        let mut body = String::new();
        for (key, version) in items.by_ref().take(limit) {
            let separator = if body.is_empty() { "" } else { "," };
            let item = format!(r#"{{"metadata":{{"name":"{key}","namespace":"n","resourceVersion":"{version}"}}}}"#);
            write!(body, "{separator}{item}").unwrap_or_default();
        }
        let token = items.next().map_or_else(String::new, |(key, _)| format!("{version}.{key}"));
        let meta = format!(r#"{{"resourceVersion":"{version}","continue":"{token}"}}"#);
        self.answer(Ok(ApiResponse::new(200, format!(r#"{{"metadata":{meta},"items":[{body}]}}"#))));
    }

    fn answer(&mut self, answer: Result<ApiResponse, TransportError>) {
        if self.open.take().is_some() {
            self.audit.handle_answer(self.now, &self.store, answer);
        }
    }

    /// Takes what the machine wants, and checks the rules.
    fn look(&mut self) {
        if self.open.is_none()
            && let Some(request) = self.audit.poll_request()
        {
            self.requests += 1;
            self.open = Some(request);
        }
        assert!(self.audit.poll_request().is_none(), "two requests are open");
        assert!(self.requests <= MAX_PAGES * (RESTARTS + 2), "{} requests", self.requests);
        assert!(self.audit.poll_timeout().is_none_or(|at| at > self.now), "a timeout is due after it was handled");
        let result = self.audit.poll_result();
        if self.judged.is_none() && (self.audit.is_confirming() || result.is_some()) {
            self.judged = Some((self.store.objects.clone(), self.version));
        }
        if let Some(result) = result {
            assert!(self.result.is_none() && self.open.is_none(), "it is over twice");
            result.iter().for_each(|report| self.check(report));
            self.result = Some(result);
        }
        let waits = self.open.is_some() || self.audit.poll_timeout().is_some();
        assert_ne!(waits, self.result.is_some(), "nothing goes on, or it goes on after its end");
    }

    fn check(&self, report: &AuditReport) {
        assert!(report.differences.len() <= 3 && report.differences.is_sorted_by_key(|it| &it.key), "{report}");
        if self.has_lied || report.verdict() == Verdict::Behind {
            return;
        }
        let Some((judged, at)) = &self.judged else { panic!("it was not decided: {report}") };
        let listed = report.version.parse().unwrap_or_else(|error| panic!("{report}: {error}"));
        let mut owed = 0;
        for key in 0..KEYS {
            let explained = |stored: Option<&u64>, until: u64| {
                (listed..=until).any(|version| self.state(key, version).as_ref() == stored)
            };
            let (before, after) = (judged.get(&key), self.store.objects.get(&key));
            let is_wrong = !explained(before, *at);
            let stays = after.is_none() && !explained(None, self.version);
            let found = report.differences.iter().find(|it| it.key.name() == key.to_string());
            if let Some(found) = found {
                let is_missing = found.kind() == DifferenceKind::Missing;
                assert!(is_wrong && (!is_missing || stays), "{found} is explained: {report}");
            }
            let is_still = (listed..=self.version).all(|version| self.state(key, version) == self.state(key, listed));
            owed += usize::from(is_wrong && (before.is_some() || is_still && stays));
        }
        assert!(self.has_spoiled || report.total() >= owed, "{owed} differences are there: {report}");
    }

    /// The server is well, and the store follows: the audit ends.
    fn end(&mut self) {
        for _ in 0..64 {
            self.act(Op::FollowAll);
            self.act(Op::ServeAll);
            self.act(Op::Wait);
            self.look();
        }
        assert!(self.result.is_some(), "the audit does not end: {:?}", self.audit);
    }
}

fn key(number: u8) -> Key {
    Key::new(Some("n"), &number.to_string())
}

impl Replica for Stored {
    fn applied(&self) -> Option<Version> {
        Some(Version::from(&*self.applied.to_string()))
    }

    fn find(&self, wanted: &Key) -> Option<(Key, Version)> {
        let number = wanted.name().parse().ok().filter(|number| key(*number) == *wanted)?;
        let version = self.objects.get(&number)?;
        Some((key(number), Version::from(&*version.to_string())))
    }

    fn for_each(&self, f: &mut dyn FnMut(&Key, &str)) {
        self.objects.iter().for_each(|(number, version)| f(&key(*number), &version.to_string()));
    }

    fn undecodable(&self, wanted: &Key) -> Option<Version> {
        let (_, last) = self.undecodable.iter().rev().find(|(number, _)| key(*number) == *wanted)?;
        Some(Version::from(&*last.to_string()))
    }
}
