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
    let mut browser = Browser { timeline: recording.timeline, teller, view, began, file };
    let mut terminal = ratatui::try_init().map_err(CommandError::Output)?;
    let is_stopped = || smol::block_on(smol::future::poll_once(&mut stop)).is_some();
    let browsed = browser.run(&mut terminal, is_stopped);
    ratatui::restore();
    browsed.map_err(CommandError::Output)
}

struct Browser {
    timeline: Timeline,
    teller: Teller,
    view: View,
    /// The beginning, if rows have dates.
    began: Option<WallTime>,
    file: PathBuf,
}

impl Browser {
    fn run(&mut self, terminal: &mut DefaultTerminal, mut is_stopped: impl FnMut() -> bool) -> io::Result<()> {
        let file = Printable::new(&self.file.display().to_string()).to_string();
        while !is_stopped() {
            let is_going = self.view.reading == Reading::Going;
            if is_going {
                self.read();
            }
            terminal.draw(|frame| screen::draw(frame, &mut self.view, &file))?;
            let wait = if is_going { Duration::ZERO } else { TICK };
            if event::poll(wait)?
                && let Event::Key(key) = event::read()?
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
        let mut faults = Vec::new();
        let mut is_over = false;
        for _ in 0..AT_ONCE {
            match read_next(&mut self.timeline, &mut self.teller, &mut take) {
                Some(Ok(())) => {}
                Some(Err(fault)) => faults.push(fault.to_string()),
                None => is_over = true,
            }
            if is_over {
                break;
            }
        }
        for mut entry in entries {
            entry.date(self.began);
            self.view.add(entry);
        }
        if is_over {
            faults.extend(ends_of(&self.timeline, &self.file, self.teller.running()));
            let faults = faults.iter().map(|fault| Printable::new(fault).to_string()).collect();
            self.view.reading = Reading::Done(faults);
        }
    }
}
