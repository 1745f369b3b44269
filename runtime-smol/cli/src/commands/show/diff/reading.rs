//! One reading of a recording, from its beginning to its end.

use crate::arguments::SelectionOptions;
use crate::commands::show::entry::Entry;
use crate::commands::show::filter::Filter;
use crate::commands::show::recording::{Recording, moments};
use crate::commands::show::state::State;
use crate::commands::show::teller::Teller;
use crate::error::CommandError;
use crate::output::changes::{Look, Members};
use listwatch::Key;
use listwatch::file::{CaptureError, Moment, RecordedChange, RecordedResource, Timeline};
use listwatch::text::Counted;
use listwatch::time::WallTime;
use std::mem::take;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The characters of a value that is compared. Of a longer one in a write, it counts that it changed.
const VALUE: usize = 1 << 16;
/// The fields of a write that are compared.
const FIELDS: usize = 1000;

/// What takes a recording.
pub(super) trait Visitor {
    /// Takes a moment, before the entries that it brings.
    fn moment(&mut self, filter: &Filter, moment: &Moment);
    /// Takes a selected entry. Its number is the same at each reading.
    fn entry(&mut self, number: u64, entry: Entry);
}

pub(super) struct Reading {
    timeline: Timeline,
    pub(super) began: Option<WallTime>,
    teller: Teller,
    number: u64,
    fault: Option<CaptureError>,
}

impl Reading {
    pub(super) fn open(
        options: &SelectionOptions,
        left_out: &'static [&'static str],
        file: &Path,
    ) -> Result<Self, CommandError> {
        let Recording { mut timeline, began } = Recording::open(options, file)?;
        let (since, until) = moments(options, began)?;
        let filter = Filter::of(options, since, until);
        if let Some(text) = filter.text_of_keys() {
            timeline = timeline.naming(text);
        }
        let secrets = options.show_secrets;
        let look = Look { listed: FIELDS, value: VALUE, left_out, secrets, members: Members::Each };
        Ok(Self { timeline, began, teller: Teller::new(filter, look), number: 0, fault: None })
    }

    /// Whether it has requests.
    pub(super) fn is_capture(&self) -> bool {
        self.timeline.start().is_some()
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.teller.filter
    }

    /// Reads up to the last moment that is selected, or to a fault.
    pub(super) fn read(&mut self, visitor: &mut impl Visitor) {
        while let Some(moment) = self.timeline.next() {
            match moment {
                Ok(moment) if moment.at > self.teller.filter.until && self.teller.sequence.is_empty() => break,
                Ok(moment) => {
                    visitor.moment(&self.teller.filter, &moment);
                    self.teller.take(moment);
                }
                Err(error) => self.fault = Some(error),
            }
            while let Some(entries) = self.teller.sequence.next() {
                self.tell(entries, visitor);
            }
        }
        self.teller.end();
        while let Some(entries) = self.teller.sequence.pop() {
            self.tell(entries, visitor);
        }
    }

    /// Tells the writes of a reconcile before it.
    fn tell(&mut self, entries: Vec<Entry>, visitor: &mut impl Visitor) {
        for mut entry in entries {
            let writes = take(&mut entry.writes);
            for entry in writes.into_iter().chain([entry]).flat_map(|entry| self.teller.filter.selected(entry)) {
                self.number += 1;
                visitor.entry(self.number, entry);
            }
        }
    }

    /// What ended it before its end.
    pub(super) fn fault(&mut self) -> Option<CaptureError> {
        self.fault.take()
    }

    /// What it lacks.
    pub(super) fn notes(&self) -> Vec<String> {
        let cut = self.timeline.cut().map(|cut| format!("it breaks off: {}", cut.message()));
        let bad = self.timeline.bad_lines();
        let bad = (bad > 0).then(|| Counted(bad, "broken line was skipped", "broken lines were skipped").to_string());
        let dropped = self.teller.dropped();
        let dropped = (dropped > 0).then(|| {
            let states = Counted(dropped, "state", "states");
            format!("for want of memory, {states} of objects were forgotten, and the next change of each has no fields")
        });
        let ends = self.timeline.breaks_off().then(|| "the tape has no last line".to_owned());
        [cut, bad, dropped, ends].into_iter().flatten().collect()
    }
}

/// Takes a change of objects that are selected and meant, unless it comes behind the last moment. The first states count from
/// the beginning.
pub(super) fn take_change(
    state: &mut State,
    at: Duration,
    filter: &Filter,
    resource: &Arc<RecordedResource>,
    change: RecordedChange,
    is_meant: impl Fn(&Key) -> bool,
) {
    if at <= filter.until || state.0.is_empty() {
        state.take(resource, change, |key| filter.selects(&resource.collection, key.as_str()) && is_meant(key));
    }
}
