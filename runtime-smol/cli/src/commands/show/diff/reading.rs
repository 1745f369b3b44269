//! One reading of a recording, from its beginning to its end.

use crate::arguments::SelectionOptions;
use crate::commands::show::entry::Entry;
use crate::commands::show::filter::Filter;
use crate::commands::show::recording::Recording;
use crate::commands::show::resource::name_of;
use crate::commands::show::state::State;
use crate::commands::show::teller::Teller;
use crate::error::CommandError;
use crate::output::changes::{Look, Members};
use listwatch::Key;
use listwatch::file::{CaptureError, Moment, MomentKind, Timeline};
use listwatch::text::Counted;
use listwatch::time::WallTime;
use std::mem::take;
use std::path::Path;

/// The characters of a value that is compared. Of a longer one in a write, it counts that it changed.
const VALUE: usize = 1 << 16;
/// The fields of a write that are compared.
const FIELDS: usize = 1000;

/// What takes a recording.
pub(super) trait Visitor {
    /// Takes a moment, before the entries that it brings.
    fn moment(&mut self, _: &Moment) {}

    /// Whether the last state of an object is wanted.
    fn is_meant(&self, _resource: &str, _: &Key) -> bool {
        true
    }

    /// Takes a selected entry. Its number is the same at each reading.
    fn entry(&mut self, number: u64, entry: Entry);
}

pub(super) struct Reading {
    timeline: Timeline,
    began: Option<WallTime>,
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
        let (Recording { timeline, began }, filter) = Recording::selected(options, file)?;
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

    /// Reads up to the last moment that is selected, or to a fault, and returns the objects there.
    pub(super) fn read(&mut self, visitor: &mut impl Visitor) -> State {
        let (mut state, until) = (State::default(), self.filter().until);
        while let Some(moment) = self.timeline.next() {
            match moment {
                Ok(moment) if moment.at > until && self.teller.sequence.is_empty() => break,
                Ok(moment) => {
                    visitor.moment(&moment);
                    // The first states count from the beginning.
                    if moment.at <= until || state.0.is_empty() {
                        self.keep(&mut state, &moment.kind, visitor);
                    }
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
        state
    }

    fn keep(&self, state: &mut State, kind: &MomentKind, visitor: &impl Visitor) {
        let MomentKind::Changed { resource, change, .. } = kind else { return };
        let (collection, name) = (&resource.collection, name_of(resource));
        let is_meant = |key: &Key| self.filter().selects(collection, key.as_str()) && visitor.is_meant(&name, key);
        state.take(resource, change.clone(), is_meant);
    }

    /// Tells the writes of a reconcile before it.
    fn tell(&mut self, entries: Vec<Entry>, visitor: &mut impl Visitor) {
        for mut entry in entries {
            let writes = take(&mut entry.writes);
            for mut entry in writes.into_iter().chain([entry]).flat_map(|entry| self.teller.filter.selected(entry)) {
                self.number += 1;
                entry.date(self.began);
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
