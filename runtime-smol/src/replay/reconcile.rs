//! A reconcile that is replayed: its reads, its requests, and what differs from the tape.

use super::plausible;
use super::requests::{self, Sought, is_write, sent};
use super::script::Record;
use super::wrote::{MadeUp, Wrote, told};
use super::{NotedRead, Replay};
use crate::mutex::Mutex;
use crate::witness::Witness;
use core::task::Waker;
use listwatch_core::api::{ApiRequest, Method, Reply};
use listwatch_core::request::is_confidential;
use listwatch_core::time::WallTime;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use listwatch_transport_file::SentCall;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) struct Replayed {
    number: u64,
    of: Arc<str>,
    replay: Arc<Replay>,
    live: Mutex<Live>,
}

struct Live {
    record: Record,
    /// How many answers and sleeps it had up to now.
    resumed: u64,
    reads: HashMap<Box<str>, u64>,
    made_up: MadeUp,
    /// Its writes, and the reads that the tape has no answer to.
    sent: Vec<SentCall>,
    /// A read could not be as it was.
    is_inexact: bool,
    /// The calls that wait for their answers, by the places on the tape.
    waiting: HashMap<usize, Waker>,
}

/// The answer to a call.
pub(super) enum Ticket {
    /// That of the recorded call at this place.
    Recorded(usize),
    Now(Reply),
    /// The tape ends before.
    Never,
}

impl Replayed {
    pub(super) fn new(number: u64, record: Record, replay: Arc<Replay>) -> Self {
        let live = Live {
            resumed: 0,
            reads: HashMap::new(),
            made_up: MadeUp::default(),
            sent: Vec::new(),
            is_inexact: false,
            waiting: HashMap::new(),
            record,
        };
        Self { number, of: Arc::clone(&live.record.beginning.of), replay, live: Mutex::new(live) }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn of(&self) -> &Arc<str> {
        &self.of
    }

    /// What the tape says of it.
    pub(crate) fn with_record<R>(&self, read: impl FnOnce(&Record) -> R) -> R {
        read(&self.live.lock().record)
    }

    /// The outcome on the tape; `None` if the tape ends first.
    pub(crate) fn recorded_outcome(&self) -> Option<String> {
        self.with_record(|record| record.outcome.clone())
    }

    /// The tape has come to the answer at this place.
    pub(crate) fn on_answered(&self, place: usize) {
        let (waker, known) = {
            let mut live = self.live.lock();
            let Some(call) = live.record.calls.get_mut(place) else { return };
            call.is_answered = true;
            let known = plausible::known(&call.sent, call.reply.as_ref());
            (live.waiting.remove(&place), known)
        };
        if let Some((path, object)) = known {
            self.replay.state().known.add(path, object);
        }
        waker.into_iter().for_each(Waker::wake);
    }

    /// The tape has come to these reads. Caches that the reconcile did not read go on too.
    pub(crate) fn on_reads(&self, reads: &[NotedRead]) {
        for read in reads {
            let is_left = {
                let mut live = self.live.lock();
                let left =
                    live.record.reads.iter().position(|other| other.line == read.line && other.stream == read.stream);
                left.and_then(|place| live.record.reads.remove(place)).is_some()
            };
            if is_left {
                self.replay.bring(self.number, read);
            }
        }
    }

    /// Finds the recorded call that this is, and its answer.
    pub(super) fn on_call(&self, request: &ApiRequest) -> Ticket {
        let mut live = self.live.lock();
        let mut call = sent(request);
        let is_write = is_write(&call);
        let recorded = live.record.calls.iter().map(|recorded| (&recorded.sent, recorded.is_made));
        if let Some(place) = Sought::new(&call).place(recorded) {
            live.record.calls[place].is_made = true;
            if is_write {
                let recorded = &live.record.calls[place].sent;
                let (hashed, is_same) = (recorded.hashed, requests::differences(recorded, &call).is_empty());
                if !is_same {
                    live.lay_over(place, request);
                }
                live.sent.push(SentCall { hashed, ..call });
            }
            return Ticket::Recorded(place);
        }
        let is_cut = live.record.outcome.is_none() && live.record.calls.iter().all(|call| call.is_made);
        if is_cut {
            return Ticket::Never;
        }
        let known = self.replay.newest(&request.path);
        call.hashed = is_confidential(&call.target) && !live.has_values();
        live.made_up.any = true;
        if !is_write && known.is_none() {
            let detail = format!("the tape has no answer to GET {}", call.target);
            live.sent.push(call);
            live.guess();
            return Ticket::Now(Reply::Failed(TransportError::new(TransportErrorKind::Other, detail)));
        }
        if is_write {
            live.sent.push(call);
        }
        if request.method == Method::Patch && known.is_none() {
            live.guess();
        }
        Ticket::Now(Reply::Answered(plausible::answer(request, known.as_ref())))
    }

    /// The answer to the recorded call at this place, once the tape has come to it.
    pub(super) fn poll_answer(&self, place: usize, waker: &Waker) -> Option<Reply> {
        let waker = waker.clone();
        let (reply, _last) = {
            let mut live = self.live.lock();
            let call = live.record.calls.get(place)?;
            match call.reply.clone().filter(|_| call.is_answered) {
                Some(reply) => {
                    live.resumed += 1;
                    (Some(reply), None)
                }
                None => (None, live.waiting.insert(place, waker)),
            }
        };
        reply
    }

    /// Nobody waits for the answer at this place any more.
    pub(super) fn forget(&self, place: usize) {
        let _waker = self.live.lock().waiting.remove(&place);
    }

    /// What it wrote on the tape, and what it wrote here, now that it has ended with this outcome; `None` if it was cut
    /// off.
    pub(super) fn take_writes(&self, outcome: Option<String>) -> (Wrote, Wrote) {
        let mut live = self.live.lock();
        let recorded = live.record.take_writes();
        let outcome = recorded.outcome.as_ref().zip(outcome).map(|(recorded, outcome)| told(recorded, outcome));
        let (sent, made_up, is_inexact) = (core::mem::take(&mut live.sent), live.made_up, live.is_inexact);
        let (beginning, is_too_long) = (recorded.beginning.clone(), recorded.is_too_long);
        (recorded, Wrote { beginning, sent, outcome, made_up, is_inexact, is_too_long, is_of_tape: false })
    }
}

impl Live {
    /// Lays what is sent over the recorded answer to the call at this place.
    fn lay_over(&mut self, place: usize, request: &ApiRequest) {
        if let Some(Reply::Answered(answer)) = &mut self.record.calls[place].reply {
            self.made_up.any |= plausible::lay_over(answer, request);
        }
    }

    /// Whether the tape has the values of the Secrets and tokens that the reconcile wrote.
    fn has_values(&self) -> bool {
        self.record
            .calls
            .iter()
            .any(|call| !call.sent.hashed && is_write(&call.sent) && is_confidential(&call.sent.target))
    }

    /// The answer that follows is a guess.
    fn guess(&mut self) {
        self.made_up.behind.get_or_insert(self.sent.len());
    }

    /// The noted read that this is, if the reconcile has come to it.
    fn next_read(&mut self, stream: &str) -> Option<(NotedRead, bool)> {
        if !self.reads.contains_key(stream) {
            self.reads.insert(stream.into(), 0);
        }
        let count = self.reads.get_mut(stream).map_or(0, |count| {
            *count += 1;
            *count
        });
        let resumed = self.resumed;
        let place = self.record.reads.iter().position(|read| read.stream == stream)?;
        let noted = &self.record.reads[place];
        let has_come = noted.read <= count && noted.after <= resumed;
        if has_come { self.record.reads.remove(place).map(|noted| (noted.clone(), noted.read == count)) } else { None }
    }
}

impl Witness for Replayed {
    fn reconcile(&self) -> u64 {
        self.number
    }

    fn before_read(&self, stream: &str) {
        let Some((noted, is_same)) = self.live.lock().next_read(stream) else { return };
        if !self.replay.bring(self.number, &noted) && is_same {
            self.live.lock().is_inexact = true;
        }
    }

    fn on_read(&self, _stream: &str, _changes: u64, _version: Option<&str>) {}

    fn on_date(&self, date: WallTime) -> WallTime {
        self.live.lock().record.dates.pop_front().unwrap_or(date)
    }

    fn on_awake(&self) {
        self.live.lock().resumed += 1;
    }
}
