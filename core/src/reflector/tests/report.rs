//! What is told of a failure.

use super::*;

impl Talk {
    /// Lets the open request fail; what is told of it.
    fn reports(&mut self, failure: Failure) -> String {
        let _ = self.asks();
        let _ = self.fails(failure);
        self.reflector.poll_failure().unwrap().to_string()
    }
}

fn said(code: u16, body: &str) -> Failure {
    Failure::Status(Status::read(code, body.as_bytes()).into())
}

#[test]
fn a_failure_says_which_request_has_failed() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let told = talk.reports(said(403, r#"{"code":403,"reason":"Forbidden","message":"pods is forbidden"}"#));
    let (front, wait) = told.split_once("; next attempt in ").unwrap();
    assert_eq!(front, "GET /pods?limit=2: forbidden (status 403): pods is forbidden");
    assert!(wait.strip_suffix(" s").is_some_and(|seconds| (1..=2).contains(&seconds.parse().unwrap())), "{told}");
}

/// The version in a watch's request is not the one that its events have led to.
#[test]
fn the_request_is_the_one_that_was_sent() {
    let mut talk = lists().synced();
    let _ = talk.says(|id| object(id, "9"));
    let told = talk.reports(TransportErrorKind::Reset.into());
    let watch = "GET /pods?watch=1&allowWatchBookmarks=true&resourceVersion=5: unreachable: connection broken; next";
    assert!(told.starts_with(watch), "{told}");
}

#[test]
fn what_follows_at_once_is_told_so() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "", "page-2"));
    let told = talk.reports(said(410, r#"{"code":410,"reason":"Expired"}"#));
    assert_eq!(told, "GET /pods?limit=2&continue=page-2: expired (status 410): Expired; next attempt at once");
}

#[test]
fn a_report_is_one_short_line_whatever_a_server_wrote() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let token: &'static str = std::boxed::Box::leak("x".repeat(100_000).into_boxed_str());
    let _ = talk.says(|id| list_end(id, "", token));
    let mut status = Status::of_code(500);
    status.message = "\u{1b}[2J\n".repeat(10_000);
    let told = talk.reports(Failure::Status(status.into()));
    assert!(told.contains("continue=xxx") && told.contains(r"\u001b[2J\n"), "{told}");
    assert!(told.len() < 8_000 && !told.contains(char::is_control), "{} bytes", told.len());
}

#[test]
fn a_delay_that_is_not_over_is_not_zero() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let told = talk.reports(said(500, ""));
    assert!(told.ends_with("next attempt in 1 s") || told.ends_with("next attempt in 2 s"), "{told}");
    let mut talk = streams();
    let _ = talk.says(|_| Input::Start);
    let told = talk.reports(Failure::StreamError(Status::default().into()));
    assert!(told.contains(": error event; next"), "a status that is none has no code: {told}");
}
