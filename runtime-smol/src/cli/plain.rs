//! Text of a recording's on its way to a terminal.

use std::borrow::Cow;

/// The text without control characters, which could make a terminal show something else.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::Owned(text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
        assert!(matches!(plain("größe"), Cow::Borrowed("größe")));
    }
}
