//! Responses: cleared of credentials, and decompressed.

use super::connection::Connection;
use super::outgoing::OutgoingRequest;
use super::{error, warnings};
use crate::auth::{BodyRedactor, Redactor};
use crate::connect::{ReadSize, VeiledBody};
use crate::server::Server;
use flate2::read::MultiGzDecoder;
use listwatch_core::api::{ApiRequest, ApiResponse};
use listwatch_core::transport::{ResponseHead, TransportError, TransportErrorKind};
use std::io::{self, ErrorKind, Read};
use ureq::http::Response;

/// Sends a single request, and reads the whole response.
pub(crate) fn fetch(
    connection: &Connection,
    server: &Server,
    request: &ApiRequest,
) -> Result<ApiResponse, TransportError> {
    let limit = server.limits.max_response_to(request.method);
    let answer = Answer::ask(connection, server, &OutgoingRequest::single(request, &server.limits))?;
    let (head, warnings) = (answer.head.clone(), answer.warnings.clone());
    let (mut pieces, mut body, mut piece) = (answer.pieces()?, Vec::new(), Vec::new());
    loop {
        let is_end = pieces.read(&mut piece)? == 0;
        body.append(&mut piece);
        if body.len() > limit {
            return Err(error::too_long(request.method, limit));
        }
        if is_end {
            let response = ApiResponse::new(head.status, body).with_retry_after(head.retry_after);
            return Ok(response.with_warnings(warnings));
        }
    }
}

/// A response whose head has arrived, cleared of the request's credentials.
pub(super) struct Answer {
    pub(super) head: ResponseHead,
    /// What the server warns of.
    pub(super) warnings: Vec<String>,
    response: Response<VeiledBody>,
    redactor: Redactor,
    is_refusal: bool,
}

impl Answer {
    /// Sends a request, and waits for the head of the response. A redirect is an error.
    pub(super) fn ask(
        connection: &Connection,
        server: &Server,
        request: &OutgoingRequest,
    ) -> Result<Self, TransportError> {
        let (response, redactor) = connection.send(server, request)?;
        error::redirection(&response).map_err(|error| redactor.error(error))?;
        let warnings = warnings::of(&response).iter().map(|text| redactor.text(text)).collect();
        let head = redactor.head(head_of(&response));
        let is_refusal = request.is_refused_by(head.status);
        Ok(Self { head, warnings, response, redactor, is_refusal })
    }

    /// The body.
    pub(super) fn pieces(self) -> Result<Pieces, TransportError> {
        let redactor = self.redactor.of_answer(&self.head, self.is_refusal);
        let content = Content::of(self.response)?;
        // A decoder whose output did not fit waits for more input before it gives the rest.
        let size = if content.is_plain() { ReadSize::default() } else { ReadSize::largest() };
        let left = if self.is_refusal { ResponseHead::MAX_REFUSAL } else { usize::MAX };
        Ok(Pieces { content, size, redactor, left })
    }
}

/// The parts of a response's head that the machines read.
fn head_of<B>(response: &Response<B>) -> ResponseHead {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    ResponseHead::from_headers(response.status().as_u16(), header)
}

/// The body of a response, piece by piece.
pub(super) struct Pieces {
    content: Content,
    size: ReadSize,
    redactor: Option<BodyRedactor>,
    /// So many bytes are read. Then the connection is dropped with what comes behind them.
    left: usize,
}

/// A body, decompressed. Nothing is stored, so a compression bomb costs time and no memory.
enum Content {
    Plain(VeiledBody),
    Gzip(Box<MultiGzDecoder<VeiledBody>>),
}

impl Pieces {
    /// Whether the body is delivered as it comes, neither decompressed nor redacted.
    pub(super) fn is_plain(&self) -> bool {
        self.content.is_plain() && self.redactor.is_none()
    }

    /// The body as it comes, unless it is compressed.
    pub(super) fn into_plain(self) -> Option<VeiledBody> {
        if let Content::Plain(body) = self.content { Some(body) } else { None }
    }

    /// Replaces the content of `piece` by the next piece, and returns how many bytes were read for it.
    ///
    /// At the end it returns zero; this last piece may hold bytes that the redactor held back. After an error there is
    /// no further piece.
    pub(super) fn read(&mut self, piece: &mut Vec<u8>) -> Result<usize, TransportError> {
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

impl Content {
    fn of(response: Response<VeiledBody>) -> Result<Self, TransportError> {
        let encoding = response.headers().get("content-encoding").map(|value| value.as_bytes().to_ascii_lowercase());
        match encoding.as_deref() {
            None | Some(b"" | b"identity") => Ok(Self::Plain(response.into_body())),
            Some(b"gzip" | b"x-gzip") => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(response.into_body())))),
            Some(_) => {
                let detail = "the response has a content encoding that was not requested";
                Err(TransportError::new(TransportErrorKind::Protocol, detail))
            }
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buf),
            Self::Gzip(reader) => reader.read(buf).map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => io::Error::new(ErrorKind::InvalidData, "the response is not valid gzip"),
                _ => error,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_comes_without_its_parameters() {
        let response = Response::builder().status(410).header("Content-Type", "Application/JSON; charset=utf-8");
        let head = head_of(&response.body(()).unwrap());
        assert_eq!(
            (head.status, head.content_type.as_deref(), head.retry_after),
            (410, Some("application/json"), None)
        );
    }
}
