//! Text that attacks a terminal.

use crate::command::Run;

/// Clears the screen, writes the clipboard (OSC 52), sets a colour by a code of one character, deletes, turns the
/// direction of writing, and begins a line of its own, twice.
pub(crate) const HOSTILE: &str = "a\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{7f}\u{202e}\u{2028}b\nforged: x";

/// A case that begins so has text of which nothing, or only a part, is told.
pub(crate) const UNTOLD: &str = "untold";

/// The fault of an output: characters that steer a terminal, a forged line, or a missing text.
pub(crate) fn trouble(run: &Run, case: &str) -> Option<String> {
    let steers = |c: &char| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{2028}');
    let printed = [("stdout", &run.stdout), ("stderr", &run.stderr)];
    for (name, text) in printed {
        if let Some(c) = text.chars().find(steers) {
            return Some(format!("{case}: {c:?} on {name}"));
        }
        if text.lines().any(|line| line.starts_with("forged")) {
            return Some(format!("{case}: a forged line on {name}"));
        }
    }
    let says_nothing_of_it = case.starts_with(UNTOLD);
    let escapes = [r"\u001b[2J", r"\u{1b}[2J"];
    let is_shown = printed.iter().any(|(_, text)| escapes.iter().any(|escape| text.contains(escape)));
    (!is_shown && !says_nothing_of_it).then(|| format!("{case}: not shown: {run:?}"))
}

/// Fails with all that is wrong.
#[track_caller]
pub(crate) fn assert_none(trouble: impl IntoIterator<Item = String>) {
    let trouble = Vec::from_iter(trouble);
    assert!(trouble.is_empty(), "{} of the outputs are not inert:\n{}", trouble.len(), trouble.join("\n"));
}
