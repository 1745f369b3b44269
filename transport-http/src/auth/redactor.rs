//! Removal of credentials from responses: a server, a proxy or an error page may echo the headers of a request.

use crate::secret::Secret;
use listwatch_core::text::Printable;
use listwatch_core::transport::{ResponseHead, TransportError};
use std::fmt::Write;

const REPLACEMENT: &[u8] = b"[redacted]";

/// The shortest credential in bytes that is redacted. A response is likely to contain a shorter text by chance.
const MIN_LEN: usize = 4;

/// So many leading bytes of a credential count as the whole, because an echo may be truncated.
const PREFIX: usize = 16;

/// Replaces a request's credentials in its response, both as they were sent and percent-encoded.
pub(crate) struct Redactor(Vec<Secret>);

impl Redactor {
    pub(crate) fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| secret.reveal().len() >= MIN_LEN);
        Self(secrets.flat_map(|secret| [percent_encoded(&secret), secret]).collect())
    }

    /// Removes the credentials, and escapes control characters.
    pub(crate) fn error(&self, error: TransportError) -> TransportError {
        TransportError::new(error.kind, Printable::new(self.text(&error.detail)).to_string())
    }

    /// Removes the credentials.
    pub(crate) fn head(&self, head: ResponseHead) -> ResponseHead {
        ResponseHead { content_type: head.content_type.map(|text| self.text(&text).into()), ..head }
    }

    /// Makes a redactor for the body; `None` for a body that the machines read, which must not change.
    pub(crate) fn of_answer(self, head: &ResponseHead) -> Option<BodyRedactor> {
        let is_json = head.content_type.as_ref().is_none_or(|it| it.starts_with("application/json"));
        (!(200..300).contains(&head.status) || !is_json).then(|| BodyRedactor { redactor: self, held: Vec::new() })
    }

    fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact(text.as_bytes(), true).0).into_owned()
    }

    /// Returns the bytes without credentials, and how many were examined. Unless this `is_all`, a trailing part that
    /// may begin a credential is left for the next call.
    fn redact(&self, bytes: &[u8], is_all: bool) -> (Vec<u8>, usize) {
        let (mut redacted, mut at) = (Vec::with_capacity(bytes.len()), 0);
        while at < bytes.len() {
            let (found, may_go_on) = self.beginning(&bytes[at..]);
            if may_go_on && !is_all {
                break;
            }
            match found {
                Some(_) => redacted.extend_from_slice(REPLACEMENT),
                None => redacted.push(bytes[at]),
            }
            at += found.unwrap_or(1);
        }
        (redacted, at)
    }

    /// Returns how many leading bytes are a credential, if enough of them match, and whether more of one may follow.
    fn beginning(&self, bytes: &[u8]) -> (Option<usize>, bool) {
        let (mut found, mut may_go_on) = (None, false);
        for secret in self.0.iter().map(Secret::reveal) {
            let common = bytes.iter().zip(secret).take_while(|(byte, other)| byte == other).count();
            if common == secret.len() || common >= PREFIX {
                found = found.max(Some(common));
            }
            may_go_on |= common == bytes.len() && common < secret.len();
        }
        (found, may_go_on)
    }
}

/// Redacts a body piece by piece.
pub(crate) struct BodyRedactor {
    redactor: Redactor,
    /// Bytes that may begin a credential.
    held: Vec<u8>,
}

impl BodyRedactor {
    /// Removes the credentials from the next piece. The last piece comes in empty, and gets the bytes held back.
    pub(crate) fn pass(&mut self, piece: &mut Vec<u8>) {
        let is_last = piece.is_empty();
        self.held.append(piece);
        let (redacted, len) = self.redactor.redact(&self.held, is_last);
        self.held.drain(..len);
        *piece = redacted;
    }
}

fn percent_encoded(secret: &Secret) -> Secret {
    let mut encoded = String::new();
    for byte in secret.reveal() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push((*byte).into()),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    Secret::new(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::transport::TransportErrorKind;

    fn redactor() -> Redactor {
        Redactor::new(["hunter2+the/token=", "hunter2", "abc"].map(Secret::new))
    }

    /// The text after it passed in pieces of this length.
    fn through(text: &str, len: usize) -> String {
        let head = ResponseHead { status: 401, ..ResponseHead::default() };
        let mut body = redactor().of_answer(&head).unwrap();
        let pieces = text.as_bytes().chunks(len).chain([&[][..]]).map(<[u8]>::to_vec);
        let passed = pieces.flat_map(|mut piece| {
            body.pass(&mut piece);
            piece
        });
        String::from_utf8(passed.collect()).unwrap()
    }

    #[test]
    fn a_credential_is_found_wherever_the_pieces_end() {
        for (text, expected) in [
            ("Bearer hunter2+the/token=!", "Bearer [redacted]!"),
            ("hunter2hunter2+the/token=", "[redacted][redacted]"),
            ("hunterhunter2", "hunter[redacted]"),
            ("hunter2%2Bthe%2Ftoken%3D", "[redacted]"),
            ("cut: hunter2+the/toke", "cut: [redacted]"),
            ("hunter2+th", "[redacted]+th"),
            ("hunter1 abc hunter", "hunter1 abc hunter"),
            ("", ""),
        ] {
            for len in 1..=text.len().max(1) {
                assert_eq!(through(text, len), expected, "in pieces of {len}");
            }
        }
    }

    #[test]
    fn nothing_is_held_but_what_may_be_a_credential() {
        let head = ResponseHead { status: 403, ..ResponseHead::default() };
        let mut body = redactor().of_answer(&head).unwrap();
        for (piece, expected) in [("{}\n", "{}\n"), ("a hunt", "a "), ("ing", "hunting")] {
            let mut piece = piece.into();
            body.pass(&mut piece);
            assert_eq!(piece, expected.as_bytes());
        }
    }

    #[test]
    fn only_what_the_machines_read_is_left_as_it_is() {
        let is_left = |status, content_type: Option<&str>| {
            let content_type = content_type.map(Into::into);
            redactor().of_answer(&ResponseHead { status, content_type, ..ResponseHead::default() }).is_none()
        };
        assert!(is_left(200, None) && is_left(200, Some("application/json")));
        assert!(!is_left(200, Some("text/html")) && !is_left(401, Some("application/json")) && !is_left(401, None));
    }

    #[test]
    fn an_error_shows_neither_a_credential_nor_an_escape() {
        let error = TransportError::new(TransportErrorKind::Other, "no \u{1b}[31mhunter2\u{9b}");
        assert_eq!(&*redactor().error(error).detail, r"no \u001b[31m[redacted]\u009b");
    }
}
