//! Drives a machine of core that asks for requests: sends them, gives it the answers, and waits until its time.

use crate::client::{Client, Unanswered};
use crate::clock::{Clock, Sleep};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::api::{ApiResponse, CallAction};
use listwatch_core::request::RequestId;

/// A machine that asks for requests, with those that are told of it.
pub(crate) trait Caller {
    /// What it ends with.
    type End;

    /// Takes what else has happened.
    fn on_turn(&mut self, _cx: &mut Context<'_>) {}

    fn poll_call(&mut self) -> Option<CallAction>;

    fn handle_answer(&mut self, id: RequestId, answer: Result<ApiResponse, Unanswered>);

    /// Tells what has happened; at the end, what it ends with.
    fn poll_end(&mut self) -> Option<Self::End>;

    fn poll_timeout(&mut self) -> Option<Instant>;

    fn handle_timeout(&mut self);
}

/// The open requests of a machine, and its sleep.
pub(crate) struct Calls {
    client: Client,
    clock: Clock,
    limit: Option<Duration>,
    open: Vec<(RequestId, Answer)>,
    sleep: Option<Sleep>,
}

type Answer = Pin<Box<dyn Future<Output = Result<ApiResponse, Unanswered>> + Send>>;

impl Calls {
    /// Requests of a machine that has deadlines of its own.
    pub(crate) fn new(client: &Client, clock: &Clock) -> Self {
        let (client, clock, limit) = (client.clone(), clock.clone(), Some(Duration::MAX));
        Self { client, clock, limit, open: Vec::new(), sleep: None }
    }

    /// Each request within the time limit of the client.
    pub(crate) fn within_limit_of_client(self) -> Self {
        Self { limit: None, ..self }
    }

    /// Drives the machine as far as it goes now.
    pub(crate) fn poll<C: Caller>(&mut self, caller: &mut C, cx: &mut Context<'_>) -> Poll<C::End> {
        loop {
            caller.on_turn(cx);
            self.open.retain_mut(|(id, answer)| match answer.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(answer) => {
                    caller.handle_answer(*id, answer);
                    false
                }
            });
            let has_opened = self.act(caller);
            if let Some(end) = caller.poll_end() {
                return Poll::Ready(end);
            }
            let is_due = self.clock.poll_at(&mut self.sleep, caller.poll_timeout(), cx).is_ready();
            if is_due {
                caller.handle_timeout();
            }
            if !has_opened && !is_due {
                return Poll::Pending;
            }
        }
    }

    /// Does what the machine asks for. Returns whether there is a new request.
    fn act(&mut self, caller: &mut impl Caller) -> bool {
        let mut has_opened = false;
        while let Some(call) = caller.poll_call() {
            match call {
                CallAction::Open { id, request } => {
                    self.open.push((id, Box::pin(self.client.send(&request, self.limit))));
                    has_opened = true;
                }
                CallAction::Abort(id) => self.open.retain(|(open, _)| *open != id),
                _ => {}
            }
        }
        has_opened
    }
}
