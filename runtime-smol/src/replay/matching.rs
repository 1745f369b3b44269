//! Which recorded request a request is.

use super::fields::{Body, Query};
use listwatch_core::api::{ApiRequest, Method};
use listwatch_transport_file::SentCall;

/// The place of the recorded call that a request is: the first unused one that is equal, or else that has the same method
/// and path. Each call comes with whether it is used.
pub(super) fn place_of<'c>(calls: impl IntoIterator<Item = (&'c SentCall, bool)>, request: &SentCall) -> Option<usize> {
    let (body, query) = (Body::of(&request.body), Query::of(&request.target));
    let mut first = None;
    for (place, (call, is_used)) in calls.into_iter().enumerate() {
        if is_used || call.method != request.method || path(&call.target) != path(&request.target) {
            continue;
        }
        let is_withheld = call.withheld || request.withheld;
        if Query::of(&call.target) == query && (is_withheld || Body::of(&call.body) == body) {
            return Some(place);
        }
        first = first.or(Some(place));
    }
    first
}

/// A request as a tape has it.
pub(super) fn sent(request: &ApiRequest) -> SentCall {
    SentCall {
        id: 0,
        method: request.method.name().to_owned(),
        target: request.to_string(),
        content_type: request.content_type.map(str::to_owned),
        body: request.body.to_vec(),
        withheld: false,
    }
}

/// Whether it writes.
pub(super) fn is_write(call: &SentCall) -> bool {
    call.method != Method::Get.name()
}

fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}
