use super::handle::Recorder;
use crate::caught::caught_call;
use crate::client::Client;
use crate::clock::Sleep;
use crate::stderr;
use crate::waiting::Wait;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use listwatch_core::api::ApiResponse;
use listwatch_core::recorder::{RecorderAction, RecorderProblem};
use listwatch_core::request::RequestId;
use listwatch_core::transport::TransportError;

/// Writes the occurrences of a [`Recorder`]: a future for any executor, which ends after [`Recorder::stop`].
///
/// After a stop, an Event has three attempts, a second apart; a program that cannot wait for them drops the writer.
#[must_use = "a writer writes nothing unless it is polled"]
pub struct EventWriter {
    recorder: Recorder,
    client: Client,
    calls: Vec<Call>,
    on_problem: Option<OnProblem>,
    sleep: Option<Sleep>,
    wait: Wait,
}

type OnProblem = Box<dyn Fn(&RecorderProblem) + Send + Sync>;

/// A request that is open.
struct Call {
    id: RequestId,
    answer: Pin<Box<dyn Future<Output = Result<ApiResponse, TransportError>> + Send>>,
}

impl EventWriter {
    /// Writes the occurrences of this recorder with this client. A recorder has one writer at a time. If it is dropped,
    /// another one goes on; what it had sent is sent again after its deadline.
    pub fn new(recorder: &Recorder, client: &Client) -> Self {
        let wait = recorder.waiting().join();
        let (recorder, client) = (recorder.clone(), client.clone());
        Self { recorder, client, calls: Vec::new(), on_problem: None, sleep: None, wait }
    }

    /// Calls `on_problem` with each Event that could not be written, instead of writing a line to standard error. If it
    /// panics, the writer goes on.
    pub fn on_problem(mut self, on_problem: impl Fn(&RecorderProblem) + Send + Sync + 'static) -> Self {
        self.on_problem = Some(Box::new(on_problem));
        self
    }
}

impl Future for EventWriter {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.wait.set(cx.waker());
        loop {
            this.poll_answers(cx);
            let has_opened = this.act();
            this.tell_problems();
            if this.recorder.machine().is_done() {
                return Poll::Ready(());
            }
            if !has_opened && !this.poll_timeout(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl EventWriter {
    fn poll_answers(&mut self, cx: &mut Context<'_>) {
        let recorder = &self.recorder;
        self.calls.retain_mut(|call| {
            let Poll::Ready(answer) = call.answer.as_mut().poll(cx) else { return true };
            let now = recorder.clock().now();
            recorder.machine().handle_answer(now, call.id, answer);
            false
        });
    }

    /// Does what the machine asks for. Returns whether there is a new request.
    fn act(&mut self) -> bool {
        let mut has_opened = false;
        while let Some(action) = self.next_action() {
            match action {
                RecorderAction::Open { id, request } => {
                    self.calls.push(Call { id, answer: Box::pin(self.client.send(&request)) });
                    has_opened = true;
                }
                RecorderAction::Abort(id) => self.calls.retain(|call| call.id != id),
                _ => {}
            }
        }
        has_opened
    }

    fn next_action(&self) -> Option<RecorderAction> {
        let now = self.recorder.clock().now();
        self.recorder.machine().poll_action(now)
    }

    /// Without the lock: the function may record.
    fn tell_problems(&self) {
        while let Some(problem) = self.next_problem() {
            let _panicked = caught_call(|| match &self.on_problem {
                Some(on_problem) => on_problem(&problem),
                None => stderr::write_line(self.recorder.clock(), &problem),
            });
        }
    }

    fn next_problem(&self) -> Option<RecorderProblem> {
        self.recorder.machine().poll_problem()
    }

    /// Waits for the machine's next deadline. Returns whether it has come.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        let at = self.recorder.machine().poll_timeout();
        let clock = self.recorder.clock().clone();
        let is_due = clock.poll_at(&mut self.sleep, at, cx).is_ready();
        if is_due {
            self.recorder.machine().handle_timeout(clock.now());
        }
        is_due
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}
