use super::watch_log::line_ends;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use listwatch_core::framing::Scanner;
use std::io::BufRead;

/// A file that is a list. It is delivered buffer by buffer, and no item is kept.
#[derive(Clone, Default)]
pub(crate) struct ListBody {
    outline: Outline,
    /// The number of line ends up to here.
    lines: u64,
    /// Whether a line has begun and not ended.
    within_line: bool,
}

impl ListBody {
    /// The next bytes; `None` at the end.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        let source = cursor.source()?;
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) => return Err(source.error(None, &error)),
        };
        let len = self.outline.follow(bytes);
        if len == 0 {
            let ended = bytes.is_empty();
            return if ended && self.outline.progress == Progress::Behind {
                Ok(None)
            } else {
                Err(self.error(cursor, ended))
            };
        }
        let bytes = bytes[..len].to_vec();
        source.consume(len);
        self.lines += line_ends(&bytes);
        self.within_line = bytes.last() != Some(&b'\n');
        Ok(Some(bytes))
    }

    fn error(&self, cursor: &FileCursor, ended: bool) -> CaptureError {
        let message = if ended {
            "the file ends within the list; save it again"
        } else {
            "there is more text behind the list; delete it"
        };
        let line = self.lines + u64::from(self.within_line || !ended);
        CaptureError::new(cursor.path(), Some(line), Fault::new(CaptureErrorKind::Garbled, message))
    }
}

/// A value with white space around it.
#[derive(Clone, Copy, Default)]
struct Outline {
    scanner: Scanner,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Progress {
    #[default]
    Before,
    Within,
    Behind,
}

impl Outline {
    /// Returns how many of `bytes` belong to the value or are white space around it.
    fn follow(&mut self, bytes: &[u8]) -> usize {
        let mut len = 0;
        if self.progress == Progress::Before {
            len = blank(bytes);
            if len < bytes.len() {
                self.progress = Progress::Within;
            }
        }
        if self.progress == Progress::Within {
            let Some(rest) = self.scanner.end_of_value(&bytes[len..]) else { return bytes.len() };
            len += rest;
            self.progress = Progress::Behind;
        }
        len + if self.progress == Progress::Behind { blank(&bytes[len..]) } else { 0 }
    }
}

fn blank(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of `text` belongs to the value, and whether it has ended, however it is cut into two pieces.
    fn follow(text: &str) -> (&str, bool) {
        let mut found = (0..=text.len()).map(|cut| {
            let (mut outline, (head, tail)) = (Outline::default(), text.as_bytes().split_at(cut));
            let mut len = outline.follow(head);
            if len == cut {
                len += outline.follow(tail);
            }
            (&text[..len], outline.progress == Progress::Behind)
        });
        let first = found.next().unwrap();
        assert!(found.all(|other| other == first), "{text}");
        first
    }

    #[test]
    fn a_value_is_closed_by_its_last_bracket_however_it_is_cut() {
        for whole in ["{}", r#" {"a":[{"b":"}\"]\\"},7]} "#, "{\"a\":[]}\n\n"] {
            assert_eq!(follow(whole), (whole, true));
        }
        for open in ["", " ", "{", r#"{"a":[{}]"#, r#"{"a":"}"#, r#"{"a":"\"}"#] {
            assert_eq!(follow(open), (open, false));
        }
    }

    #[test]
    fn what_is_behind_the_white_space_does_not_belong_to_the_value() {
        assert_eq!(follow("{} \n{}"), ("{} \n", true));
        assert_eq!(follow("{}]"), ("{}", true));
    }
}
