//! Entries as lines for people.

use super::entry::{By, Entry, Reconcile, Sort};
use crate::output::changes::FieldChange;
use crate::output::screen::{Screen, cut, padded, width};
use console::Color;
use listwatch::text::Printable;

/// The characters of one text from outside at the most.
const MOST: usize = 400;
/// The columns of an event.
const EVENT: usize = 10;
/// What stands before the lines that belong to another one.
const INDENT: &str = "    ";
/// The fields of an answer that are listed beside those that were asked for.
const ANSWERED: usize = 4;

/// How lines are laid out.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    screen: Screen,
    columns: Option<usize>,
}

impl Layout {
    pub(super) fn of_stdout() -> Self {
        let screen = Screen::of_stdout();
        Self { screen, columns: screen.width() }
    }

    /// The lines of an entry.
    pub(super) fn lines(self, entry: &Entry) -> Vec<String> {
        let mut lines = self.laid_out(&time(entry), "", entry);
        if let Some(own) = &entry.reconcile {
            let below = |words: &str, texts: String| {
                (!texts.is_empty()).then(|| self.cut(&format!("{INDENT}{words:EVENT$}  {texts}")))
            };
            lines.extend(below("because", own.causes.iter().map(|cause| shown(cause)).collect::<Vec<_>>().join("; ")));
            lines.extend(below("unseen", own.late.iter().map(|late| shown(late)).collect::<Vec<_>>().join("; ")));
            lines.extend(below("read", read(own)));
            lines.extend(entry.writes.iter().flat_map(|write| self.laid_out("", INDENT, write)));
        }
        lines
    }

    /// What does not fit beside the key goes below it. The author is never cut for the fields that changed.
    fn laid_out(self, time: &str, indent: &str, entry: &Entry) -> Vec<String> {
        let time = if indent.is_empty() { format!("{time}  ") } else { indent.to_owned() };
        let event = self.screen.coloured(&padded(&shown(&entry.event), EVENT), colour(entry));
        let room = self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(width(&time) + EVENT + 2));
        let details = Details::of(entry, indent.is_empty());
        let whole = joined([&name(entry), &details.what, &details.status, &details.message, &details.by]);
        let begin = |text: &str| format!("{time}{event}  {}", cut(text, room));
        if width(&whole) <= room {
            return vec![begin(&whole)];
        }
        let below = |texts: [&str; 3]| self.cut(&format!("{INDENT}{indent}{}", joined(texts)));
        let beside = joined([&details.status, &details.by]);
        let taken = INDENT.len() + indent.len() + 2 + width(&beside);
        let what = self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(taken).max(columns / 3));
        let mut lines = vec![begin(&name(entry))];
        let rest = [[&*cut(&details.what, what), &details.status, &details.by], [&details.message, "", ""]];
        lines.extend(rest.into_iter().filter(|texts| !joined(*texts).is_empty()).map(below));
        lines
    }

    fn cut(self, line: &str) -> String {
        self.columns.map_or_else(|| line.to_owned(), |columns| cut(line, columns))
    }
}

/// The date of an entry, or the seconds since the recording began.
pub(super) fn time(entry: &Entry) -> String {
    entry.time.clone().unwrap_or_else(|| format!("{:>11.3}s", entry.after))
}

/// The resource and the key.
pub(super) fn name(entry: &Entry) -> String {
    let parts = entry.resource.iter().chain(&entry.key).map(|part| shown(part));
    parts.collect::<Vec<_>>().join(" ")
}

/// What happened, and who did it.
#[derive(Default)]
struct Details {
    what: String,
    status: String,
    message: String,
    by: String,
}

impl Details {
    fn of(entry: &Entry, with_author: bool) -> Self {
        let by = author(&entry.by).filter(|_| with_author).unwrap_or_default();
        if let Some(own) = &entry.reconcile {
            return Self { what: reconciled(own, entry), by, ..Self::default() };
        }
        let changes = listed(&entry.changes, entry.more_changes, usize::MAX);
        let answered = listed(&entry.answered, entry.more_answered, ANSWERED);
        let is_version = entry.what == Sort::Change && entry.changes.is_empty() && entry.key.is_some();
        let version =
            entry.version.as_ref().filter(|_| is_version).map(|version| format!("version {}", shown(version)));
        let what = [changes, version, answered.map(|fields| format!("(the server: {fields})"))];
        Self {
            what: what.into_iter().flatten().collect::<Vec<_>>().join("  "),
            status: answer(entry).unwrap_or_default(),
            message: entry.message.as_ref().map(|message| shown(message)).unwrap_or_default(),
            by,
        }
    }
}

/// What happened, and who did it, in one line.
pub(super) fn details(entry: &Entry, with_author: bool) -> String {
    let Details { what, status, message, by } = Details::of(entry, with_author);
    joined([&what, &status, &message, &by])
}

/// The texts that are not empty.
fn joined<const N: usize>(texts: [&str; N]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("  ")
}

/// The status of a request, and how long it took.
pub(super) fn answer(entry: &Entry) -> Option<String> {
    let millis = entry.millis.filter(|_| matches!(entry.what, Sort::Write | Sort::Failure))?;
    Some(entry.status.map_or_else(|| format!("after {millis} ms"), |status| format!("{status} in {millis} ms")))
}

/// The outcome of a reconcile.
pub(super) fn reconciled(own: &Reconcile, entry: &Entry) -> String {
    let attempt = if own.attempt == 1 { String::new() } else { format!(", attempt {}", own.attempt) };
    let outcome = match (&own.outcome, &entry.message) {
        (Some(outcome), _) => shown(outcome),
        (None, Some(message)) => message.clone(),
        (None, None) => String::new(),
    };
    let millis = entry.millis.map(|millis| format!(" in {millis} ms")).unwrap_or_default();
    format!("{} of {}{attempt}: {outcome}{millis}", own.number, shown(&own.of))
}

/// The states of caches that a reconcile read.
pub(super) fn read(own: &Reconcile) -> String {
    let states = own.read.iter().map(|state| {
        let version = state.version.as_ref().map(|version| format!(" at {}", shown(version))).unwrap_or_default();
        format!("{}{version}", shown(&state.cache))
    });
    states.collect::<Vec<_>>().join(", ")
}

fn listed(changes: &[FieldChange], more: usize, most: usize) -> Option<String> {
    let more = more + changes.len().saturating_sub(most);
    let more = (more > 0).then(|| format!("and {more} more"));
    let words: Vec<String> = changes.iter().take(most).map(FieldChange::to_string).chain(more).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The author of a write or a change.
pub(super) fn author(by: &By) -> Option<String> {
    let reconcile = by.reconcile.map(|number| {
        let of = by.controller.as_ref().map(|of| format!(" of {}", shown(of))).unwrap_or_default();
        format!("reconcile {number}{of}")
    });
    let from = by.from.as_ref().map(|from| format!("from {}", shown(from)));
    let others = [&by.user, &by.program].into_iter().flatten().map(|name| shown(name)).chain(from);
    let managers =
        (!by.managers.is_empty()).then(|| by.managers.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", "));
    let parts: Vec<String> = reconcile.into_iter().chain(others).chain(managers).collect();
    let request = by.line.filter(|_| parts.is_empty()).map(|line| format!("by the request that ends in line {line}"));
    if parts.is_empty() { request } else { Some(format!("by {}", parts.join(", "))) }
}

pub(super) fn shown(text: &str) -> String {
    Printable::new(text).at_most(MOST).to_string()
}

pub(super) fn colour(entry: &Entry) -> Color {
    match (&*entry.event, entry.what) {
        _ if entry.failed => Color::Red,
        ("ADDED" | "POST", _) => Color::Green,
        ("DELETED" | "DELETE" | "VANISHED", _) => Color::Red,
        (_, Sort::Reconcile) => Color::Cyan,
        (_, Sort::Lease) => Color::Magenta,
        _ => Color::Yellow,
    }
}
