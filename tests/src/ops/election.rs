//! Operations on a candidate of a leader election, whose server answers anything.

use arbitrary::{Arbitrary, Unstructured};
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, CallAction, Method};
use listwatch_core::election::{ElectionConfig, ElectionEvent, LeaderElector};
use listwatch_core::request::RequestId;
use listwatch_core::time::WallTime;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    /// Milliseconds pass.
    Later(u16),
    /// Time passes until the machine wants to be called.
    Wait,
    /// The open request is answered as the server would.
    Serve,
    /// The server does what it is asked, and the answer is lost.
    Lose,
    /// The open request is answered with this status, and a body of this kind.
    Answer(u16, u8),
    /// An answer to another request.
    Stray(u8, u8),
    /// Another client writes a record of this kind.
    Overwrite(u8),
    Delete,
    /// A watch brings the lease, a record of this kind, or that there is none.
    Watch,
    Invent(u8),
    Unwatch,
    Vanish,
    Stop,
    Stopped,
}

/// Runs the operations that `data` stands for.
///
/// # Panics
/// If a rule does not hold.
pub fn run(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let mut it = Elected::new(data.arbitrary().unwrap_or_default());
    for op in super::rest::<Op>(&mut data) {
        it.act(op);
        it.drain();
    }
    it.end();
}

/// Time does not reach its end.
const DAY: Duration = Duration::from_secs(86_400);

struct Elected {
    elector: LeaderElector,
    now: Instant,
    lease: Option<Value>,
    version: u64,
    /// The request, and when it was sent.
    open: Option<(RequestId, ApiRequest, Instant)>,
    /// When the last write was sent that the server made.
    renewed: Option<Instant>,
    works: bool,
    is_over: bool,
}

impl Elected {
    fn new(seed: u8) -> Self {
        let mut config = ElectionConfig::new("us");
        config.seed = seed.into();
        config.release = seed.is_multiple_of(2);
        let mut elector = LeaderElector::new("web", "it", config).expect("the configuration is valid");
        elector.start(Instant::ZERO);
        let (now, lease, version, open) = (Instant::ZERO, None, 0, None);
        let mut it = Self { elector, now, lease, version, open, renewed: None, works: false, is_over: false };
        it.drain();
        it
    }

    fn act(&mut self, op: Op) {
        let now = self.now;
        match op {
            Op::Later(millis) => self.pass(now + Duration::from_millis(millis.into())),
            Op::Wait => self.pass(self.elector.poll_timeout().unwrap_or(now).min(now + DAY)),
            Op::Serve => {
                let Some((id, answer)) = self.served() else { return };
                self.elector.handle_answer(now, id, Ok(answer));
            }
            Op::Lose => {
                let Some((id, _)) = self.served() else { return };
                let lost = TransportError::new(TransportErrorKind::Reset, "lost");
                self.elector.handle_answer(now, id, Err(lost));
            }
            Op::Answer(status, kind) => {
                let Some((id, request, at)) = self.open.take() else { return };
                if kind == 0 {
                    // The machine cannot know better.
                    self.renewed = self.renewed.max(Some(at));
                }
                let body = if kind == 0 { request.body } else { invented(kind, u64::MAX).to_string().into_bytes() };
                self.elector.handle_answer(now, id, Ok(ApiResponse::new(status, body)));
            }
            Op::Stray(id, kind) => {
                let answer = ApiResponse::new(200, invented(kind, 1 << 40).to_string());
                let id = RequestId(u64::from(id) << 32);
                self.elector.handle_answer(now, id, Ok(answer));
            }
            Op::Overwrite(kind) => {
                let lease = invented(kind, 0);
                self.store(lease);
            }
            Op::Delete => self.lease = None,
            Op::Watch => {
                self.elector.set_watched(now, true);
                self.elector.handle_watched(now, self.lease.clone());
            }
            Op::Invent(kind) => {
                self.version += 1;
                self.elector.handle_watched(now, Some(invented(kind, self.version)));
            }
            Op::Unwatch => self.elector.set_watched(now, false),
            Op::Vanish => self.elector.handle_watched(now, None),
            Op::Stop => self.elector.stop(now),
            Op::Stopped => {
                self.works = false;
                self.elector.handle_stopped(now);
            }
        }
    }

    fn pass(&mut self, to: Instant) {
        self.now = self.now.max(to);
        self.elector.handle_timeout(self.now);
    }

    /// The open request, and the answer to it.
    fn served(&mut self) -> Option<(RequestId, ApiResponse)> {
        let (id, request, at) = self.open.take()?;
        let refuse = |status: u16, reason: &str| {
            ApiResponse::new(status, json!({ "kind": "Status", "reason": reason, "code": status }).to_string())
        };
        let body = || serde_json::from_slice::<Value>(&request.body).expect("the body is JSON");
        let answer = match (request.method, &self.lease) {
            (Method::Get, Some(lease)) => ApiResponse::new(200, lease.to_string()),
            (Method::Get | Method::Put, None) => refuse(404, "NotFound"),
            (Method::Post, Some(_)) => refuse(409, "AlreadyExists"),
            (Method::Put, Some(lease)) if version(&body()) != version(lease) => refuse(409, "Conflict"),
            _ => {
                self.renewed = self.renewed.max(Some(at));
                let stored = self.store(body());
                ApiResponse::new(200, stored.to_string())
            }
        };
        Some((id, answer))
    }

    fn store(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        if !lease["metadata"].is_object() {
            lease = json!({ "spec": lease["spec"] });
        }
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }

    /// Takes what the machine wants and tells, and checks the rules.
    fn drain(&mut self) {
        while let Some(action) = self.elector.poll_action(self.now, WallTime::UNIX_EPOCH) {
            match action {
                CallAction::Open { id, request } => {
                    assert!(self.open.is_none(), "a second request is open");
                    assert!(!self.is_over, "a request after the end");
                    self.open = Some((id, request, self.now));
                }
                CallAction::Abort(id) => {
                    self.open.take_if(|(open, _, _)| *open == id);
                }
                _ => {}
            }
        }
        while let Some(event) = self.elector.poll_event() {
            self.hear(&event);
        }
        if self.elector.token(self.now).is_some() {
            let deadline = self.renewed.map(|sent| sent + Duration::from_secs(10));
            assert!(self.works && deadline.is_some_and(|deadline| self.now < deadline), "a token without a term");
        }
        if let Some(next) = self.elector.poll_timeout() {
            assert!(next > self.now, "a timeout is due after it was handled");
        }
    }

    fn hear(&mut self, event: &ElectionEvent) {
        assert!(!self.is_over, "{event:?} after the end");
        match event {
            ElectionEvent::Started(_) => {
                assert!(!self.works, "work that goes on is started");
                self.works = true;
            }
            ElectionEvent::Stopping(_) => assert!(self.works, "there is no work to stop"),
            ElectionEvent::Ended { .. } => {
                assert!(!self.works, "the election ended before the work");
                self.is_over = true;
            }
            _ => {}
        }
    }

    /// The program ends, with a server that is well: the candidate ends too.
    fn end(&mut self) {
        self.elector.stop(self.now);
        self.drain();
        self.act(Op::Stopped);
        self.drain();
        for _ in 0..64 {
            self.act(if self.open.is_some() { Op::Serve } else { Op::Wait });
            self.drain();
        }
        assert!(self.is_over, "the candidate does not end");
        assert_eq!(self.elector.poll_timeout(), None);
    }
}

fn version(lease: &Value) -> &Value {
    &lease["metadata"]["resourceVersion"]
}

/// A lease that any client may write.
fn invented(kind: u8, version: u64) -> Value {
    let holder = [json!("other"), json!(""), json!("us"), json!(null), json!(7)][usize::from(kind % 5)].clone();
    let duration = [json!(15), json!(0), json!(-1), json!(u64::MAX), json!(null)][usize::from(kind / 5 % 5)].clone();
    let time = ["2020-01-01T00:00:00.000000Z", "soon"][usize::from(kind / 25 % 2)];
    let spec = json!({
        "holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": time, "leaseTransitions": kind,
    });
    match kind {
        250.. => json!([spec]),
        240..250 => json!({ "spec": spec }),
        _ => json!({ "metadata": { "resourceVersion": version.to_string() }, "spec": spec }),
    }
}
