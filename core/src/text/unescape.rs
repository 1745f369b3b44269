use memchr::memchr2;

/// Reads the inside of a JSON string that arrives in any number of pieces, up to its closing quotation mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unescape {
    escape: Escape,
    /// A high surrogate, whose low one must follow; zero if there is none.
    high: u16,
    /// The first bytes of a character that is cut.
    cut: [u8; 4],
    cut_len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Escape {
    None,
    Backslash,
    /// In the digits of `\u`.
    Unicode {
        digits: u8,
        code: u16,
    },
}

/// A string that is none. The offending byte is the one behind the `at` bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BadString {
    pub(crate) at: usize,
    /// How many of these belong to what is wrong, in an earlier piece perhaps.
    pub(crate) back: usize,
    pub(crate) message: &'static str,
    /// Whether a backslash escapes the offending byte.
    pub(crate) escaping: bool,
}

impl BadString {
    /// At the byte behind the next `at`.
    pub(crate) fn new(at: usize, message: &'static str) -> Self {
        Self { at, back: 0, message, escaping: false }
    }
}

const NO_UTF8: &str = "invalid UTF-8 in a string";
const NO_ESCAPE: &str = "invalid escape";
const LONE: &str = "lone surrogate in an escape";
const CONTROL: &str = "control character in a string";

/// Where the text goes. It is called through its address: the code for one kind of text takes 1 KB.
type Out<'a> = &'a mut dyn FnMut(&str);

impl Unescape {
    pub(crate) const NEW: Self = Self { escape: Escape::None, high: 0, cut: [0; 4], cut_len: 0 };

    /// Whether the next byte is behind a backslash.
    #[cfg(feature = "fixed")]
    pub(crate) fn is_escaping(&self) -> bool {
        self.escape == Escape::Backslash
    }

    /// Passes the text of `bytes` to `out`, up to the end of the string; returns how many bytes were read with it, or
    /// `None` where the string goes on.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: Out<'_>) -> Result<Option<usize>, BadString> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at).copied() {
            let escaping = self.escape == Escape::Backslash;
            let bad = |bad: BadString| BadString { at: at + bad.at, escaping, ..bad };
            at += match self.escape {
                Escape::Backslash => self.on_escaped(byte, out),
                Escape::Unicode { digits, code } => self.on_digit(byte, digits, code, out),
                Escape::None if byte == b'"' => {
                    self.no_remains().map_err(bad)?;
                    return Ok(Some(at + 1));
                }
                Escape::None if byte == b'\\' => self.on_backslash(),
                Escape::None => self.on_plain(&bytes[at..], out),
            }
            .map_err(bad)?;
        }
        Ok(None)
    }

    fn no_remains(&self) -> Result<(), BadString> {
        match self {
            Self { cut_len: 1.., .. } => Err(self.cut_off()),
            Self { high: 1.., .. } => Err(BadString::new(0, LONE)),
            _ => Ok(()),
        }
    }

    /// A character that is not whole.
    fn cut_off(&self) -> BadString {
        BadString { back: self.cut_len, ..BadString::new(0, NO_UTF8) }
    }

    fn on_backslash(&mut self) -> Result<usize, BadString> {
        if self.cut_len > 0 {
            return Err(self.cut_off());
        }
        self.escape = Escape::Backslash;
        Ok(1)
    }

    fn on_escaped(&mut self, byte: u8, out: Out<'_>) -> Result<usize, BadString> {
        let text = match byte {
            b'u' => {
                self.escape = Escape::Unicode { digits: 0, code: 0 };
                return Ok(1);
            }
            b'"' => "\"",
            b'\\' => "\\",
            b'/' => "/",
            b'b' => "\u{8}",
            b'f' => "\u{c}",
            b'n' => "\n",
            b'r' => "\r",
            b't' => "\t",
            _ => return Err(BadString::new(0, NO_ESCAPE)),
        };
        if self.high > 0 {
            return Err(BadString::new(0, LONE));
        }
        self.escape = Escape::None;
        out(text);
        Ok(1)
    }

    fn on_digit(&mut self, byte: u8, digits: u8, code: u16, out: Out<'_>) -> Result<usize, BadString> {
        let digit = char::from(byte).to_digit(16).ok_or_else(|| BadString::new(0, NO_ESCAPE))?;
        let code = code << 4 | digit as u16;
        if digits < 3 {
            self.escape = Escape::Unicode { digits: digits + 1, code };
            return Ok(1);
        }
        self.escape = Escape::None;
        let decoded = match core::mem::take(&mut self.high) {
            0 if matches!(code, 0xd800..=0xdbff) => {
                self.high = code;
                return Ok(1);
            }
            0 => char::from_u32(code.into()),
            high => char::decode_utf16([high, code]).next().and_then(Result::ok),
        };
        out(decoded.ok_or_else(|| BadString::new(1, LONE))?.encode_utf8(&mut [0; 4]));
        Ok(1)
    }

    /// Reads up to the next quotation mark or backslash.
    fn on_plain(&mut self, bytes: &[u8], out: Out<'_>) -> Result<usize, BadString> {
        if self.high > 0 {
            return Err(BadString::new(0, LONE));
        }
        let run = &bytes[..memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len())];
        if let Some(at) = run.iter().position(|byte| *byte < b' ') {
            return Err(BadString::new(at, CONTROL));
        }
        let cut_off = self.cut_off();
        let rest = self.complete(run, out).ok_or(cut_off)?;
        let begun = run.len() - rest.len();
        match core::str::from_utf8(rest) {
            Ok(text) => out(text),
            Err(error) if error.error_len().is_some() => {
                return Err(BadString::new(begun + error.valid_up_to(), NO_UTF8));
            }
            Err(error) => {
                let (whole, cut) = rest.split_at(error.valid_up_to());
                out(core::str::from_utf8(whole).unwrap_or_default());
                self.cut[..cut.len()].copy_from_slice(cut);
                self.cut_len = cut.len();
            }
        }
        Ok(run.len())
    }

    /// Completes the character that was cut; returns what is behind it, or `None` where it is no character.
    fn complete<'b>(&mut self, mut run: &'b [u8], out: Out<'_>) -> Option<&'b [u8]> {
        while self.cut_len > 0
            && let [byte, rest @ ..] = run
        {
            run = rest;
            self.cut[self.cut_len] = *byte;
            self.cut_len += 1;
            match core::str::from_utf8(&self.cut[..self.cut_len]) {
                Ok(text) => {
                    out(text);
                    self.cut_len = 0;
                }
                Err(error) if error.error_len().is_some() => return None,
                Err(_) => {}
            }
        }
        Some(run)
    }
}

#[cfg(all(test, feature = "json"))]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    /// The text of a string and the bytes behind it, in pieces of `length`.
    fn read(bytes: &[u8], length: usize) -> Result<Option<(String, usize)>, BadString> {
        let (mut unescape, mut text, mut before) = (Unescape::NEW, String::new(), 0);
        for piece in bytes.chunks(length) {
            let end = unescape.feed(piece, &mut |piece| text.push_str(piece));
            match end.map_err(|bad| BadString { at: before + bad.at, ..bad })? {
                Some(len) => return Ok(Some((text, before + len))),
                None => before += piece.len(),
            }
        }
        Ok(None)
    }

    #[test]
    fn a_string_is_read_as_by_serde_json_however_it_is_cut() {
        let strings: [&[u8]; 25] = [
            br#"""#,
            br#"plain", "#,
            "größe 名前 🙂\"".as_bytes(),
            br#"\"\\\/\b\f\n\r\t""#,
            br#"\u0041\u00e9\u540d""#,
            br#"\ud83d\ude42\uD83D\uDE42""#,
            br#"\ud83d""#,
            br#"\ud83dx""#,
            br#"\ud83d\n""#,
            br#"\ud83d\u0041""#,
            br#"\ude42""#,
            br#"\ud83d\ud83d\ude42""#,
            br#"\x""#,
            br#"\u12g4""#,
            br#"\u12"4"#,
            b"a\nb\"",
            b"\xff\"",
            b"\xc3\"",
            b"\xc3(\"",
            b"\xf0\x9f\x99\"",
            b"\xed\xa0\x80\"",
            b"a\\",
            br#"\u00"#,
            b"a\xc3",
            b"\xc3\\n\"",
        ];
        for bytes in strings {
            let quoted = [b"\"", bytes].concat();
            let mut values = serde_json::Deserializer::from_slice(&quoted).into_iter::<String>();
            let expected = values.next().and_then(Result::ok).map(|text| (text, values.byte_offset() - 1));
            for length in 1..=bytes.len() {
                assert_eq!(read(bytes, length).ok().flatten(), expected, "{}, {length}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn the_place_of_an_error_does_not_depend_on_the_pieces() {
        let strings = [&b"ab\\x\""[..], b"abc\x01\"", b"\\ud800\\n\"", b"ab\xffc\"", b"\\u00g0\"", b"ab\xe5\x90(\""];
        for bytes in strings {
            let place = |length| read(bytes, length).map_err(|bad| (bad.at - bad.back, bad.message, bad.escaping));
            let places: Vec<_> = (1..=bytes.len()).map(|length| place(length).unwrap_err()).collect();
            assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "{places:?}");
        }
    }
}
