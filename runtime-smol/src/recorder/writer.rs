use super::handle::Recorder;
use crate::calls::{Caller, Calls};
use crate::caught::caught_call;
use crate::client::{Client, Unanswered};
use crate::stderr;
use crate::waiting::Wait;
use core::pin::Pin;
use core::task::{Context, Poll};
use listwatch_core::Instant;
use listwatch_core::api::{ApiResponse, CallAction};
use listwatch_core::recorder::RecorderProblem;
use listwatch_core::request::RequestId;

/// Writes the occurrences of a [`Recorder`]: a future for any executor, which ends after [`Recorder::stop`].
///
/// After a stop, an Event has three attempts, a second apart; a program that cannot wait for them drops the writer.
#[must_use = "a writer writes nothing unless it is polled"]
pub struct EventWriter {
    written: Written,
    calls: Calls,
    wait: Wait,
}

/// A recorder, and who is told of its problems.
struct Written {
    recorder: Recorder,
    on_problem: Option<OnProblem>,
}

type OnProblem = Box<dyn Fn(&RecorderProblem) + Send + Sync>;

impl EventWriter {
    /// Writes the occurrences of this recorder with this client. A recorder has one writer at a time. If it is dropped,
    /// another one goes on; what it had sent is sent again after its deadline.
    pub fn new(recorder: &Recorder, client: &Client) -> Self {
        let (wait, calls) = (recorder.waiting().join(), Calls::new(client, recorder.clock()));
        Self { written: Written { recorder: recorder.clone(), on_problem: None }, calls, wait }
    }

    /// Calls `on_problem` with each Event that could not be written, instead of writing a line to standard error. If it
    /// panics, the writer goes on.
    pub fn on_problem(mut self, on_problem: impl Fn(&RecorderProblem) + Send + Sync + 'static) -> Self {
        self.written.on_problem = Some(Box::new(on_problem));
        self
    }
}

impl Future for EventWriter {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { written, calls, wait } = &mut *self;
        wait.set(cx.waker());
        calls.poll(written, cx)
    }
}

impl Caller for Written {
    type End = ();

    fn poll_call(&mut self) -> Option<CallAction> {
        let now = self.recorder.clock().now();
        self.recorder.machine().poll_action(now)
    }

    fn handle_answer(&mut self, id: RequestId, answer: Result<ApiResponse, Unanswered>) {
        let now = self.recorder.clock().now();
        self.recorder.machine().handle_answer(now, id, answer.map_err(Into::into));
    }

    fn poll_end(&mut self) -> Option<()> {
        self.tell_problems();
        self.recorder.machine().is_done().then_some(())
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.recorder.machine().poll_timeout()
    }

    fn handle_timeout(&mut self) {
        let now = self.recorder.clock().now();
        self.recorder.machine().handle_timeout(now);
    }
}

impl Written {
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
}

listwatch_core::summary!("EventWriter" for EventWriter, |it| { recorder: it.written.recorder });
