//! The families of streams, of their drift audits, and of the requests of clients.

use super::encoder::{Families, Labels, and, number};
use crate::informers::{Asked, StreamStatus};
use core::fmt;
use core::time::Duration;
use listwatch_core::informer::{InformerStatus, SavedAge};
use listwatch_core::object::Version;
use std::collections::BTreeMap;
use std::sync::Arc;

const STATES: [&str; 8] = ["idle", "listing", "streaming", "delivering", "synced", "restored", "failing", "stopped"];

pub(super) fn encode(families: &mut Families<'_>, streams: &[(String, StreamStatus)]) -> fmt::Result {
    let states = streams.iter().flat_map(|(name, it)| {
        STATES.map(|state| (and(stream(name), "state", state), f64::from(u8::from(it.status.name() == state))))
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
    families.gauge("listwatch_stream_received_version", help, of(|it| it.received.as_ref()))?;
    let help = "Resource version up to which every change is in the cache";
    families.gauge("listwatch_stream_applied_version", help, of(|it| it.applied.as_ref()))?;
    let undecodable = streams.iter().map(|(name, it)| (stream(name), it.undecodable));
    families.counter("listwatch_stream_undecodable_objects", "Objects that could not be decoded", undecodable)?;
    let panics = streams.iter().map(|(name, it)| (stream(name), it.panics));
    families.counter("listwatch_stream_panics", "Panics of the program's code in the stream", panics)?;
    counted(families, streams)?;
    let held = streams.iter().map(|(name, it)| (stream(name), it.held_back.unwrap_or_default().as_secs_f64()));
    let help = "Seconds that a subscriber has held the stream back; 0 if none does";
    families.gauge("listwatch_stream_held_back_seconds", help, held)?;
    audits(families, streams)
}

fn counted(families: &mut Families<'_>, streams: &[(String, StreamStatus)]) -> fmt::Result {
    let by_reason = |which: usize| {
        streams.iter().flat_map(move |(name, it)| {
            let failures = it.failures.iter().filter(move |(_, counts)| counts[which] > 0);
            failures.map(move |(class, counts)| (and(stream(name), "reason", format!("{class:?}")), counts[which]))
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

fn stream(name: &str) -> Labels {
    vec![("stream", name.to_owned())]
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

fn audits(families: &mut Families<'_>, streams: &[(String, StreamStatus)]) -> fmt::Result {
    let results = streams.iter().flat_map(|(name, it)| {
        it.audits.by_result().into_iter().map(|(result, count)| (and(stream(name), "result", result), count))
    });
    families.counter("listwatch_stream_audits", "Drift audits by their result", results)?;
    let found = streams.iter().filter_map(|(name, it)| Some((name, it.audits.found()?)));
    let drifted = found.flat_map(|(name, found)| {
        [("missing", found.missing), ("extra", found.extra), ("stale", found.stale)]
            .map(|(kind, objects)| (and(stream(name), "kind", kind), number(objects)))
    });
    let help = "Objects in which the store differed from the server at the last drift audit that compared them";
    families.gauge("listwatch_stream_drifted_objects", help, drifted)?;
    let ages = streams.iter().filter_map(|(name, it)| Some((stream(name), it.audit_age?.as_secs_f64())));
    families.gauge("listwatch_stream_audit_age_seconds", "Seconds since the end of the last drift audit", ages)
}

/// Each client once, though several controllers send by it.
pub(super) fn encode_requests(families: &mut Families<'_>, asked: impl Iterator<Item = Asked>) -> fmt::Result {
    let mut clients = Vec::<Asked>::new();
    for it in asked {
        if !clients.iter().any(|known| Arc::ptr_eq(&known.requests, &it.requests)) {
            clients.push(it);
        }
    }
    let mut sums = BTreeMap::<(String, &str, Option<u16>), u64>::new();
    for Asked { host, requests } in clients {
        for ((method, status), count) in requests.counts() {
            *sums.entry((host.clone(), method, status)).or_default() += count;
        }
    }
    let series = sums.into_iter().map(|((host, method, status), count)| {
        // As client-go has it.
        let code = status.map_or_else(|| "<error>".to_owned(), |status| status.to_string());
        (vec![("code", code), ("host", host), ("method", method.to_owned())], count)
    });
    families.counter("rest_client_requests", "Requests by the status of their answers", series)
}
