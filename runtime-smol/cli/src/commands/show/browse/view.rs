//! The rows of a time line, a cursor among them, and what each key does.

use super::super::entry::Entry;
use super::super::lines;
use super::super::recording;
use crate::arguments::{What, hide_credentials, moment};
use listwatch::text::Printable;
use listwatch::time::WallTime;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeSet;

/// The rows that are kept. An entry takes a kilobyte or two.
const MOST_ROWS: usize = 100_000;
/// The places to which one can go back.
const MOST_PLACES: usize = 1_000;
/// The characters that can be typed.
const MOST_TYPED: usize = 200;
/// The parts of the time line, by the number that hides and shows them.
const PARTS: [What; 5] = [What::Changes, What::Reconciles, What::Writes, What::Failures, What::Leases];

/// What is looked at.
#[derive(Default)]
pub(super) struct View {
    pub(super) rows: Vec<Row>,
    /// The rows that are not hidden, by their places among all.
    shown: Vec<usize>,
    /// The selected one of these.
    cursor: usize,
    /// The rows that fit on the screen.
    pub(super) page: usize,
    hidden: BTreeSet<What>,
    filter: String,
    pub(super) mode: Mode,
    /// Whether the details of the row stand below.
    pub(super) is_open: bool,
    /// Where the cursor was before it was sent elsewhere.
    places: Vec<usize>,
    /// What the last key did, if the screen does not show it.
    pub(super) note: Option<String>,
    pub(super) reading: Reading,
    /// When the recording began, if that is known.
    began: Option<WallTime>,
}

/// An entry, or one of the writes of a reconcile.
pub(super) struct Row {
    pub(super) entry: Entry,
    /// The row of its reconcile.
    pub(super) of: Option<usize>,
}

/// What keys mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Mode {
    #[default]
    Browsing,
    Typing(Prompt, String),
    Help,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Prompt {
    Filter,
    Time,
}

/// How far the recording is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Reading {
    #[default]
    Going,
    /// No more rows are kept.
    Full,
    /// It was read to its end, or to a fault.
    Done(Vec<String>),
}

/// Whether the view is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flow {
    Stay,
    Leave,
}

impl View {
    pub(super) fn new(began: Option<WallTime>) -> Self {
        Self { began, ..Self::default() }
    }

    /// Takes an entry, and its writes behind it.
    pub(super) fn add(&mut self, mut entry: Entry) {
        let writes = std::mem::take(&mut entry.writes);
        let of = self.rows.len();
        self.push(Row { entry, of: None });
        writes.into_iter().for_each(|write| self.push(Row { entry: write, of: Some(of) }));
        if self.rows.len() >= MOST_ROWS {
            self.reading = Reading::Full;
        }
    }

    fn push(&mut self, row: Row) {
        if self.is_shown(&row) {
            self.shown.push(self.rows.len());
        }
        self.rows.push(row);
    }

    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Flow {
        self.note = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Flow::Leave;
        }
        match std::mem::take(&mut self.mode) {
            Mode::Browsing => return self.on_key(key.code),
            Mode::Typing(prompt, text) => self.on_typed(prompt, text, key.code),
            Mode::Help => {}
        }
        Flow::Stay
    }

    fn on_key(&mut self, key: KeyCode) -> Flow {
        match key {
            KeyCode::Char('q') => return Flow::Leave,
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.step(self.page.max(1).cast_signed()),
            KeyCode::PageUp => self.step(-self.page.max(1).cast_signed()),
            KeyCode::Home | KeyCode::Char('g') => self.cursor = 0,
            KeyCode::End | KeyCode::Char('G') => self.cursor = self.shown.len().saturating_sub(1),
            KeyCode::Enter => self.is_open = !self.is_open,
            KeyCode::Char('n') => self.go_to_next("failure", |entry| entry.failed),
            KeyCode::Char('N') => self.go_to_last("failure", |entry| entry.failed),
            KeyCode::Char('w') => self.go_to_next("write", |entry| entry.what() == What::Writes),
            KeyCode::Char('W') => self.go_to_last("write", |entry| entry.what() == What::Writes),
            KeyCode::Char('y') => self.on_why(),
            KeyCode::Char('s') => self.on_same(),
            KeyCode::Backspace | KeyCode::Char('b') => self.on_back(),
            KeyCode::Char('/') => self.mode = Mode::Typing(Prompt::Filter, String::new()),
            KeyCode::Char('t') => self.mode = Mode::Typing(Prompt::Time, String::new()),
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Char(digit @ '1'..='5') => self.on_part(PARTS[digit as usize - '1' as usize]),
            KeyCode::Esc => self.set_filter(String::new()),
            _ => {}
        }
        Flow::Stay
    }

    fn on_typed(&mut self, prompt: Prompt, mut text: String, key: KeyCode) {
        match key {
            KeyCode::Esc => return,
            KeyCode::Enter if prompt == Prompt::Filter => return self.set_filter(text),
            KeyCode::Enter => return self.on_time(&text),
            KeyCode::Backspace => _ = text.pop(),
            KeyCode::Char(typed) if text.chars().count() < MOST_TYPED => text.push(typed),
            _ => {}
        }
        self.mode = Mode::Typing(prompt, text);
    }

    fn step(&mut self, rows: isize) {
        let last = self.shown.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
    }

    fn go_to_next(&mut self, what: &str, wanted: impl Fn(&Entry) -> bool) {
        let found = (self.cursor + 1..self.shown.len()).find(|place| wanted(&self.rows[self.shown[*place]].entry));
        self.go_to(found, || format!("there is no {what} below"));
    }

    fn go_to_last(&mut self, what: &str, wanted: impl Fn(&Entry) -> bool) {
        let end = self.cursor.min(self.shown.len());
        let found = (0..end).rev().find(|place| wanted(&self.rows[self.shown[*place]].entry));
        self.go_to(found, || format!("there is no {what} above"));
    }

    fn go_to(&mut self, place: Option<usize>, otherwise: impl FnOnce() -> String) {
        match place {
            Some(place) => {
                self.remember();
                self.cursor = place;
            }
            None => self.note = Some(otherwise()),
        }
    }

    fn remember(&mut self) {
        if self.places.len() == MOST_PLACES {
            self.places.remove(0);
        }
        self.places.extend(self.selected());
    }

    /// Goes to what made the row: of a write, its reconcile; of a change, its write; of a reconcile, the change that caused it.
    fn on_why(&mut self) {
        let Some(selected) = self.selected() else { return };
        match self.cause_of(selected) {
            Some(row) => {
                self.remember();
                self.show_row(row);
            }
            None => self.note = Some("the recording has nothing that made this".to_owned()),
        }
    }

    fn cause_of(&self, selected: usize) -> Option<usize> {
        let Row { entry, of } = &self.rows[selected];
        let with = |wanted: &dyn Fn(&Entry) -> bool| {
            let others = self.rows.iter().enumerate().filter(|(row, _)| *row != selected);
            others.rev().find(|(_, row)| row.entry.at <= entry.at && wanted(&row.entry)).map(|(row, _)| row)
        };
        let of_reconcile =
            |number: u64| with(&|other| other.reconcile.as_ref().is_some_and(|own| own.number == number));
        let of_line = |line: u64| {
            let is_request = |row: &Row| row.entry.what() == What::Writes && row.entry.line == Some(line);
            self.rows.iter().enumerate().position(|(row, other)| row != selected && is_request(other))
        };
        let of_version = |cause: &String| {
            let (_, version) = cause.split(" after ").next()?.rsplit_once(" at version ")?;
            with(&|other| other.what() == What::Changes && other.version.as_deref() == Some(version))
        };
        let caused = || entry.reconcile.as_ref()?.causes.iter().rev().find_map(of_version);
        let written = || entry.by.line.filter(|_| entry.what() != What::Writes).and_then(of_line);
        of.or_else(written).or_else(|| entry.by.reconcile.and_then(of_reconcile)).or_else(caused)
    }

    /// Filters by the key of the row, or no longer.
    fn on_same(&mut self) {
        let key = self.selected().and_then(|row| self.rows[row].entry.key.clone());
        match key {
            Some(key) if key != self.filter => self.set_filter(key),
            _ => self.set_filter(String::new()),
        }
    }

    fn on_back(&mut self) {
        match self.places.pop() {
            Some(row) => self.show_row(row),
            None => self.note = Some("the cursor was nowhere before".to_owned()),
        }
    }

    fn on_part(&mut self, part: What) {
        if !self.hidden.remove(&part) {
            self.hidden.insert(part);
        }
        self.choose();
    }

    fn on_time(&mut self, text: &str) {
        let time = moment(text.trim()).map_err(str::to_owned);
        let since = time.and_then(|time| recording::since(time, self.began).map_err(|error| error.to_string()));
        match since {
            Ok(since) => {
                let since = since.unwrap_or_default();
                let place = self.shown.partition_point(|row| self.rows[*row].entry.at < since);
                let last = self.shown.len().saturating_sub(1);
                self.go_to(Some(place.min(last)), String::new);
            }
            Err(why) => self.note = Some(why),
        }
    }

    fn set_filter(&mut self, text: String) {
        self.filter = text;
        self.choose();
    }

    /// Moves the cursor to a row, and shows all rows if that one is hidden.
    fn show_row(&mut self, row: usize) {
        if self.shown.binary_search(&row).is_err() {
            self.filter.clear();
            self.hidden.clear();
            self.choose();
            self.note = Some("all rows are shown again, because that one was hidden".to_owned());
        }
        self.cursor = self.shown.partition_point(|shown| *shown < row);
    }

    /// Chooses the rows that are shown. The cursor stays, or goes to the next one.
    fn choose(&mut self) {
        let selected = self.selected().unwrap_or_default();
        self.shown = (0..self.rows.len()).filter(|row| self.is_shown(&self.rows[*row])).collect();
        let last = self.shown.len().saturating_sub(1);
        self.cursor = self.shown.partition_point(|row| *row < selected).min(last);
    }

    fn is_shown(&self, row: &Row) -> bool {
        let shows = |part: What| !self.hidden.contains(&part);
        let is_part = shows(row.entry.what()) || (row.entry.failed && shows(What::Failures));
        is_part && (self.filter.is_empty() || self.is_like(&row.entry))
    }

    fn is_like(&self, entry: &Entry) -> bool {
        let (_, event, rest) = line(entry);
        let text = format!("{event} {rest}").to_lowercase();
        self.filter.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }

    /// The selected row.
    pub(super) fn selected(&self) -> Option<usize> {
        self.shown.get(self.cursor).copied()
    }

    pub(super) fn shown(&self) -> &[usize] {
        &self.shown
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// What stands above the rows.
    pub(super) fn title(&self) -> String {
        let failures = self.rows.iter().filter(|row| row.entry.failed).count();
        let hidden = self.rows.len() - self.shown.len();
        let mut parts = vec![format!("{} rows", self.rows.len()), format!("{failures} failed")];
        parts.extend((hidden > 0).then(|| format!("{hidden} hidden")));
        parts.extend((!self.filter.is_empty()).then(|| format!("filter: {}", Printable::new(&self.filter))));
        parts.extend(match &self.reading {
            Reading::Going => vec!["reading …".to_owned()],
            Reading::Full => vec![format!("the first {MOST_ROWS}; narrow it by --since, a key or --kind")],
            Reading::Done(ends) if ends.is_empty() => vec!["read as a whole".to_owned()],
            Reading::Done(ends) => ends.clone(),
        });
        parts.join("  ·  ")
    }
}

/// Time, event and the rest of a row.
pub(super) fn line(entry: &Entry) -> (String, String, String) {
    let event = lines::shown(&entry.event);
    let rest = format!("{}  {}", lines::name(entry), lines::details(entry, true));
    (lines::time(entry), event, hide_credentials(rest))
}

/// All that is known of a row.
pub(super) fn details(entry: &Entry) -> Vec<String> {
    let mut told = vec![format!("{}  {}  {}", lines::time(entry), lines::shown(&entry.event), lines::name(entry))];
    told.extend(lines::author(&entry.by));
    told.extend(entry.changes.iter().map(|change| format!("  {change}")));
    told.extend((entry.more_changes > 0).then(|| format!("  and {} more", entry.more_changes)));
    told.extend(entry.answered.iter().map(|change| format!("  the server: {change}")));
    told.extend(lines::answer(entry));
    told.extend(entry.message.as_ref().map(|message| lines::shown(message)));
    if let Some(own) = &entry.reconcile {
        told.push(lines::reconciled(own, entry));
        told.extend(own.causes.iter().map(|cause| format!("  because {}", lines::shown(cause))));
        told.extend(own.late.iter().map(|late| format!("  unseen {}", lines::shown(late))));
        told.push(format!("  read {}", lines::read(own)));
    }
    told.extend(entry.version.as_ref().map(|version| format!("version {}", lines::shown(version))));
    told.extend(entry.line.map(|line| format!("line {line} of the recording")));
    told.into_iter().map(hide_credentials).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::super::entry::{By, Reconcile, Sort};
    use super::*;
    use std::time::Duration;

    fn entry(at: u64, what: Sort, event: &str, key: &str) -> Entry {
        let at = Duration::from_secs(at);
        Entry {
            at,
            after: at.as_secs_f64(),
            what,
            event: event.to_owned(),
            key: Some(key.to_owned()),
            ..Entry::default()
        }
    }

    /// A change, the reconcile that it causes, its write, and what that changes; then a failure of another key.
    pub(in super::super) fn view() -> View {
        let version = |version: &str| Some(version.to_owned());
        let cause = "Updated /apis/example.com/v1/foos/web/a at version 7 after 1ms".to_owned();
        let own =
            Reconcile { number: 3, of: "foos".to_owned(), attempt: 1, causes: vec![cause], ..Reconcile::default() };
        let write = Entry { line: Some(12), ..entry(3, Sort::Write, "PATCH", "web/a") };
        let by = By { line: Some(12), reconcile: Some(3), ..By::default() };
        let mut view = View { page: 2, ..View::default() };
        view.add(Entry { version: version("7"), ..entry(1, Sort::Change, "MODIFIED", "web/a") });
        let reconcile = entry(2, Sort::Reconcile, "reconcile", "web/a");
        view.add(Entry { reconcile: Some(own), writes: vec![write], ..reconcile });
        view.add(Entry { by, version: version("8"), ..entry(4, Sort::Change, "MODIFIED", "web/a") });
        view.add(Entry { failed: true, ..entry(5, Sort::Failure, "GET", "web/b") });
        view
    }

    /// Where the cursor is behind some keys.
    fn typed(view: &mut View, keys: &str) -> Option<usize> {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                key => KeyCode::Char(key),
            };
            assert_eq!(view.handle_key(KeyEvent::from(code)), Flow::Stay);
        }
        view.selected()
    }

    #[test]
    fn why_leads_from_a_change_to_its_write_its_reconcile_and_the_change_that_caused_it() {
        let mut view = view();
        assert_eq!(typed(&mut view, "jjj"), Some(3));
        assert_eq!((typed(&mut view, "y"), typed(&mut view, "y"), typed(&mut view, "y")), (Some(2), Some(1), Some(0)));
        typed(&mut view, "y");
        assert_eq!((view.selected(), view.note.is_some()), (Some(0), true), "nothing made the first one");
        assert_eq!((typed(&mut view, "b"), typed(&mut view, "bb")), (Some(1), Some(3)));
    }

    #[test]
    fn the_next_failure_and_the_next_write_are_a_key_away() {
        let mut view = view();
        assert_eq!((typed(&mut view, "w"), typed(&mut view, "n"), typed(&mut view, "W")), (Some(2), Some(4), Some(2)));
        typed(&mut view, "N");
        assert_eq!((view.selected(), view.note.as_deref()), (Some(2), Some("there is no failure above")));
    }

    #[test]
    fn words_parts_and_the_key_of_a_row_hide_the_others_and_the_cursor_stays() {
        let mut view = view();
        assert_eq!(typed(&mut view, "jjj/patch web\n"), Some(2));
        assert_eq!((view.shown().len(), typed(&mut view, "\u{1b}"), view.shown().len()), (1, Some(2), 5));
        assert_eq!((typed(&mut view, "13"), view.shown().to_vec()), (Some(4), vec![1, 4]));
        assert_eq!((typed(&mut view, "13"), typed(&mut view, "s"), view.shown().to_vec()), (Some(4), Some(4), vec![4]));
        // The way back leads to a row that is hidden.
        typed(&mut view, "sgws");
        assert_eq!(view.shown(), [0, 1, 2, 3]);
        assert_eq!((typed(&mut view, "/web/b\nb"), view.shown().len()), (Some(0), 5));
    }

    #[test]
    fn a_time_is_gone_to_and_a_wrong_one_is_told() {
        let mut view = view();
        assert_eq!((typed(&mut view, "t4s\n"), typed(&mut view, "t1h\n")), (Some(3), Some(4)));
        typed(&mut view, "tnoon\n");
        assert!(view.note.as_ref().is_some_and(|note| note.starts_with("give a time")), "{:?}", view.note);
        typed(&mut view, "t2026-11-22T02:00:00Z\n");
        assert!(view.note.as_ref().is_some_and(|note| note.contains("has no date")), "{:?}", view.note);
    }

    #[test]
    fn a_screen_is_passed_at_once_and_the_ends_are_the_ends() {
        let mut view = view();
        assert_eq!(
            (typed(&mut view, " "), typed(&mut view, "   "), typed(&mut view, "g")),
            (Some(2), Some(4), Some(0))
        );
        assert_eq!((typed(&mut view, "G"), typed(&mut view, "k")), (Some(4), Some(3)));
        let mut empty = View::default();
        assert_eq!(typed(&mut empty, "jkGgnwyb s1\n/x\nt1s\n"), None);
    }

    #[test]
    fn a_view_that_is_full_takes_no_more_and_says_so() {
        let mut view = View::default();
        (0..MOST_ROWS as u64).for_each(|at| view.add(entry(at, Sort::Change, "MODIFIED", "a")));
        assert!(view.reading == Reading::Full && view.title().contains("--since"), "{}", view.title());
    }
}
