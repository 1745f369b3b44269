//! The reading of a whole recording, moment by moment and entry by entry.

use super::entry::Entry;
use super::teller::Teller;
use listwatch::file::{CaptureError, Moment, Timeline};

/// What a reading finds.
pub(super) enum Read<'r> {
    Moment(&'r Moment),
    /// Any entry, marked with what the options select of it.
    Any(&'r Entry),
    /// An entry that the options select.
    Entry(&'r Entry),
}

/// Reads a time line to its end, or up to a fault of the recording.
pub(super) fn read(
    timeline: &mut Timeline,
    teller: &mut Teller,
    mut take: impl FnMut(Read<'_>),
) -> Option<CaptureError> {
    let mut fault = None;
    while let Some(read) = read_next(timeline, teller, &mut take) {
        fault = read.err().or(fault);
    }
    fault
}

/// Reads the next moment; `None` at the end, where what is not over is passed on, too.
pub(super) fn read_next(
    timeline: &mut Timeline,
    teller: &mut Teller,
    take: &mut impl FnMut(Read<'_>),
) -> Option<Result<(), CaptureError>> {
    let Some(moment) = timeline.next() else {
        teller.end();
        while let Some(entries) = teller.sequence.pop() {
            pass_on(teller, entries, take);
        }
        return None;
    };
    let read = moment.map(|moment| {
        take(Read::Moment(&moment));
        teller.take(moment);
    });
    while let Some(entries) = teller.sequence.next() {
        pass_on(teller, entries, take);
    }
    Some(read)
}

fn pass_on(teller: &Teller, entries: Vec<Entry>, take: &mut impl FnMut(Read<'_>)) {
    for mut entry in entries {
        teller.filter.mark(&mut entry);
        take(Read::Any(&entry));
        teller.filter.selected(entry).iter().for_each(|entry| take(Read::Entry(entry)));
    }
}
