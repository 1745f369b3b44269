//! The terminal behind standard output.

use console::{Color, Style, Term};
use std::io::IsTerminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A terminal, or another output, which has no width and no colours.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    is_terminal: bool,
    colours: bool,
}

impl Screen {
    /// Standard output. `NO_COLOR` and a terminal without capabilities leave out colours.
    pub(crate) fn of_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self { is_terminal, colours: is_terminal && !is_set("NO_COLOR") && !is_dumb }
    }

    pub(crate) fn is_terminal(self) -> bool {
        self.is_terminal
    }

    /// The columns of the terminal now; `None` if there is no limit.
    pub(crate) fn width(self) -> Option<usize> {
        let size = self.is_terminal.then(|| Term::stdout().size_checked()).flatten();
        size.map(|(_rows, columns)| columns.into()).filter(|columns| *columns > 0)
    }

    /// The text in a colour, if the terminal has colours.
    pub(crate) fn coloured(self, text: &str, colour: Color) -> String {
        Style::new().fg(colour).force_styling(self.colours).apply_to(text).to_string()
    }

    /// The text in a weaker colour, if the terminal has colours.
    pub(crate) fn dimmed(self, text: &str) -> String {
        Style::new().dim().force_styling(self.colours).apply_to(text).to_string()
    }
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text, with an ellipsis if it takes more than `columns`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken < columns
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.extend((columns > 0).then_some('…'));
    cut
}

/// The text, filled up with blanks to so many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_measured_in_columns_and_cut_between_characters() {
        assert_eq!((width("größe"), width("日本"), width("e\u{301}")), (5, 4, 1));
        assert_eq!((&*cut("größe", 5), &*cut("größe", 4)), ("größe", "grö…"));
        assert_eq!((&*cut("日本語", 5), &*cut("日本語", 4), &*cut("日本語", 0)), ("日本…", "日…", ""));
        assert_eq!(padded("日本", 6), "日本  ");
    }

    #[test]
    fn what_is_no_terminal_has_no_colours() {
        let file = Screen { is_terminal: false, colours: false };
        assert_eq!(
            (file.coloured("added", Color::Green), file.dimmed("x"), file.width()),
            ("added".into(), "x".into(), None)
        );
        let terminal = Screen { is_terminal: true, colours: true };
        assert_eq!(terminal.coloured("added", Color::Green), "\u{1b}[32madded\u{1b}[0m");
    }
}
