use super::body::Content;
use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::{error, head, warnings};
use crate::auth::{BodyRedactor, Redactor};
use crate::connect::{ReadSize, VeiledBody};
use crate::server::Server;
use listwatch_core::transport::{ResponseHead, TransportError};
use std::io::Read;
use ureq::http::Response;

/// A response whose head has arrived, cleared of the request's credentials.
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    /// What the server warns of.
    pub(crate) warnings: Vec<String>,
    response: Response<VeiledBody>,
    redactor: Redactor,
    is_refusal: bool,
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
        let warnings = warnings::of(&response).iter().map(|text| redactor.text(text)).collect();
        let head = redactor.head(head::of(&response));
        let is_refusal = request.is_refused_by(head.status);
        Ok(Self { head, warnings, response, redactor, is_refusal })
    }

    /// The body.
    pub(crate) fn pieces(self) -> Result<Pieces, TransportError> {
        let redactor = self.redactor.of_answer(&self.head, self.is_refusal);
        let content = Content::of(self.response)?;
        let size = content.read_size();
        let left = if self.is_refusal { ResponseHead::MAX_REFUSAL } else { usize::MAX };
        Ok(Pieces { content, size, redactor, left })
    }
}

/// The body of a response, piece by piece.
pub(crate) struct Pieces {
    content: Content,
    size: ReadSize,
    redactor: Option<BodyRedactor>,
    /// So many bytes are read. Then the connection is dropped with what comes behind them.
    left: usize,
}

impl Pieces {
    /// Whether the body is delivered as it comes, neither decompressed nor redacted.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self { content: Content::Plain(_), redactor: None, .. })
    }

    /// The body without its redactor.
    pub(super) fn into_content(self) -> Content {
        self.content
    }

    /// Replaces the content of `piece` by the next piece, and returns how many bytes were read for it.
    ///
    /// At the end it returns zero; this last piece may hold bytes that the redactor held back. After an error there is
    /// no further piece.
    pub(crate) fn read(&mut self, piece: &mut Vec<u8>) -> Result<usize, TransportError> {
        ReadSize::fit(piece, self.size.bytes().min(self.left));
        let read =
            if self.left == 0 { Ok(0) } else { self.content.read(piece).map_err(|cause| error::of(&cause.into())) };
        let len = *read.as_ref().unwrap_or(&0);
        self.left -= len;
        self.size.on_read(len);
        piece.truncate(len);
        if let Some(redactor) = &mut self.redactor {
            redactor.pass(piece);
        }
        read
    }
}
