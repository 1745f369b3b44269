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

/// How many bytes are read at once.
const CHUNK: usize = 8 * 1024;

/// A response whose head has arrived, cleared of the request's credentials.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    response: Response<Body>,
    redactor: Redactor,
}

impl Answer {
    /// Sends a request, and waits for the head of the response. A redirect is an error.
    pub(crate) fn ask(
        connection: &Connection,
        server: &Server,
        request: &OutgoingRequest,
    ) -> Result<Self, TransportError> {
        let (response, redactor) = connection.send(server, &request.call())?;
        error::redirection(&response).map_err(|error| redactor.error(error))?;
        Ok(Self { head: redactor.head(head::of(&response)), response, redactor })
    }

    /// The body.
    pub(crate) fn pieces(self) -> Result<Pieces, TransportError> {
        let redactor = self.redactor.of_answer(&self.head);
        Ok(Pieces { content: Content::of(self.response)?, redactor })
    }
}

/// The body of a response, piece by piece.
pub(crate) struct Pieces {
    content: Content,
    redactor: Option<BodyRedactor>,
}

impl Pieces {
    /// Replaces the content of `piece` by the next piece, and returns how many bytes were read for it.
    ///
    /// At the end it returns zero; this last piece may hold bytes that the redactor held back. After an error there is
    /// no further piece.
    pub(crate) fn read(&mut self, piece: &mut Vec<u8>) -> Result<usize, TransportError> {
        piece.resize(CHUNK, 0);
        let read = self.content.read(piece).map_err(|cause| error::of(&cause.into()));
        piece.truncate(*read.as_ref().unwrap_or(&0));
        if let Some(redactor) = &mut self.redactor {
            redactor.pass(piece);
        }
        read
    }
}
