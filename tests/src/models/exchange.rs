//! An answer of HTTP/1.1 as httparse reads it, from all of its bytes.

use httparse::{EMPTY_HEADER, Response, Status};

/// The most headers of a head or of a trailer.
pub const HEADERS: usize = 512;

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of its head, unless that is not complete.
    pub status: Option<u16>,
    /// The body, as far as there is one.
    pub body: Vec<u8>,
    /// Whether the answer ended properly when the server closed the connection.
    pub is_complete: bool,
}

/// Reads an answer; `None` where httparse refuses it, or has no room for its headers.
#[must_use]
pub fn read(mut bytes: &[u8]) -> Option<Answer> {
    loop {
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut response = Response::new(&mut headers);
        let Status::Complete(len) = response.parse(bytes).ok()? else {
            return Some(Answer { status: None, body: Vec::new(), is_complete: false });
        };
        let status = response.code?;
        bytes = &bytes[len..];
        if status >= 200 {
            let (body, is_complete) = body(status, response.headers, bytes)?;
            return Some(Answer { status: Some(status), body, is_complete });
        }
    }
}

/// The body, and whether it is complete.
fn body(status: u16, headers: &[httparse::Header<'_>], bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
    let value = |name: &str| headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|it| it.value);
    if matches!(status, 204 | 304) {
        return Some((Vec::new(), true));
    }
    if value("transfer-encoding").is_some() {
        return chunks(bytes);
    }
    let Some(length) = value("content-length") else { return Some((bytes.to_vec(), true)) };
    let length: u64 = std::str::from_utf8(length).ok()?.trim_matches([' ', '\t']).parse().ok()?;
    let len = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
    Some((bytes[..len].to_vec(), len as u64 == length))
}

fn chunks(mut bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    loop {
        let Status::Complete((at, size)) = httparse::parse_chunk_size(bytes).ok()? else { return Some((body, false)) };
        bytes = &bytes[at..];
        if size == 0 {
            let mut headers = [EMPTY_HEADER; HEADERS];
            return Some((body, httparse::parse_headers(bytes, &mut headers).ok()?.is_complete()));
        }
        let len = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
        body.extend_from_slice(&bytes[..len]);
        bytes = &bytes[len..];
        match bytes {
            [b'\r', b'\n', rest @ ..] => bytes = rest,
            [] | [b'\r'] => return Some((body, false)),
            _ => return None,
        }
    }
}
