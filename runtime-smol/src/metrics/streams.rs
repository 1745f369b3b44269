//! The families of list-and-watch streams, and of all requests.

use super::text::{Of, Text, flag, number};
use crate::informers::{Asked, StreamStatus};
use core::time::Duration;
use listwatch_core::informer::{InformerStatus, SavedAge};
use listwatch_core::object::Version;
use std::collections::BTreeMap;
use std::sync::Arc;

const STATES: [&str; 8] = ["idle", "listing", "streaming", "delivering", "synced", "restored", "failing", "stopped"];

pub(super) fn write(text: &mut Text, streams: &[(String, StreamStatus)]) {
    let mut of = text.of(&["stream"], streams);
    of.by(["listwatch_stream_state", "state"], "1 for the state of the stream, 0 for the others", |it| {
        STATES.map(|state| (state, flag(it.status.name() == state))).to_vec()
    });
    let help = "Seconds since the last event or bookmark of a synced stream, the save of a restored one, or the begin of \
                a list or an outage";
    of.each("listwatch_stream_age_seconds", help, |it| Some(age_of(&it.status)?.as_secs_f64()));
    let help = "Resource version up to which every change was received";
    of.each("listwatch_stream_received_version", help, |it| numeric(it.received.as_ref()?));
    let help = "Resource version up to which every change is in the cache";
    of.each("listwatch_stream_applied_version", help, |it| numeric(it.applied.as_ref()?));
    of.each("listwatch_stream_undecodable_objects", "Objects that could not be decoded", |it| Some(it.undecodable));
    of.each("listwatch_stream_panics", "Panics of the program's code in the stream", |it| Some(it.panics));
    let by_class = |it: &StreamStatus, which: usize| {
        let counts = it.failures.iter().map(|(class, counts)| (format!("{class:?}"), counts[which]));
        counts.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let help = "Failures of lists and watches by their class";
    of.by(["listwatch_stream_failures", "reason"], help, |it| by_class(it, 0));
    let help = "Watches after which the whole state was read again, by the class of the failure";
    of.by(["listwatch_stream_relists", "reason"], help, |it| by_class(it, 1));
    let help = "Bytes of lists and watches, after a transport has decompressed them";
    of.each("listwatch_stream_received_bytes", help, |it| Some(it.received_bytes));
    of.each("listwatch_stream_objects", "Objects in the store of the stream", |it| it.objects.map(number));
    let help = "Seconds that a subscriber has held the stream back; 0 if none does";
    of.each("listwatch_stream_held_back_seconds", help, |it| Some(it.held_back.unwrap_or_default().as_secs_f64()));
    audits(of);
}

fn audits(mut of: Of<'_, StreamStatus>) {
    of.by(["listwatch_stream_audits", "result"], "Drift audits by their result", |it| it.audits.by_result().into());
    let help = "Objects in which the store differed from the server at the last drift audit that compared them";
    of.by(["listwatch_stream_drifted_objects", "kind"], help, |it| {
        let Some(found) = it.audits.found() else { return Vec::new() };
        let kinds = [("missing", found.missing), ("extra", found.extra), ("stale", found.stale)];
        kinds.map(|(kind, objects)| (kind, number(objects))).to_vec()
    });
    let help = "Seconds since the end of the last drift audit";
    of.each("listwatch_stream_audit_age_seconds", help, |it| it.audit_age.map(|age| age.as_secs_f64()));
}

/// For how long the state has lasted.
fn age_of(status: &InformerStatus) -> Option<Duration> {
    match status {
        InformerStatus::Synced { age, .. } | InformerStatus::Restored { age: SavedAge::Known(age) } => Some(*age),
        InformerStatus::Listing { elapsed, .. }
        | InformerStatus::Streaming { elapsed, .. }
        | InformerStatus::Failing { elapsed, .. } => Some(*elapsed),
        _ => None,
    }
}

/// Versions are compared as numbers since Kubernetes 1.35. Any other text is left out.
fn numeric(version: &Version) -> Option<f64> {
    Some(version.parse::<u64>().ok()? as f64)
}

/// The requests of worlds, each world once.
pub(super) fn write_requests(text: &mut Text, asked: impl Iterator<Item = Asked>) {
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
    text.family("rest_client_requests", "Requests by the status of their answers", series);
}
