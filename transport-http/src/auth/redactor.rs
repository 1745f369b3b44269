//! Removal of credentials from responses: a server, a proxy or an error page may echo the headers of a request.

use super::json::Unit;
use crate::secret::Secret;
use listwatch_core::text::Printable;
use listwatch_core::transport::{ResponseHead, TransportError};
use std::fmt::Write;

const REPLACEMENT: &[u8] = b"[redacted]";

/// The shortest credential in bytes that is redacted. A response is likely to contain a shorter text by chance.
const MIN_LEN: usize = 4;

/// So many leading bytes of a credential count as the whole, because an echo may be truncated.
const PREFIX: usize = 16;

/// Replaces a request's credentials in its response: as they were sent, percent-encoded, and with characters that JSON
/// escapes.
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
    pub(crate) fn of_answer(self, head: &ResponseHead, is_refusal: bool) -> Option<BodyRedactor> {
        let is_json = head.content_type.as_ref().is_none_or(|it| it.starts_with("application/json"));
        (is_refusal || !is_json).then(|| BodyRedactor { redactor: self, held: Vec::new() })
    }

    /// Removes the credentials.
    pub(crate) fn text(&self, text: &str) -> String {
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
            for unit in [Unit::plain, Unit::of_json] {
                let common = Common::of(bytes, secret, unit);
                if common.secret == secret.len() || common.secret >= PREFIX {
                    found = found.max(Some(common.text));
                }
                may_go_on |= common.text == bytes.len() && common.secret < secret.len();
            }
        }
        (found, may_go_on)
    }
}

/// The bytes with which a text and a credential begin alike.
struct Common {
    text: usize,
    secret: usize,
}

impl Common {
    /// Compares them, with `unit` to decode the text. An escape in which the text ends counts as alike.
    fn of(text: &[u8], secret: &[u8], unit: fn(&[u8]) -> Unit) -> Self {
        let mut common = Self { text: 0, secret: 0 };
        while common.secret < secret.len() {
            match unit(&text[common.text..]) {
                Unit::Whole { utf8, len, written } if secret[common.secret..].starts_with(&utf8[..len]) => {
                    common = Self { text: common.text + written, secret: common.secret + len };
                }
                Unit::Cut => return Self { text: text.len(), ..common },
                Unit::Whole { .. } | Unit::Invalid => break,
            }
        }
        common
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
        through_of(&["hunter2+the/token=", "hunter2", "abc"], text, len)
    }

    fn through_of(secrets: &[&str], text: &str, len: usize) -> String {
        let head = ResponseHead { status: 401, ..ResponseHead::default() };
        let mut body = Redactor::new(secrets.iter().copied().map(Secret::new)).of_answer(&head, true).unwrap();
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

    /// The text with its characters as JSON escapes, by `is_escaped`.
    fn json(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
        let escaped = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        text.chars().map(|c| if is_escaped(c) { escaped(c) } else { String::from(c) }).collect()
    }

    /// Go's `encoding/json` writes `&`, `<` and `>` so.
    #[test]
    fn a_password_that_go_escapes_in_json_is_redacted() {
        let body = json("{no Pa&ssword<1>}", |c| "&<>".contains(c));
        assert!(body.contains(r"Pa\u0026ssword\u003c1\u003e"));
        for len in 1..=body.len() {
            assert_eq!(through_of(&["Pa&ssword<1>"], &body, len), "{no [redacted]}", "in pieces of {len}");
        }
    }

    #[test]
    fn a_credential_of_which_json_escapes_every_character_is_redacted() {
        for secret in ["hunter2+the/token=", "p\u{e4}ss\u{1f642}wort", r#"a\b"c/d\\"#, "\u{8}\u{c}\n\r\t"] {
            let lower = json(secret, |_| true);
            for escaped in [lower.to_uppercase().replace("\\U", "\\u"), lower] {
                for len in [1, 2, 5, 7, 1000] {
                    let text = format!("{{\"message\":\"{escaped}!\"}}");
                    let expected = "{\"message\":\"[redacted]!\"}";
                    assert_eq!(through_of(&[secret], &text, len), expected, "{text} in pieces of {len}");
                }
            }
        }
    }

    #[test]
    fn a_credential_in_which_json_escapes_some_characters_is_redacted() {
        for (secret, text) in [
            ("hunter2+the/token=", r"hunter2+the\/token="),
            ("hunter2+the/token=", r"hunter2%2Bthe%2\u0046token%3D"),
            ("hunter2+the/token=", r"hunt\u0065r2\u002Bthe\/toke"),
            (r#"a"b\c/d"#, r#"a\"b\\c\/d"#),
            (r#"a"b\c/d"#, r#"a"b\c/d"#),
            (r"a\\b", r"a\\b"),
            (r"a\\b", r"a\\\\b"),
            ("a\tb\nc\u{8}", r"a\tb\nc\b"),
            ("one\u{1f642}two", r"one\ud83d\uDE42two"),
        ] {
            for len in 1..=text.len() {
                assert_eq!(through_of(&[secret], text, len), "[redacted]", "{text} in pieces of {len}");
            }
        }
    }

    #[test]
    fn an_escape_that_is_no_credential_stays() {
        for text in [r"\u0068unter1", r"\", r"\u", r"\u00", r"\uzzzz \x \u0", r"\ud83d\u0041 \ude42 \ud83d", r"hunter\"]
        {
            for len in 1..=text.len() {
                assert_eq!(through(text, len), text, "in pieces of {len}");
            }
        }
    }

    #[test]
    fn escapes_are_held_no_longer_than_they_may_be_a_credential() {
        /// The longest credential, `hunter2%2Bthe%2Ftoken%3D`, in escapes of six bytes, and one of a surrogate pair.
        const LONGEST: usize = 24 * 6 + 12;
        let mut body = BodyRedactor { redactor: redactor(), held: Vec::new() };
        for _ in 0..10_000 {
            body.pass(&mut br"\u0068\u0075\ud83d\\".to_vec());
            assert!(body.held.len() <= LONGEST, "{}", body.held.len());
        }
    }

    #[test]
    fn nothing_is_held_but_what_may_be_a_credential() {
        let head = ResponseHead { status: 403, ..ResponseHead::default() };
        let mut body = redactor().of_answer(&head, true).unwrap();
        for (piece, expected) in [("{}\n", "{}\n"), ("a hunt", "a "), ("ing", "hunting")] {
            let mut piece = piece.into();
            body.pass(&mut piece);
            assert_eq!(piece, expected.as_bytes());
        }
    }

    #[test]
    fn only_what_the_machines_read_is_left_as_it_is() {
        let is_left = |is_refusal, content_type: Option<&str>| {
            let content_type = content_type.map(Into::into);
            redactor().of_answer(&ResponseHead { content_type, ..ResponseHead::default() }, is_refusal).is_none()
        };
        assert!(is_left(false, None) && is_left(false, Some("application/json")));
        assert!(!is_left(false, Some("text/html")) && !is_left(true, Some("application/json")) && !is_left(true, None));
    }

    #[test]
    fn an_error_shows_neither_a_credential_nor_an_escape() {
        let error = TransportError::new(TransportErrorKind::Other, "no \u{1b}[31mhunter2\u{9b}");
        assert_eq!(&*redactor().error(error).detail, r"no \u001b[31m[redacted]\u009b");
    }
}
