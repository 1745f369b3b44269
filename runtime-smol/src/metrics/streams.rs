//! The families of streams.

use super::encoder::{Families, Labels, number};
use crate::informers::StreamStatus;
use core::fmt;
use core::time::Duration;
use listwatch_core::informer::{InformerStatus, SavedAge};
use listwatch_core::object::Version;

const STATES: [&str; 8] = ["idle", "listing", "streaming", "delivering", "synced", "restored", "failing", "stopped"];

pub(super) fn encode(families: &mut Families<'_>, streams: &[(String, StreamStatus)]) -> fmt::Result {
    let states = streams.iter().flat_map(|(name, it)| {
        STATES.map(|state| {
            let mut labels = stream(name);
            labels.push(("state", state.to_owned()));
            (labels, f64::from(u8::from(state_of(&it.status) == state)))
        })
    });
    families.gauge("listwatch_stream_state", "1 for the state of the stream, 0 for the others", states)?;
    let ages = streams.iter().filter_map(|(name, it)| Some((stream(name), age_of(&it.status)?.as_secs_f64())));
    let help = "Seconds since the last event or bookmark of a synced stream, the save of a restored one, or the begin of \
                a list or an outage";
    families.gauge("listwatch_stream_age_seconds", help, ages)?;
    let of = |read: fn(&StreamStatus) -> Option<&Version>| {
        streams.iter().filter_map(move |(name, it)| {
            // Versions are compared as numbers since Kubernetes 1.35. Any other text is left out.
            Some((stream(name), read(it)?.to_string().parse::<u64>().ok()? as f64))
        })
    };
    let help = "Resource version up to which every change was received";
    families.gauge("listwatch_stream_received_version", help, of(received))?;
    let help = "Resource version up to which every change is in the cache";
    families.gauge("listwatch_stream_applied_version", help, of(applied))?;
    let undecodable = streams.iter().map(|(name, it)| (stream(name), it.undecodable));
    families.counter("listwatch_stream_undecodable_objects", "Objects that could not be decoded", undecodable)?;
    let panics = streams.iter().map(|(name, it)| (stream(name), it.panics));
    families.counter("listwatch_stream_panics", "Panics of the program's code in the stream", panics)?;
    counted(families, streams)?;
    let held = streams.iter().map(|(name, it)| (stream(name), it.held_back.unwrap_or_default().as_secs_f64()));
    let help = "Seconds that a subscriber has held the stream back; 0 if none does";
    families.gauge("listwatch_stream_held_back_seconds", help, held)
}

fn counted(families: &mut Families<'_>, streams: &[(String, StreamStatus)]) -> fmt::Result {
    let by_reason = |which: usize| {
        streams.iter().flat_map(move |(name, it)| {
            it.failures.iter().filter(move |(_, counts)| counts[which] > 0).map(move |(class, counts)| {
                let mut labels = stream(name);
                labels.push(("reason", format!("{class:?}")));
                (labels, counts[which])
            })
        })
    };
    let help = "Failures of lists and watches by their class";
    families.counter("listwatch_stream_failures", help, by_reason(0))?;
    let help = "Watches after which the whole state was read again, by the class of the failure";
    families.counter("listwatch_stream_relists", help, by_reason(1))?;
    let bytes = streams.iter().map(|(name, it)| (stream(name), it.received_bytes));
    let help = "Bytes of lists and watches, after a transport has decompressed them";
    families.counter("listwatch_stream_received_bytes", help, bytes)?;
    let objects = streams.iter().filter_map(|(name, it)| Some((stream(name), number(it.objects?))));
    families.gauge("listwatch_stream_objects", "Objects in the store of the stream", objects)
}

pub(super) fn stream(name: &str) -> Labels {
    vec![("stream", name.to_owned())]
}

pub(crate) fn state_of(status: &InformerStatus) -> &'static str {
    match status {
        InformerStatus::Listing { .. } => "listing",
        InformerStatus::Streaming { .. } => "streaming",
        InformerStatus::Delivering { .. } => "delivering",
        InformerStatus::Synced { .. } => "synced",
        InformerStatus::Restored { .. } => "restored",
        InformerStatus::Failing { .. } => "failing",
        InformerStatus::Stopped => "stopped",
        _ => "idle",
    }
}

fn age_of(status: &InformerStatus) -> Option<Duration> {
    match status {
        InformerStatus::Synced { age, .. } | InformerStatus::Restored { age: SavedAge::Known(age) } => Some(*age),
        InformerStatus::Listing { elapsed, .. }
        | InformerStatus::Streaming { elapsed, .. }
        | InformerStatus::Failing { elapsed, .. } => Some(*elapsed),
        _ => None,
    }
}

fn received(stream: &StreamStatus) -> Option<&Version> {
    match &stream.status {
        InformerStatus::Synced { received, .. } => received.as_ref(),
        _ => stream.received.as_ref(),
    }
}

fn applied(stream: &StreamStatus) -> Option<&Version> {
    match &stream.status {
        InformerStatus::Synced { applied, .. } => applied.as_ref(),
        _ => stream.applied.as_ref(),
    }
}
