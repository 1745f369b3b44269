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
    assert_eq!(front, "GET /pods (list): forbidden (status 403): pods is forbidden");
    assert!(wait.strip_suffix(" s").is_some_and(|seconds| (1..=2).contains(&seconds.parse().unwrap())), "{told}");
}

#[test]
fn a_request_is_told_by_its_path_and_its_operation_without_its_query() {
    let mut talk = lists().synced();
    let _ = talk.says(|id| object(id, "9"));
    let told = talk.reports(TransportErrorKind::Reset.into());
    let watch = "GET /pods (watch): unreachable: connection broken; next";
    assert!(told.starts_with(watch), "{told}");
}

#[test]
fn what_follows_at_once_is_told_so() {
    let mut talk = lists();
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "", "page-2"));
    let told = talk.reports(said(410, r#"{"code":410,"reason":"Expired"}"#));
    assert_eq!(told, "GET /pods (page): expired (status 410): Expired; next attempt at once");
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
    assert!(!told.contains("xxx") && told.contains(r"\u001b[2J\n"), "{told}");
    assert!(told.len() < 8_000 && !told.contains(char::is_control), "{} bytes", told.len());
}

/// The least delay is a millisecond, also where the state is read again at once.
#[test]
fn a_delay_that_nobody_notices_is_told_as_none() {
    let (request, failure) = (Request::parse("/pods"), said(410, r#"{"code":410,"reason":"Expired"}"#));
    let (operation, reaction) = (Operation::Watch, Reaction::Relist);
    for (millis, told) in [(0, "at once"), (1, "at once"), (100, "at once"), (101, "in 1 s"), (1_001, "in 2 s")] {
        let (request, failure, retry_in) = (request.clone(), failure.clone(), Duration::from_millis(millis));
        let report = FailureReport { operation, request, failure, reaction, attempts: 1, retry_in };
        assert!(report.to_string().ends_with(&std::format!("Expired; next attempt {told}")), "{millis}: {report}");
    }
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
