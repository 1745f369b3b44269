//! How the view looks on a terminal.

use super::super::lines;
use super::view::{Mode, Prompt, Row, View, details, line};
use console::Color as Hue;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

/// The columns of an event.
const EVENT: usize = 10;

const KEYS: &str =
    "↑↓ row  enter details  n failure  w write  y why  b back  s same key  / filter  t time  ? help  q quit";

const HELP: &str = "\
↑ ↓ k j          the row above or below
page up, down    a screen up or down; so does the space bar
home end g G     the first or the last row
enter            opens and closes the details of the row
n N              the next or the last failure
w W              the next or the last write
y                why: of a change, the write that made it; of a write, its reconcile; of a reconcile, its cause
b                back to where the cursor was before n, w, y or t
s                only rows of this key, or all again
/                only rows with these words; esc shows all again
t                goes to a time: 12s, 02:03:10 or 2026-11-22T02:03:10Z
1 2 3 4 5        hides and shows changes, reconciles, writes, failures, leases
q                leaves; so does ctrl-c";

/// Draws the view, whose rows are of this file.
pub(super) fn draw(frame: &mut Frame<'_>, view: &mut View, file: &str) {
    let below = if view.is_open { Constraint::Percentage(40) } else { Constraint::Length(0) };
    let parts = [Constraint::Length(1), Constraint::Fill(1), below, Constraint::Length(1)];
    let [top, rows, open, bottom] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Line::from(format!("{file}  ·  {}", view.title())).style(Modifier::BOLD), top);
    match view.mode {
        Mode::Help => frame.render_widget(Paragraph::new(HELP), rows),
        _ => draw_rows(frame, view, rows),
    }
    if let Some(selected) = view.selected().filter(|_| view.is_open) {
        let told: Vec<Line<'_>> = details(&view.rows[selected].entry).into_iter().map(Line::from).collect();
        let told = Paragraph::new(Text::from(told)).wrap(Wrap { trim: false });
        frame.render_widget(told.block(Block::new().borders(Borders::TOP)), open);
    }
    frame.render_widget(Line::from(status(view)).style(Modifier::DIM), bottom);
}

fn draw_rows(frame: &mut Frame<'_>, view: &mut View, area: Rect) {
    view.page = area.height.into();
    // The cursor stays in the middle, but at both ends.
    let most = view.shown().len().saturating_sub(view.page);
    let first = view.cursor().saturating_sub(view.page / 2).min(most);
    let visible = view.shown().iter().enumerate().skip(first).take(view.page);
    let lines: Vec<Line<'_>> = visible.map(|(place, row)| row_line(&view.rows[*row], place == view.cursor())).collect();
    let lines = if lines.is_empty() { vec![Line::from("no row is shown; esc shows all again")] } else { lines };
    frame.render_widget(Paragraph::new(Text::from(lines)), area);
}

fn row_line(row: &Row, is_selected: bool) -> Line<'static> {
    let (time, event, rest) = line(&row.entry);
    let indent = if row.of.is_some() { "    " } else { "" };
    let event = Span::styled(format!("{event:EVENT$}"), Style::new().fg(colour(lines::colour(&row.entry))));
    let line = Line::from(vec![Span::raw(format!("{time}  {indent}")), event, Span::raw(format!("  {rest}"))]);
    if is_selected { line.style(Modifier::REVERSED) } else { line }
}

fn status(view: &View) -> String {
    match (&view.mode, &view.note) {
        (Mode::Typing(Prompt::Filter, text), _) => format!("filter: {text}▏"),
        (Mode::Typing(Prompt::Time, text), _) => format!("time: {text}▏"),
        (Mode::Help, _) => "any key goes back".to_owned(),
        (Mode::Browsing, Some(note)) => note.clone(),
        (Mode::Browsing, None) => KEYS.to_owned(),
    }
}

fn colour(hue: Hue) -> Color {
    match hue {
        Hue::Red => Color::Red,
        Hue::Green => Color::Green,
        Hue::Cyan => Color::Cyan,
        Hue::Magenta => Color::Magenta,
        Hue::Yellow => Color::Yellow,
        _ => Color::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::view;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    fn drawn(view: &mut View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(60, 10)).unwrap();
        terminal.draw(|frame| draw(frame, view, "tape.jsonl")).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content().chunks(60);
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned()).collect()
    }

    #[test]
    fn rows_stand_below_the_title_and_the_details_of_one_below_them() {
        let mut view = view();
        let screen = drawn(&mut view);
        assert_eq!(screen[0], "tape.jsonl  ·  5 rows  ·  1 failed  ·  reading …");
        assert_eq!(screen[1], "      1.000s  MODIFIED    web/a  version 7");
        assert_eq!(screen[3], "      3.000s      PATCH       web/a");
        assert!(screen[9].starts_with("↑↓ row  enter details"), "{screen:#?}");
        view.handle_key(KeyEvent::from(KeyCode::Enter));
        let screen = drawn(&mut view);
        assert!(screen[1].contains("MODIFIED") && screen[7].trim_end() == "version 7", "{screen:#?}");
        view.handle_key(KeyEvent::from(KeyCode::Char('?')));
        assert!(drawn(&mut view)[1].starts_with("↑ ↓ k j"));
    }

    #[test]
    fn no_screen_is_too_small() {
        let mut view = view();
        view.handle_key(KeyEvent::from(KeyCode::Enter));
        for (columns, rows) in [(1, 1), (3, 2), (200, 1), (1, 60)] {
            let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
            terminal.draw(|frame| draw(frame, &mut view, "tape.jsonl")).unwrap();
        }
    }
}
