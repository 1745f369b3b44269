//! The families of drift audits.

use super::encoder::{Families, number};
use super::streams::stream;
use crate::informers::StreamStatus;
use core::fmt;

pub(super) fn encode(families: &mut Families<'_>, streams: &[(String, StreamStatus)]) -> fmt::Result {
    let results = streams.iter().flat_map(|(name, it)| {
        it.audits.by_result().map(|(result, count)| {
            let mut labels = stream(name);
            labels.push(("result", result.to_owned()));
            (labels, count)
        })
    });
    families.counter("listwatch_stream_audits", "Drift audits by their result", results)?;
    let found = streams.iter().filter_map(|(name, it)| Some((name, it.audits.found()?)));
    let drifted = found.flat_map(|(name, found)| {
        [("missing", found.missing), ("extra", found.extra), ("stale", found.stale)].map(|(kind, objects)| {
            let mut labels = stream(name);
            labels.push(("kind", kind.to_owned()));
            (labels, number(objects))
        })
    });
    let help = "Objects in which the store differed from the server at the last drift audit that compared them";
    families.gauge("listwatch_stream_drifted_objects", help, drifted)?;
    let ages = streams.iter().filter_map(|(name, it)| Some((stream(name), it.audit_age?.as_secs_f64())));
    families.gauge("listwatch_stream_audit_age_seconds", "Seconds since the end of the last drift audit", ages)
}
