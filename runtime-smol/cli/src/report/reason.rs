//! Failures in a few words, so that equal failures are counted together.

use listwatch::decode::Status;
use listwatch::reflector::{Failure, FailureReport, Operation};
use listwatch::text::Printable;

/// The characters of a reason at the most.
const WORD: usize = 64;
/// The characters of a detail at the most.
const SENTENCE: usize = 512;

/// The failure and its request: `410 Expired on a page`. The detail of the server or the recording is left out.
pub(crate) fn reason(failed: &FailureReport) -> String {
    let place = place(failed.operation);
    match &failed.failure {
        Failure::Status(status) | Failure::StreamError(status) => format!("{}{place}", words(status)),
        Failure::Transport(error) => format!("{} {place}", error.kind),
        Failure::Truncated => format!("broken off {place}"),
        Failure::NotAList => format!("not a list {place}"),
        Failure::Unfinished => format!("ended early {place}"),
        Failure::VeryShort => format!("ended at once {place}"),
        Failure::RepeatedPage => format!("repeated token {place}"),
        Failure::Unreadable => format!("unreadable data {place}"),
        Failure::Stalled { .. } => format!("silent for too long {place}"),
        Failure::BackInTime { .. } => format!("back in time {place}"),
        Failure::Silent => format!("no bookmark {place}"),
        Failure::Drifted { .. } => "drifted".to_owned(),
        other => other.to_string(),
    }
}

/// The same with the detail: `403 Forbidden in the list: pods is forbidden`.
pub(crate) fn detailed(failed: &FailureReport) -> String {
    let detail = match &failed.failure {
        Failure::Status(status) | Failure::StreamError(status) => &*status.message,
        Failure::Transport(error) => &*error.detail,
        other => return format!("{other} ({})", place(failed.operation)),
    };
    let reason = reason(failed);
    if detail.is_empty() { reason } else { format!("{reason}: {}", Printable::new(detail).at_most(SENTENCE)) }
}

/// Code and reason, with a blank after each: `410 Expired `.
fn words(status: &Status) -> String {
    let code = match status.code {
        0 => "error event ".to_owned(),
        code => format!("{code} "),
    };
    match status.reason.split_whitespace().next() {
        Some(word) => format!("{code}{} ", Printable::new(word).at_most(WORD)),
        None => code,
    }
}

/// The request that failed.
fn place(operation: Operation) -> &'static str {
    match operation {
        Operation::List => "in the list",
        Operation::Page => "on a page",
        Operation::WatchList => "in the watch-list",
        Operation::Watch => "in the watch",
        Operation::Resume => "in the list of one object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch::decode::Status;
    use listwatch::reflector::Reaction;
    use listwatch::request::Request;
    use listwatch::transport::{TransportError, TransportErrorKind};
    use std::time::Duration;

    fn report(operation: Operation, failure: Failure) -> FailureReport {
        let (request, retry_in) = (Request::parse("/api/v1/pods"), Duration::ZERO);
        FailureReport { operation, request, failure, reaction: Reaction::Relist, attempts: 1, retry_in }
    }

    fn told(operation: Operation, failure: Failure) -> String {
        reason(&report(operation, failure))
    }

    #[test]
    fn a_reason_is_code_word_and_place_without_the_servers_sentence() {
        let body = br#"{"reason":"Expired","code":410,"message":"too old resource version: 1 (388)"}"#;
        assert_eq!(told(Operation::Watch, Failure::Status(Status::read(410, body).into())), "410 Expired in the watch");
        assert_eq!(told(Operation::Page, Failure::Status(Status::of_code(503).into())), "503 on a page");
        let cut = TransportError::new(TransportErrorKind::Reset, "recorded: cut");
        assert_eq!(told(Operation::WatchList, Failure::Transport(cut)), "connection broken in the watch-list");
        assert_eq!(told(Operation::List, Failure::Truncated), "broken off in the list");
    }

    #[test]
    fn an_error_event_without_a_code_is_told_as_an_error_event() {
        let event = |body: &[u8]| told(Operation::Watch, Failure::StreamError(Status::read(0, body).into()));
        assert_eq!(event(b"\"x\""), "error event in the watch");
        assert_eq!(event(br#"{"kind":"Pod","reason":"Evicted"}"#), "error event Evicted in the watch");
        assert_eq!(event(br#"{"code":500}"#), "500 in the watch");
    }

    #[test]
    fn detailed_the_detail_stands_behind_what_happened_and_where() {
        let detailed = |operation, failure| detailed(&report(operation, failure));
        let body = br#"{"reason":"Forbidden","code":403,"message":"pods is forbidden"}"#;
        let forbidden = Failure::Status(Status::read(403, body).into());
        assert_eq!(detailed(Operation::List, forbidden), "403 Forbidden in the list: pods is forbidden");
        let unreachable = TransportError::new(TransportErrorKind::Refused, "no route to host");
        assert_eq!(
            detailed(Operation::Watch, Failure::Transport(unreachable)),
            "connection refused in the watch: no route to host"
        );
        assert_eq!(detailed(Operation::Watch, TransportErrorKind::Reset.into()), "connection broken in the watch");
        assert_eq!(detailed(Operation::List, Failure::NotAList), "the response is not a list (in the list)");
    }
}
