//! The recording, and its dates.

use super::filter::Filter;
use crate::arguments::{Moment, SelectionOptions};
use crate::error::CommandError;
use listwatch::file::{CaptureError, History, Timeline};
use listwatch::time::WallTime;
use std::path::Path;
use std::time::Duration;

/// What has no date cannot be searched by one.
const UNDATED: &str = "the recording has no date; give the time since its beginning, such as 90s";

const BEFORE: &str = "--until is a date before the beginning of the recording";

/// A recording that is open.
pub(super) struct Recording {
    pub(super) timeline: Timeline,
    /// When it began, if that is known.
    pub(super) began: Option<WallTime>,
}

impl Recording {
    pub(super) fn open(options: &SelectionOptions, file: &Path) -> Result<Self, CaptureError> {
        let open =
            |file| if options.skip_bad_lines { Timeline::without_bad_lines(file) } else { Timeline::from_file(file) };
        let timeline = open(file)?;
        // A capture without a date of its own is as old as its objects say.
        let began = timeline.began().or_else(|| History::from_file(file).ok()?.began());
        Ok(Self { timeline, began })
    }

    /// A recording, and what is selected of it.
    pub(super) fn selected(options: &SelectionOptions, file: &Path) -> Result<(Self, Filter), CommandError> {
        let recording = Self::open(options, file)?;
        let (since, until) = moments(options, recording.began)?;
        let filter = Filter::of(options, since, until);
        Ok((recording.of_keys(&filter), filter))
    }

    /// Passes over the lines that cannot name a selected key.
    pub(super) fn of_keys(mut self, filter: &Filter) -> Self {
        if let Some(text) = filter.text_of_keys() {
            self.timeline = self.timeline.naming(text);
        }
        self
    }
}

/// The first and the last moment that are shown.
pub(super) fn moments(
    options: &SelectionOptions,
    began: Option<WallTime>,
) -> Result<(Duration, Duration), CommandError> {
    let moment = |option: Option<Moment>| option.map(|moment| since(moment, began)).transpose();
    let first = moment(options.since)?.unwrap_or_default();
    let last = moment(options.until)?.unwrap_or(Some(Duration::MAX)).ok_or(CommandError::Arguments(BEFORE))?;
    Ok((first.unwrap_or_default(), last))
}

/// The time of a moment since the recording began; `None` if it was before.
pub(super) fn since(moment: Moment, began: Option<WallTime>) -> Result<Option<Duration>, CommandError> {
    match (moment, began) {
        (Moment::After(time), _) => Ok(Some(time)),
        (Moment::End, _) => Ok(Some(Duration::MAX)),
        (_, None) => Err(CommandError::Arguments(UNDATED)),
        (moment, Some(began)) => Ok(moment.since(began)),
    }
}
