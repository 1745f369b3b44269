use super::exchange::{Stage, misplaced};
use super::format::{Line, Payload, VERSION};
use super::id_set::IdSet;
use crate::error::{CaptureErrorKind, Fault};
use std::collections::HashMap;

/// The order in which the lines of a capture stand: a version that is known in the first one alone, and behind each
/// request its response.
#[derive(Debug, Default)]
pub(crate) struct Order {
    begun: bool,
    /// The requests without an end.
    open: HashMap<u64, Stage>,
    /// The ids of the requests that ended.
    ended: IdSet,
}

/// The most requests that are open at once. Each takes some 300 bytes.
pub(crate) const MOST_OPEN: usize = 1 << 16;

impl Order {
    /// Parses the next line that is not blank.
    pub(crate) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Line<'l>, Fault> {
        let first = !std::mem::replace(&mut self.begun, true);
        match Line::parse(line)? {
            Line::Start(..) if !first => Err(misplaced("the version of the capture belongs in the first line")),
            Line::Start(version, _) if !(1..=VERSION).contains(&version) => Err(unknown_version(version)),
            line => Ok(line),
        }
    }

    /// Takes the next record. Returns the stage of its request behind it.
    pub(crate) fn record(&mut self, id: u64, payload: &Payload<'_>) -> Result<Stage, Fault> {
        let stage = match (self.open.get(&id), payload) {
            (Some(stage), payload) => stage.after(payload)?,
            (None, payload) if self.ended.contains(id) => Stage::Ended.after(payload)?,
            (None, Payload::Request(_)) if self.open.len() == MOST_OPEN => return Err(too_many_open()),
            (None, Payload::Request(_)) => Stage::Requested,
            (None, _) => return Err(misplaced(format_args!("a record for request {id}, which is not there"))),
        };
        if stage == Stage::Ended {
            self.open.remove(&id);
            self.ended.insert(id);
        } else {
            self.open.insert(id, stage);
        }
        Ok(stage)
    }
}

pub(crate) fn too_many_open() -> Fault {
    let message = format!("more than {MOST_OPEN} requests are open at once");
    Fault::of_line(CaptureErrorKind::Order, message)
}

fn unknown_version(version: u64) -> Fault {
    let message = format!("version {version} of the capture format is unknown here; use a release that reads it");
    Fault::new(CaptureErrorKind::Version, message)
}
