//! A tape: what an API server answered, in the order of the requests.
//!
//! A capture of `tests/data/captures` has requests, heads, times and chunks. A device asks for lists and watches, and
//! reads the bodies. It requests no pages, so those of a list are one answer. So a tape is its answers, one behind the
//! other:
//!
//! | bytes | contents |
//! |--:|---|
//! | 1 | `L` for a list or a page of one, `W` for a watch |
//! | 1 | `.` if the answer ended, `!` if it broke off or never began |
//! | 2 | the status; 0 if there was none |
//! | 4 | the length of the body |
//! | | the body |
//!
//! For an image that reads a connection, the body is the whole answer as the bytes of HTTP/1.1.
//!
//! Numbers have their least significant byte first. A list takes the next answer `L`, and a watch the next answer `W`.

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// A list, or a page of one.
    List,
    /// A watch.
    Watch,
}

/// A recorded answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status; 0 if there was none.
    pub status: u16,
    /// Whether the answer ended properly.
    pub ended: bool,
    /// The bytes of the body.
    pub body: &'static [u8],
}

/// The answers that are left.
#[derive(Clone, Debug)]
pub struct Tape {
    lists: &'static [u8],
    watches: &'static [u8],
}

/// The bytes before a body.
pub const HEAD: usize = 8;

impl Tape {
    /// A tape of these bytes.
    #[must_use]
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self { lists: bytes, watches: bytes }
    }

    /// Takes the next answer to such a request; `None` where none is left.
    pub fn next(&mut self, query: Query) -> Option<Answer> {
        let rest = match query {
            Query::List => &mut self.lists,
            Query::Watch => &mut self.watches,
        };
        loop {
            let (head, behind) = rest.split_first_chunk::<HEAD>()?;
            let (found, answer, behind) = read(*head, behind)?;
            *rest = behind;
            if found == query {
                return Some(answer);
            }
        }
    }
}

/// The answer with that head, and what is behind it; `None` where the tape is damaged.
fn read(head: [u8; HEAD], rest: &'static [u8]) -> Option<(Query, Answer, &'static [u8])> {
    let [query, end, low, high, len @ ..] = head;
    let (body, behind) = rest.split_at_checked(u32::from_le_bytes(len) as usize)?;
    let query = match query {
        b'L' => Query::List,
        b'W' => Query::Watch,
        _ => return None,
    };
    Some((query, Answer { status: u16::from_le_bytes([low, high]), ended: end == b'.', body }, behind))
}

/// Where a body comes from, in pieces.
pub trait Source {
    /// Copies the next bytes to the front of `room`; returns how many, and 0 at the end.
    fn read(&mut self, room: &mut [u8]) -> usize;
}

impl Source for &'static [u8] {
    fn read(&mut self, room: &mut [u8]) -> usize {
        let (piece, rest) = self.split_at(room.len().min(self.len()));
        room[..piece.len()].copy_from_slice(piece);
        *self = rest;
        piece.len()
    }
}
