//! `listwatch browse`: the time line of a recording, with a cursor.

mod screen;
mod view;

use super::reading::{Read, read_next};
use super::recording::Recording;
use super::teller::Teller;
use super::{ends_of, look};
use crate::arguments::BrowseOptions;
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::system::stop::stop;
use listwatch::Clock;
use listwatch::file::Timeline;
use listwatch::text::Printable;
use listwatch::time::WallTime;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;
use view::{Flow, Reading, View};

/// The moments that are read between two looks at the keyboard.
const AT_ONCE: usize = 512;
/// How long a key is waited for before a signal is looked for.
const TICK: Duration = Duration::from_millis(200);

const NO_TERMINAL: &str = "browse needs a terminal; `listwatch show` prints the same";

/// Shows the time line of a recording until the user leaves it.
///
/// # Errors
/// Standard output is no terminal, or the recording cannot be read.
pub(in crate::commands) fn browse(options: &BrowseOptions) -> Result<(), CommandError> {
    if !io::stdout().is_terminal() {
        return Err(CommandError::Arguments(NO_TERMINAL));
    }
    let input = Input::of(&options.selection.file)?;
    let (recording, filter) =
        Recording::selected(&options.selection, input.path()).map_err(|error| input.command_error(error))?;
    let teller = Teller::new(filter, look(&options.selection, true));
    let began = recording.began.filter(|_| !options.relative);
    let view = View::new(recording.began);
    let mut stop = stop(&Clock::real(), None).map_err(CommandError::Signals)?;
    let file = options.selection.file.clone();
    let mut browser = Browser { timeline: recording.timeline, teller, view, began, file, ends: Vec::new() };
    let events = events()?;
    let mut terminal = ratatui::try_init().map_err(CommandError::Output)?;
    let is_stopped = || smol::block_on(smol::future::poll_once(&mut stop)).is_some();
    let browsed = browser.run(&mut terminal, &events, is_stopped);
    ratatui::restore();
    browsed.map_err(CommandError::Output)
}

/// The keys and the changes of the size, read by a thread that ends with the program: once the terminal is gone, a read
/// of it never returns. A fault is the last one.
fn events() -> Result<Receiver<io::Result<Event>>, CommandError> {
    let (told, events) = mpsc::channel();
    let tell = move || {
        loop {
            let read = event::read();
            let is_last = read.is_err();
            if told.send(read).is_err() || is_last {
                break;
            }
        }
    };
    thread::Builder::new().name("keys".to_owned()).spawn(tell).map_err(CommandError::Output)?;
    Ok(events)
}

struct Browser {
    timeline: Timeline,
    teller: Teller,
    view: View,
    /// The beginning, if rows have dates.
    began: Option<WallTime>,
    file: PathBuf,
    /// The faults of the recording up to here.
    ends: Vec<String>,
}

impl Browser {
    fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        events: &Receiver<io::Result<Event>>,
        mut is_stopped: impl FnMut() -> bool,
    ) -> io::Result<()> {
        let file = Printable::new(&self.file.display().to_string()).to_string();
        while !is_stopped() && io::stdout().is_terminal() {
            let is_going = self.view.reading == Reading::Going;
            if is_going {
                self.read();
            }
            terminal.draw(|frame| screen::draw(frame, &mut self.view, &file))?;
            let wait = if is_going { Duration::ZERO } else { TICK };
            if let Ok(read) = events.recv_timeout(wait)
                && let Event::Key(key) = read?
                && key.kind != KeyEventKind::Release
                && self.view.handle_key(key) == Flow::Leave
            {
                break;
            }
        }
        Ok(())
    }

    /// Reads the next moments.
    fn read(&mut self) {
        let mut entries = Vec::new();
        let mut take = |read: Read<'_>| {
            if let Read::Entry(entry) = read {
                entries.push(entry.clone());
            }
        };
        let mut is_over = false;
        for _ in 0..AT_ONCE {
            let Some(read) = read_next(&mut self.timeline, &mut self.teller, &mut take) else {
                is_over = true;
                break;
            };
            self.ends.extend(read.err().map(|fault| fault.to_string()));
        }
        for mut entry in entries {
            entry.date(self.began);
            self.view.add(entry);
        }
        if is_over {
            self.ends.extend(ends_of(&self.timeline, &self.file, self.teller.running()));
            let ends = self.ends.iter().map(|end| Printable::new(end).to_string()).collect();
            self.view.reading = Reading::Done(ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::Filter;
    use super::*;
    use crate::arguments::{Command, parse};

    /// How the reading of a capture ends, whose broken line stands behind so many events.
    fn read_to_the_end(events: usize) -> Reading {
        let path = std::env::temp_dir().join(format!("listwatch-browse-{}-{events}", std::process::id()));
        let request = r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods?watch=1&resourceVersion=1"}}"#;
        let mut lines = vec!["{\"capture\":1}".to_owned(), request.to_owned()];
        lines.push(r#"{"t":0,"id":1,"response":{"status":200}}"#.to_owned());
        lines.extend((0..events).map(|number| {
            let metadata = format!(r#"{{\"name\":\"a\",\"uid\":\"a\",\"resourceVersion\":\"{}\"}}"#, number + 2);
            format!(r#"{{"t":1,"id":1,"data":"{{\"type\":\"MODIFIED\",\"object\":{{\"metadata\":{metadata}}}}}\n"}}"#)
        }));
        lines.extend(["broken".to_owned(), r#"{"t":2,"id":1,"end":"eof"}"#.to_owned()]);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let arguments = ["listwatch".into(), "browse".into(), path.clone().into_os_string()];
        let Ok(Command::Browse(options)) = parse(arguments) else { panic!("no command") };
        let options = &options.selection;
        let timeline = Recording::open(options, &path).unwrap().timeline;
        let teller = Teller::new(Filter::of(options, Duration::ZERO, Duration::MAX), look(options, true));
        let (view, file) = (View::default(), path.clone());
        let mut browser = Browser { timeline, teller, view, began: None, file, ends: Vec::new() };
        while browser.view.reading == Reading::Going {
            browser.read();
        }
        std::fs::remove_file(path).unwrap();
        browser.view.reading
    }

    #[test]
    fn a_broken_line_is_told_wherever_it_stands_among_what_is_read_at_once() {
        for events in [0, 1].into_iter().chain(AT_ONCE - 6..AT_ONCE + 3) {
            let Reading::Done(ends) = read_to_the_end(events) else { panic!("{events}: not read to its end") };
            assert!(ends.iter().any(|end| end.contains(&format!(":{}:", events + 4))), "{events}: {ends:?}");
        }
    }
}
