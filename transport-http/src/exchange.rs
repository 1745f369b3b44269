//! One request and its answer.

use crate::error;
use crate::head;
use crate::pipe::{self, Piece, Receiver, Sender};
use crate::server::BUFFER;
use listwatch_core::TransportError;
use std::io::Read;
use std::task::{Context, Poll};
use std::thread;
use ureq::Agent;

/// Enough for TLS, and for a build without optimisation.
const STACK: usize = 256 * 1024;

/// A request under way, read by a thread of its own. Dropping it shuts the connection down, which wakes the thread.
#[derive(Debug)]
pub(crate) struct Exchange {
    agent: Agent,
    answer: Receiver,
}

impl Exchange {
    /// Sends a GET request.
    pub(crate) fn start(agent: Agent, url: String) -> Self {
        let (sender, answer) = pipe::new();
        let worker = {
            let agent = agent.clone();
            move || sender.end(receive(&agent, &url, &sender))
        };
        // Without a thread the sender is dropped, which is reported as any other failure is.
        drop(thread::Builder::new().name("listwatch-http".into()).stack_size(STACK).spawn(worker));
        Self { agent, answer }
    }

    pub(crate) fn poll(&self, cx: &Context<'_>, buf: &mut [u8]) -> Poll<Piece> {
        self.answer.poll(cx, buf)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}

/// Reads the whole answer into the pipe, as fast as it is taken out there.
fn receive(agent: &Agent, url: &str, sender: &Sender) -> Result<(), TransportError> {
    let response = agent.get(url).call().map_err(|cause| error::of(&cause))?;
    sender.head(head::of(&response));
    let mut body = response.into_body().into_reader();
    let mut chunk = vec![0; BUFFER];
    loop {
        // Nothing is read behind an error: there ureq reports a proper end.
        let len = body.read(&mut chunk).map_err(|cause| error::of(&cause.into()))?;
        chunk.truncate(len);
        if len == 0 || !sender.data(&mut chunk) {
            return Ok(());
        }
        chunk.resize(BUFFER, 0);
    }
}
