//! `listwatch replay --suggest-capacities`: what an informer in fixed memory needs for a recording.

mod code;
mod field;
mod index;
mod lines;
mod names;
mod need;

use super::played::Played;
use super::{config, nothing_decoded, nothing_listed, open};
use crate::arguments::{FieldPath, IndexBy, ReplayOptions, hide_credentials};
use crate::error::CommandError;
use crate::output::progress::Progress;
use crate::output::{self, messages};
use crate::report::counts::Counts;
use crate::report::undecodable;
use code::Code;
use core::task::{Context, Waker};
use field::Field;
use lines::Lines;
use listwatch::decode::Raw;
use listwatch::file::{Chunks, Pace, Playback};
use listwatch::informer::{InformerStatus, Pumped};
use listwatch::text::Counted;
use listwatch::time::Instant;
use listwatch::{Driver, Event, Informer};
use need::Need;
use std::path::Path;

/// The bytes that a device reads at once, unless `--chunk` names them.
const ROOM: usize = 2048;

/// Plays the recording, and prints the capacities that it needs.
///
/// # Errors
/// The recording cannot be played to its end, or no fixed memory holds it.
pub(super) fn suggest(options: &ReplayOptions, file: &Path) -> Result<(), CommandError> {
    let (fields, indexes) = fields(options)?;
    let room = options.chunk_bytes().unwrap_or(ROOM);
    let playback = open(options, file, Pace::Immediate, Chunks::AtMost(room))?;
    let played = Played::of(options, &playback)?;
    let resource = played.first().cloned();
    let mut measured = Measured::new(options, playback, &played, Need::new(fields, indexes));
    measured.play();
    let need = measured.finish(options)?;
    let resource = resource.map(|resource| resource.to_string());
    let code = Code::new(&need, &options.file, resource, room)?;
    output::print(hide_credentials(code.to_string()).as_bytes()).map_err(CommandError::Output)
}

/// The fields that are kept, and for each index the place of its field; the namespace has none.
fn fields(options: &ReplayOptions) -> Result<(Vec<Field>, Vec<Option<usize>>), CommandError> {
    let mut paths = Vec::<FieldPath>::new();
    let mut place = |path: FieldPath| {
        let known = paths.iter().position(|known| known.as_str() == path.as_str());
        known.unwrap_or_else(|| {
            paths.push(path);
            paths.len() - 1
        })
    };
    options.fields.iter().cloned().for_each(|path| _ = place(path));
    let mut indexes = Vec::new();
    for by in &options.indexes {
        let index = path(by)?.map(&mut place);
        if !indexes.contains(&index) {
            indexes.push(index);
        }
    }
    if indexes.is_empty() {
        indexes.push(None);
    }
    if paths.len() > Field::MOST {
        return Err(CommandError::Arguments("a projection has 18 fields at the most, those of indexes included"));
    }
    Ok((names::named(paths), indexes))
}

/// The path of the text that an index is by; `None` for the namespace.
fn path(by: &IndexBy) -> Result<Option<FieldPath>, CommandError> {
    let text = match by {
        IndexBy::Namespace => return Ok(None),
        IndexBy::Field(path) => return Ok(Some(path.clone())),
        IndexBy::Owner => "metadata.ownerReferences[controller=true].uid".to_owned(),
        IndexBy::Label(name) if name.chars().all(char::is_alphanumeric) => format!("metadata.labels.{name}"),
        IndexBy::Label(name) => format!("metadata.labels['{name}']"),
    };
    let parsed = text.parse().map(Some);
    parsed.map_err(|_| CommandError::Arguments("the name of a label has no quotes; give --index label:NAME"))
}

/// A recording that is played through an informer on the heap.
struct Measured<'a> {
    driver: Driver<Raw, Lines>,
    need: Need,
    counts: Counts,
    progress: Progress,
    file: std::path::Display<'a>,
}

impl<'a> Measured<'a> {
    fn new(options: &'a ReplayOptions, playback: Playback, played: &Played, need: Need) -> Self {
        let resource = played.resources().swap_remove(0);
        let progress = Progress::bar(playback.progress().file_bytes, true);
        let mut config = config(options, &playback, &resource);
        // A device is sent them, too.
        config.decode.managed_fields = true;
        let driver = Driver::new(Informer::new(resource, config), Lines::new(playback));
        Self { driver, need, counts: Counts::default(), progress, file: options.file.display() }
    }

    fn play(&mut self) {
        let mut now = Instant::ZERO;
        self.driver.informer_mut().start(now);
        loop {
            let before = self.driver.informer().status(now);
            let pumped = self.driver.pump(now, &mut Context::from_waker(Waker::noop()));
            self.need.stage(listed(&before).max(listed(&self.driver.informer().status(now))));
            let is_list = listed(&before).is_some();
            self.take(is_list);
            if pumped == Pumped::Waiting {
                let Some(next) = self.driver.poll_timeout().filter(|_| !self.playback().is_complete()) else { break };
                now = next;
            }
        }
        self.progress.hide();
    }

    /// Takes what is queued. A list commits all of its items at once, which are its stage and no backlog.
    fn take(&mut self, is_list: bool) {
        let mut waiting = 0;
        loop {
            let queued = self.driver.informer().queued();
            let Some(event) = self.driver.informer_mut().poll_event() else { break };
            waiting = waiting.max(queued + usize::from(queued == 0 && event.object().is_some()));
            self.note(&event);
        }
        self.need.settle();
        if !is_list {
            self.need.backlog(waiting);
        }
        if self.progress.is_visible() {
            let position = self.playback().progress().file_bytes_played;
            self.progress.show_at(position, &Counted(self.counts.events, "event", "events").to_string());
        }
    }

    fn note(&mut self, event: &Event<Raw>) {
        self.counts.note(event);
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } | Event::Recreated { new: object, .. } => {
                self.need.insert(object);
            }
            Event::Deleted { object, final_state_known } => self.need.remove(object, *final_state_known),
            Event::Undecodable(error) => {
                let message = undecodable::message(error, self.counts.undecodable, &self.file);
                message.iter().for_each(|message| self.progress.suspend(|| messages::print(message)));
            }
            _ => {}
        }
    }

    fn finish(mut self, options: &ReplayOptions) -> Result<Need, CommandError> {
        undecodable::report_rest(self.counts.undecodable, &self.file);
        if let Some(error) = self.playback().error() {
            return Err(CommandError::Capture(error.clone()));
        }
        let cut = self.playback().cut().cloned();
        if !self.counts.synced {
            return Err(nothing_listed(options, &self.counts, cut.as_ref()));
        }
        nothing_decoded(options, &self.counts).map_or(Ok(()), Err)?;
        if let Some(cut) = cut {
            messages::print(format_args!("{cut}; the capacities are for what is before"));
        }
        self.need.longest_line = self.driver.transport().longest();
        Ok(self.need)
    }

    fn playback(&self) -> &Playback {
        self.driver.transport().playback()
    }
}

/// The items of the list that is being read.
fn listed(status: &InformerStatus) -> Option<usize> {
    match status {
        InformerStatus::Listing { items, .. } | InformerStatus::Streaming { items, .. } => Some(*items),
        _ => None,
    }
}
