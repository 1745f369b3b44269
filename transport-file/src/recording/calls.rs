use super::hashes::Hashes;
use super::recorder::{failure, retry_after};
use super::tape::Tape;
use crate::capture::Data;
use crate::capture::format::{End, Payload, RequestBody, RequestRecord, ResponseRecord, Text};
use core::task::Poll;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::text::SharedText;
use listwatch_core::transport::{ReadContext, TransportError};
use std::borrow::Cow;
use std::collections::HashMap;

/// An [`ApiTransport`] that records the requests and responses of another one on a [`Tape`]. [`Tape::client`] makes one.
///
/// It passes requests and responses on unchanged. A request is sent at its first poll, because its line stands before it
/// is sent, and bears the time. An [unrecorded](ApiRequest::unrecorded) one leaves no line.
pub struct RecordedCalls<X> {
    transport: X,
    tape: Tape,
    open: HashMap<RequestId, OpenCall>,
}

/// An open request.
enum OpenCall {
    /// It is written and sent at its next poll, which knows the time.
    Unsent(ApiRequest),
    Sent {
        /// Its number on the tape.
        id: u64,
        /// Whether it is confidential.
        hashed: bool,
    },
}

impl Tape {
    /// Records the single requests that go by this transport.
    #[must_use]
    pub fn client<X: ApiTransport>(&self, transport: X) -> RecordedCalls<X> {
        RecordedCalls::new(self.clone(), transport)
    }
}

impl<X: ApiTransport> RecordedCalls<X> {
    pub(super) fn new(tape: Tape, transport: X) -> Self {
        Self { transport, tape, open: HashMap::new() }
    }

    /// Writes and sends a request, if it is not sent yet.
    fn send(&mut self, request_id: RequestId, now: Instant) -> Result<(), TransportError> {
        let Some(open @ OpenCall::Unsent(_)) = self.open.get_mut(&request_id) else { return Ok(()) };
        let id = self.tape.next_request();
        let OpenCall::Unsent(request) = core::mem::replace(open, OpenCall::Sent { id, hashed: false }) else {
            return Ok(());
        };
        let hashes = self.tape.hashes(&request.path);
        let hashed = hashes.is_some();
        *open = OpenCall::Sent { id, hashed };
        let body = body(&request.body, hashes).map(|body| RequestBody::of(&body));
        self.tape.records(now, id, [Payload::Request(RequestRecord { body, ..sent(&request, hashed) })])?;
        self.transport.open(request_id, &request);
        Ok(())
    }

    /// Writes the end of a request.
    fn end(&mut self, request_id: RequestId, now: Instant, reply: &Reply) -> Result<(), TransportError> {
        let Some(OpenCall::Sent { id, hashed }) = self.open.remove(&request_id) else { return Ok(()) };
        let hashes = self.tape.all_hashes().filter(|_| hashed);
        let written = match reply {
            Reply::Answered(answer) => self.tape.records(now, id, answered(answer, hashes)),
            Reply::Failed(error) => self.tape.records(now, id, [Payload::End(failure(error, hashed))]),
            Reply::Idle { .. } => Ok(()),
        };
        self.tape.flush_soon(now);
        written
    }

    /// Ends a request that the tape cannot hold.
    fn fail(&mut self, id: RequestId, error: TransportError) -> Poll<Reply> {
        if let Some(OpenCall::Sent { .. }) = self.open.remove(&id) {
            self.transport.abort(id);
        }
        Poll::Ready(Reply::Failed(error))
    }
}

impl<X: ApiTransport> ApiTransport for RecordedCalls<X> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        if request.is_unrecorded {
            return self.transport.open(id, request);
        }
        self.open.insert(id, OpenCall::Unsent(request.clone()));
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let now = turn.now;
        if let Err(error) = self.send(id, now) {
            return self.fail(id, error);
        }
        match self.transport.poll_response(id, turn) {
            Poll::Ready(reply @ (Reply::Answered(_) | Reply::Failed(_))) => match self.end(id, now, &reply) {
                Ok(()) => Poll::Ready(reply),
                Err(error) => Poll::Ready(Reply::Failed(error)),
            },
            waiting => waiting,
        }
    }

    fn abort(&mut self, id: RequestId) {
        match self.open.remove(&id) {
            Some(OpenCall::Sent { id: recorded, .. }) => {
                self.tape.aborted(recorded);
                self.transport.abort(id);
            }
            Some(OpenCall::Unsent(_)) => {}
            None => self.transport.abort(id),
        }
    }

    fn waits_for(&self, id: RequestId) -> Option<SharedText> {
        self.transport.waits_for(id)
    }
}

impl<X> Drop for RecordedCalls<X> {
    fn drop(&mut self) {
        for open in self.open.values() {
            if let OpenCall::Sent { id, .. } = open {
                self.tape.aborted(*id);
            }
        }
    }
}

listwatch_core::summary!(impl[X] "RecordedCalls" for RecordedCalls<X>, |it| { tape: it.tape, open: it.open.len() });

fn sent(request: &ApiRequest, hashed: bool) -> RequestRecord<'_> {
    let accept = [("accept".into(), Text(request.accept.into()))];
    let content_type = request.content_type.map(|value| ("content-type".into(), Text(value.into())));
    let headers = accept.into_iter().chain(content_type).collect();
    let by = request.sender;
    RequestRecord { headers, hashed, by, ..RequestRecord::new(request.method.name(), request.to_string()) }
}

fn answered<'a>(answer: &'a ApiResponse, hashes: Option<&Hashes>) -> impl Iterator<Item = Payload<'a>> + use<'a> {
    let headers = retry_after(answer.retry_after).into_iter().collect();
    let head = Payload::Response(ResponseRecord { status: answer.status, headers });
    let data = body(&answer.body, hashes).map(|body| Payload::Data(Data::new(body, false)));
    [Some(head), data, Some(Payload::End(End::new("eof")))].into_iter().flatten()
}

/// A body as the tape has it, if there is one.
fn body<'b>(body: &'b [u8], hashes: Option<&Hashes>) -> Option<Cow<'b, [u8]>> {
    let body = hashes.map_or(Cow::Borrowed(body), |hashes| hashes.body(body).into());
    (!body.is_empty()).then_some(body)
}
