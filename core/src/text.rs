//! Makes text from servers and files safe to print.

mod counted;
mod shared;
#[macro_use]
mod summary;
#[cfg(any(feature = "json", feature = "fixed"))]
mod unescape;

pub use counted::Counted;
pub use shared::SharedText;
#[cfg(feature = "fixed")]
pub(crate) use unescape::BadString;
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) use unescape::Unescape;

use core::fmt::{self, Write};

/// Stands for what a decoder says of confidential bytes: an error of serde quotes the value that it refuses, and the values
/// of tokens are secret, too.
#[cfg(all(feature = "alloc", any(feature = "json", feature = "fixed")))]
pub(crate) const WITHHELD: &str = "the reason quotes a value, and the values of Secrets are never shown";

/// The default limit, in characters.
const MOST: usize = 1024;

/// Prints text from outside on one line of limited length. The text cannot control a terminal, forge a line of a log,
/// or hide characters.
///
/// Characters that [`is_printable`] refuses appear as escapes: `\n`, `\r`, `\t`, `\u009b`, `\U000e0041`. A text over
/// the limit is cut there and ends with `…`; the default limit is 1,024 characters. Backslashes stay as they are, so a
/// second `Printable` around a text changes nothing.
///
/// ```
/// use listwatch_core::text::Printable;
///
/// assert_eq!(Printable::new("größe").to_string(), "größe");
/// assert_eq!(Printable::new("\x1b]52;c;aGk=\x07\n").to_string(), r"\u001b]52;c;aGk=\u0007\n");
/// assert_eq!(Printable::new("Forbidden").at_most(6).to_string(), "Forbid…");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printable<T> {
    shown: T,
    most: usize,
}

impl<T> Printable<T> {
    /// Prints a text, or any other value that implements [`Display`](fmt::Display).
    pub const fn new(shown: T) -> Self {
        Self { shown, most: MOST }
    }

    /// The same with another limit, in characters of the original.
    #[must_use]
    pub fn at_most(mut self, characters: usize) -> Self {
        self.most = characters;
        self
    }
}

/// Whether a character can be printed as it is. These cannot:
///
/// * control characters (C0, DEL, C1), and separators of lines and paragraphs;
/// * characters that are invisible or reverse the direction of writing. These are `Default_Ignorable_Code_Point` of
///   Unicode 16 (`DerivedCoreProperties.txt`), the annotations U+FFF9 to U+FFFB, and the blank Braille pattern U+2800.
///
/// Variation selectors and joiners are among them, so an emoji that is written with one is shown with an escape.
///
/// ```
/// use listwatch_core::text::is_printable;
///
/// assert!("größe 名前 ≠ 🙂".chars().all(is_printable));
/// assert!("\u{7f}\u{9b}\u{200b}\u{202e}\u{2028}\u{feff}".chars().all(|c| !is_printable(c)));
/// ```
pub fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}'
            | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

impl<T: fmt::Display> fmt::Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut escaping = Escaping { f, left: self.most, is_cut: false };
        match write!(escaping, "{}", self.shown) {
            Err(_) if escaping.is_cut => f.write_char('…'),
            result => result,
        }
    }
}

/// Writes a status of an API server, on the heap and in fixed memory.
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) fn write_status(f: &mut fmt::Formatter<'_>, code: u16, reason: &str, message: &str) -> fmt::Result {
    write!(f, "status {code}")?;
    if !reason.is_empty() {
        write!(f, " {}", Printable::new(reason))?;
    }
    if message.is_empty() { Ok(()) } else { write!(f, ": {}", Printable::new(message)) }
}

struct Escaping<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    left: usize,
    is_cut: bool,
}

impl Write for Escaping<'_, '_> {
    /// Returns an error at the limit, so that the source stops writing.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.left == 0 {
                self.is_cut = true;
                return Err(fmt::Error);
            }
            self.left -= 1;
            write_escaped(self.f, c)?;
        }
        Ok(())
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        _ if is_printable(c) => f.write_char(c),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\0'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(c)),
        _ => write!(f, "\\U{:08x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::{String, ToString};
    use std::vec::Vec;

    #[test]
    fn no_character_that_steers_hides_or_breaks_a_line_comes_through() {
        let all = (0..=0x10_ffff).filter_map(char::from_u32);
        let shown = all.map(|c| Printable::new(c).to_string()).collect::<String>();
        for c in "\0\u{7}\u{1b}\n\r\t\u{7f}\u{80}\u{9b}\u{9f}".chars().chain("\u{200e}\u{200f}\u{61c}".chars()) {
            assert!(!shown.contains(c), "{c:?}");
        }
        for c in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain('\u{2028}'..='\u{2029}') {
            assert!(!shown.contains(c), "{c:?}");
        }
        for c in ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{e0041}'] {
            assert!(!shown.contains(c), "{c:?}");
        }
        assert!(shown.contains('ü') && shown.contains('名') && shown.contains('\\'));
    }

    /// Characters between U+E0100 and U+E01EF can hide a command behind a name.
    #[test]
    fn no_invisible_character_comes_through() {
        // Unicode 16, DerivedCoreProperties.txt, Default_Ignorable_Code_Point.
        let ignorable = [
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x202a..=0x202e,
            0x2060..=0x206f,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfff8,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe0fff,
        ];
        let hidden = ignorable.into_iter().flatten().chain([0x2800]);
        let through: Vec<u32> = hidden.filter(|c| char::from_u32(*c).is_some_and(is_printable)).collect();
        assert!(through.is_empty(), "{} come through: {:x?}", through.len(), &through[..through.len().min(8)]);
        let neighbours =
            "\u{ae}\u{34e}\u{350}\u{115e}\u{1161}\u{17b6}\u{27ff}\u{2801}\u{3163}\u{fe10}\u{ff9f}\u{fffc}\u{fffd}";
        assert!(neighbours.chars().all(is_printable));
        assert_eq!(Printable::new("pod\u{e0162}").to_string(), r"pod\U000e0162");
    }

    #[test]
    fn a_text_is_cut_at_the_limit_and_not_at_its_end() {
        let cut = |text: &str| Printable::new(text).at_most(3).to_string();
        assert_eq!((cut("äöü"), cut("äöü!"), cut("")), ("äöü".into(), "äöü…".into(), String::new()));
        assert_eq!(cut("\u{1b}\u{1b}\u{1b}\u{1b}"), r"\u001b\u001b\u001b…", "an escape is one character");
        assert_eq!(Printable::new("x".repeat(1 << 20)).to_string().chars().count(), MOST + 1);
    }

    #[test]
    fn what_is_shown_twice_looks_as_if_shown_once() {
        let once = Printable::new("\u{9b}\u{e0041}\\n").to_string();
        assert_eq!(once, r"\u009b\U000e0041\n");
        assert_eq!(Printable::new(&once).to_string(), once);
    }

    #[test]
    fn a_source_that_fails_is_no_text_that_was_cut() {
        struct Failing;
        impl fmt::Display for Failing {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        let mut text = String::new();
        assert!(write!(text, "{}", Printable::new(Failing)).is_err() && text.is_empty());
        assert_eq!(format!("{}", Printable::new(format_args!("{}-{}", 1, 2)).at_most(2)), "1-…");
    }
}
