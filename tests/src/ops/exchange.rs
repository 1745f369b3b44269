//! An answer of HTTP/1.1 in pieces, and through buffers of several sizes.

use crate::models::exchange::{self, Answer};
use embedded_io::{ErrorKind, ErrorType, Read};
use listwatch_transport_http::exchange::{Exchange, ExchangeError, Head, Part, ProtocolError, Received, Response};

/// What an answer showed before the server closed the connection.
#[derive(Debug, PartialEq)]
struct Seen {
    head: Option<Head>,
    body: Vec<u8>,
    end: Result<(), ProtocolError>,
    is_reusable: bool,
}

/// Divides the answer that `data` holds behind three bytes: the lengths of the pieces, which the answer is cut into again
/// and again.
///
/// # Panics
/// Where what is read depends on the pieces, or is not what httparse reads.
pub fn run(data: &[u8]) {
    let Some((lengths, answer)) = data.split_first_chunk::<3>() else { return };
    let lengths = lengths.map(|length| usize::from(length) + 1);
    let whole = parts(answer, &[answer.len() + 1]);
    assert_eq!(parts(answer, &[1]), whole, "byte by byte");
    assert_eq!(parts(answer, &lengths), whole, "in pieces of {lengths:?}");
    for room in lengths {
        assert_eq!(through::<1>(answer, &lengths, room), whole, "a byte at a time, and then {room}");
        assert_eq!(through::<100>(answer, &lengths, room), whole, "100 bytes at a time, and then {room}");
    }
    compare(answer, &whole);
}

/// What is accepted is what httparse reads, which accepts more. Of a line that is not complete it refuses some earlier.
fn compare(answer: &[u8], seen: &Seen) {
    // The model has no room for more headers.
    let has_room = answer.windows(2).filter(|pair| pair == b"\r\n").count() < exchange::HEADERS;
    let is_closed = seen.end.is_err_and(|error| error.is_closed());
    if !has_room || seen.end.is_err() && !is_closed {
        return;
    }
    let status = seen.head.map(|head| head.status());
    let seen = Answer { status, body: seen.body.clone(), is_complete: !is_closed };
    match exchange::read(answer) {
        Some(read) => assert_eq!(seen, read, "{}", answer.escape_ascii()),
        None => assert!(is_closed, "httparse refuses {}", answer.escape_ascii()),
    }
}

/// The parts of an answer that comes in pieces of these lengths.
fn parts(answer: &[u8], lengths: &[usize]) -> Seen {
    let mut seen = Seen { head: None, body: Vec::new(), end: Ok(()), is_reusable: false };
    let (mut response, mut connection) = (Response::new(), Pieces::new(answer, lengths));
    let mut piece = &answer[..0];
    loop {
        let (taken, part) = match response.handle_bytes(piece) {
            Ok(read) => read,
            Err(error) => return Seen { end: Err(error), ..seen },
        };
        let data = &piece[..taken];
        piece = &piece[taken..];
        match part {
            Some(Part::Head(head)) => assert_eq!(seen.head.replace(head), None),
            Some(Part::Data(range)) => seen.body.extend_from_slice(&data[range]),
            Some(Part::End) => return Seen { is_reusable: response.is_reusable() && connection.is_over(), ..seen },
            None => {
                assert!(piece.is_empty(), "{} bytes are left", piece.len());
                piece = connection.next(usize::MAX);
                if piece.is_empty()
                    && let Err(error) = response.handle_close()
                {
                    return Seen { end: Err(error), ..seen };
                }
            }
        }
    }
}

/// The same through an exchange, and a buffer of this size.
fn through<const N: usize>(answer: &[u8], lengths: &[usize], room: usize) -> Seen {
    let mut seen = Seen { head: None, body: Vec::new(), end: Ok(()), is_reusable: false };
    let (mut exchange, mut connection, mut buf) = (Exchange::<N>::new(), Pieces::new(answer, lengths), vec![0; room]);
    loop {
        match exchange.read(&mut connection, &mut buf) {
            Ok(Received::Head(head)) => assert_eq!(seen.head.replace(head), None),
            Ok(Received::Data(len)) => seen.body.extend_from_slice(&buf[..len]),
            Ok(Received::End) => return Seen { is_reusable: exchange.is_reusable() && connection.is_over(), ..seen },
            Err(ExchangeError::Protocol(error)) => return Seen { end: Err(error), ..seen },
            Err(error) => panic!("{error}"),
        }
    }
}

/// A connection that brings an answer in pieces.
struct Pieces<'a> {
    rest: &'a [u8],
    lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl<'a> Pieces<'a> {
    fn new(rest: &'a [u8], lengths: &'a [usize]) -> Self {
        Self { rest, lengths: lengths.iter().cycle() }
    }

    fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    fn next(&mut self, most: usize) -> &'a [u8] {
        let len = self.lengths.next().map_or(1, |length| *length).min(most).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(len);
        self.rest = rest;
        piece
    }
}

impl ErrorType for Pieces<'_> {
    type Error = ErrorKind;
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let piece = self.next(buf.len());
        buf[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}
