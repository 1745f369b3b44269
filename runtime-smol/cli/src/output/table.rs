//! The table for people: a line a change, with the columns of the server and what changed.

use super::age::age;
use super::date::{date, time_of_day};
use super::screen::{Screen, cut, padded, width};
use super::shown::Shown;
use super::text::cell;
use console::Color;
use listwatch::object::ObjectHandle;
use serde_json::Value;
use std::io::{self, Write};
use std::time::SystemTime;

/// The lines, and their bytes, that are held to be aligned with each other at the most.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 64 * 1024;
/// The columns that a cell reserves at the most: a longer one stands out of its line alone.
const WIDEST: usize = 64;
/// The columns of the longest verb.
const VERB: usize = 9;
/// What stands for a cell that the server did not send.
const UNKNOWN: &str = "<unknown>";

/// Tables of several resources, one below the other. Lines are held until [`flush`](Self::flush), so that the columns of
/// a burst are aligned.
pub(super) struct Table {
    screen: Screen,
    shape: Shape,
    parts: Vec<Part>,
    lines: Vec<Line>,
    /// The bytes of the lines.
    held: usize,
}

/// The columns of a table.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// All columns of the server, however wide.
    pub(super) wide: bool,
    /// A column has the namespaces of namespaced objects.
    pub(super) namespaces: bool,
    /// The last column has the labels.
    pub(super) labels: bool,
}

/// A header and the cells below it.
pub(super) type Cells = (Vec<String>, Vec<String>);

/// The table of one resource.
#[derive(Default)]
struct Part {
    header: Vec<String>,
    widths: Vec<usize>,
    /// Whether the lines have a time, a verb and changes.
    events: bool,
}

struct Line {
    /// The part, by its index.
    part: usize,
    /// The time and the verb of an event; `None` for a line of a cache, and for a header of these.
    event: Option<(String, &'static str)>,
    cells: Vec<String>,
    changes: String,
    is_header: bool,
}

/// A line of the table before it is laid out.
pub(super) struct Change<'a, T> {
    /// The verb, and what changed, of an event.
    pub(super) event: Option<(&'static str, String)>,
    pub(super) object: &'a ObjectHandle<T>,
    /// The kind before the name, if there are several resources.
    pub(super) prefix: String,
    /// Columns that the arguments name, in place of the server's.
    pub(super) custom: Option<Cells>,
}

impl Table {
    /// The tables of so many resources.
    pub(super) fn new(resources: usize, shape: Shape) -> Self {
        let parts = (0..resources).map(|_| Part::default()).collect();
        Self { screen: Screen::of_stdout(), shape, parts, lines: Vec::new(), held: 0 }
    }

    /// Adds a line, with a header if it is the first of its resource, or if the columns are new.
    pub(super) fn add<T: Shown>(&mut self, part: usize, change: Change<'_, T>, now: SystemTime) {
        let (header, cells) = self.cells(&change, now);
        let is_event = change.event.is_some();
        if self.parts[part].header != header || self.parts[part].events != is_event {
            self.parts[part] = Part { widths: vec![0; header.len()], header: header.clone(), events: is_event };
            let event = is_event.then(|| ("TIME".to_owned(), "EVENT"));
            let changes = if is_event { "CHANGES".to_owned() } else { String::new() };
            self.hold(Line { part, event, cells: header, changes, is_header: true });
        }
        let time = if self.screen.is_terminal() { time_of_day(now) } else { date(now) };
        let (verb, changes) = change.event.unzip();
        let event = verb.map(|verb| (time, verb));
        self.hold(Line { part, event, cells, changes: changes.unwrap_or_default(), is_header: false });
    }

    /// Whether lines are held that should be written before more are added.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= BATCH || self.held >= BATCH_BYTES
    }

    /// Writes the lines that are held.
    pub(super) fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.held = 0;
        let columns = self.screen.width().filter(|_| !self.shape.wide);
        let lines = std::mem::take(&mut self.lines);
        lines.iter().try_for_each(|line| writeln!(out, "{}", self.text(line, columns)))
    }

    fn hold(&mut self, line: Line) {
        let widths = &mut self.parts[line.part].widths;
        for (widest, cell) in widths.iter_mut().zip(&line.cells) {
            *widest = (*widest).max(width(cell).min(WIDEST));
        }
        self.held += line.cells.iter().map(String::len).sum::<usize>() + line.changes.len();
        self.lines.push(line);
    }

    /// The header and the cells of a line.
    fn cells<T: Shown>(&self, change: &Change<'_, T>, now: SystemTime) -> Cells {
        let object = change.object;
        if let Some((header, cells)) = &change.custom {
            let printable = |texts: &[String]| texts.iter().map(|text| cell(text).into_owned()).collect();
            return (printable(header), printable(cells));
        }
        let namespace = object.meta().namespace().filter(|_| self.shape.namespaces);
        let (mut header, mut cells) = match object.columns().is_empty() {
            true => own_cells(change, now),
            false => self.server_cells(change),
        };
        if self.shape.labels {
            header.push("LABELS".to_owned());
            cells.push(labels(object));
        }
        if let Some(namespace) = namespace {
            header.insert(0, "NAMESPACE".to_owned());
            cells.insert(0, cell(namespace).into_owned());
        }
        (header, cells)
    }

    fn server_cells<T: Shown>(&self, change: &Change<'_, T>) -> Cells {
        let (columns, cells) = (change.object.columns(), change.object.cells());
        let name = columns.iter().position(|column| column.format == "name").unwrap_or_default();
        let shown = columns.iter().enumerate().filter(|(_, column)| column.priority <= 0 || self.shape.wide);
        let shown = shown.map(|(index, column)| {
            let text = match cells.get(index) {
                Some(value) => cell_text(value),
                None if index == name => change.object.meta().name().to_owned(),
                None => UNKNOWN.to_owned(),
            };
            let text = if index == name { format!("{}{text}", change.prefix) } else { text };
            (cell(&column.name.to_uppercase()).into_owned(), cell(&text).into_owned())
        });
        shown.unzip()
    }

    /// A line as text, with the changes beside the cells. If they do not fit there, they get a line of their own.
    fn text(&self, line: &Line, columns: Option<usize>) -> String {
        let taken = if line.event.is_some() { self.time() + VERB + 4 } else { 0 };
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(taken));
        let cells = line.cells.iter().zip(&self.parts[line.part].widths);
        let cells = cells.map(|(cell, width)| padded(cell, *width)).collect::<Vec<_>>().join("  ");
        let fits = width(&cells) + 2 + width(&line.changes) <= room;
        let mut text = self.begin(line);
        match &*line.changes {
            "" => text.push_str(&cut(cells.trim_end(), room)),
            changes if fits => text.push_str(&(cells + &self.screen.dimmed(&format!("  {changes}")))),
            _ if line.is_header => text.push_str(&cut(cells.trim_end(), room)),
            changes => {
                let indent = self.time() + 2;
                let changes =
                    columns.map_or_else(|| changes.to_owned(), |columns| cut(changes, columns.saturating_sub(indent)));
                let below = format!("\n{}{}", " ".repeat(indent), self.screen.dimmed(&changes));
                text.push_str(&(cut(cells.trim_end(), room) + &below));
            }
        }
        text
    }

    /// The time and the verb.
    fn begin(&self, line: &Line) -> String {
        let Some((time, verb)) = &line.event else { return String::new() };
        let (time, padded_verb) = (padded(time, self.time()), padded(verb, VERB));
        match line.is_header {
            true => format!("{time}  {padded_verb}  "),
            false => format!("{time}  {}  ", self.screen.coloured(&padded_verb, colour(verb))),
        }
    }

    /// The columns of a time.
    fn time(&self) -> usize {
        if self.screen.is_terminal() { 8 } else { 20 }
    }
}

/// The cells of a server that sends no Table.
fn own_cells<T: Shown>(change: &Change<'_, T>, now: SystemTime) -> Cells {
    let object = change.object.json();
    let name = format!("{}{}", change.prefix, change.object.meta().name());
    (
        vec!["NAME".to_owned(), "AGE".to_owned()],
        vec![cell(&name).into_owned(), age(&object["metadata"]["creationTimestamp"], now.into())],
    )
}

/// The labels as kubectl prints them.
fn labels<T>(object: &ObjectHandle<T>) -> String {
    let labels: Vec<String> = object.meta().labels().map(|(name, value)| format!("{name}={value}")).collect();
    if labels.is_empty() { "<none>".to_owned() } else { cell(&labels.join(",")).into_owned() }
}

/// A cell as kubectl prints it: a text up to its first line break, and nothing for null.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => match text.find(['\n', '\r', '\u{c}']) {
            Some(end) => format!("{}...", &text[..end]),
            None => text.clone(),
        },
        other => other.to_string(),
    }
}

fn colour(verb: &str) -> Color {
    match verb {
        "added" => Color::Green,
        "deleted" | "vanished" => Color::Red,
        _ => Color::Yellow,
    }
}
