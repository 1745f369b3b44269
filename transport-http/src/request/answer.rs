//! One answer, however its caller waits for it.

use super::body::Content;
use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::{error, head};
use crate::auth::{BodyRedactor, Redactor};
use crate::server::Server;
use listwatch_core::transport::{ResponseHead, TransportError};
use std::io::Read;
use ureq::Body;
use ureq::http::Response;

/// How much is read at once.
const CHUNK: usize = 8 * 1024;

/// An answer whose head has come, without the credentials that it was asked with.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    response: Response<Body>,
    redactor: Redactor,
}

impl Answer {
    /// Sends a request, and waits for the head of the answer. A redirection is an error.
    pub(crate) fn ask(line: &Connection, server: &Server, asked: &OutgoingRequest) -> Result<Self, TransportError> {
        let (response, redactor) = line.ask(server, &asked.call())?;
        error::redirection(&response).map_err(|error| redactor.error(error))?;
        Ok(Self { head: redactor.head(head::of(&response)), response, redactor })
    }

    /// What comes behind the head.
    pub(crate) fn pieces(self) -> Result<Pieces, TransportError> {
        let redacting = self.redactor.of_answer(&self.head);
        Ok(Pieces { content: Content::of(self.response)?, redacting })
    }
}

/// The body of an answer, piece by piece.
pub(crate) struct Pieces {
    content: Content,
    redacting: Option<BodyRedactor>,
}

impl Pieces {
    /// Replaces the content of a buffer by the next piece, and says how many bytes were read for it: none at the end,
    /// though the last piece may hold bytes from before. The first error is the last result.
    pub(crate) fn read(&mut self, piece: &mut Vec<u8>) -> Result<usize, TransportError> {
        piece.resize(CHUNK, 0);
        let read = self.content.read(piece).map_err(|cause| error::of(&cause.into()));
        piece.truncate(*read.as_ref().unwrap_or(&0));
        if let Some(redacting) = &mut self.redacting {
            redacting.pass(piece);
        }
        read
    }
}
