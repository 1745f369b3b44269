//! Text from servers, proxies and files, wherever core shows it to a person.

use listwatch_core::api::ApiError;
use listwatch_core::decode::{Decoder, ListMeta, Status};
use listwatch_core::informer::InformerStatus;
use listwatch_core::object::Version;
use listwatch_core::reflector::Failure;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// Writes a terminal's clipboard, turns the direction of writing, breaks a line; and is long.
fn hostile() -> String {
    ["\u{1b}]52;c;aGk=\u{7}\u{9b}2J\u{7f}\u{202e}\u{2028}\r\n\u{200b}", &"x".repeat(100_000)].concat()
}

/// Panics unless the text is one line of a length that a person reads.
fn check(field: &str, text: &str) {
    let steering = |c: &char| c.is_control() || "\u{200b}\u{202e}\u{2028}".contains(*c);
    assert_eq!(text.chars().find(steering), None, "{field}");
    assert!(text.chars().count() < 4_000, "{field}: {} characters", text.chars().count());
    assert!(text.contains("\\u001b]52;"), "{field} is shown: {text}");
}

fn status() -> Arc<Status> {
    let (mut reason, mut message) = (Status::of_code(403), Status::of_code(403));
    (reason.reason, message.message) = (hostile(), hostile());
    check("Status::reason", &reason.to_string());
    check("Status::message", &message.to_string());
    message.into()
}

#[test]
fn an_error_that_quotes_a_server_does_not_steer_the_terminal() {
    let (status, version) = (status(), || Version::from(&*hostile()));
    let transport = || TransportError::new(TransportErrorKind::Other, hostile());
    check("TransportError", &transport().to_string());
    for failure in [
        Failure::Status(status.clone()),
        Failure::StreamError(status.clone()),
        Failure::Transport(transport()),
        Failure::BackInTime { version: version(), last: "7".into() },
        Failure::BackInTime { version: "7".into(), last: version() },
    ] {
        check("Failure", &failure.to_string());
    }
    for error in [
        ApiError::Status { status: Box::new((*status).clone()), request: None, retry_after: None },
        ApiError::Transport(transport()),
        ApiError::Unreadable(hostile()),
        ApiError::Unwritable(hostile()),
    ] {
        check("ApiError", &error.to_string());
    }
}

#[test]
fn a_status_line_that_quotes_a_version_does_not_steer_the_terminal() {
    let synced = |received: &str, applied: &str| InformerStatus::Synced {
        age: Duration::ZERO,
        overdue: false,
        received: Some(received.into()),
        applied: Some(applied.into()),
    };
    check("received", &synced(&hostile(), "7").to_string());
    check("applied", &synced("7", &hostile()).to_string());
}

#[test]
fn what_cannot_be_decoded_is_told_in_short_printable_text() {
    #[derive(Debug, serde::Deserialize)]
    struct Pod {
        #[expect(dead_code, reason = "it never decodes")]
        phase: Phase,
    }
    #[derive(Debug, serde::Deserialize)]
    enum Phase {}

    let text = serde_json::to_string(&hostile()).unwrap();
    let named = format!(r#"{{"metadata":{{"name":{text}}}}}"#);
    let unknown = format!(r#"{{"metadata":{{"name":"a"}},"phase":{text}}}"#);
    let odd = format!(r#"{{"type":{text},"object":{{}}}}"#);
    for undecodable in [
        Decoder::default().item::<Pod>(named.as_bytes(), &ListMeta::default()).unwrap_err(),
        Decoder::default().item::<Pod>(unknown.as_bytes(), &ListMeta::default()).unwrap_err(),
        Decoder::default().watch_event::<Pod>(odd.as_bytes()).unwrap_err(),
    ] {
        check("Undecodable", &undecodable.to_string());
        assert!(undecodable.error.to_string().len() < 2_000, "{} bytes are kept", undecodable.error.to_string().len());
    }
}

#[test]
fn a_long_quotation_is_cut_behind_the_path_of_its_field() {
    #[derive(Debug, serde::Deserialize)]
    struct Pod {
        #[expect(dead_code, reason = "it never decodes")]
        replicas: u32,
    }

    let frame = format!(r#"{{"metadata":{{"name":"a"}},"replicas":"{}"}}"#, "x".repeat(5_000));
    let undecodable = Decoder::default().item::<Pod>(frame.as_bytes(), &ListMeta::default()).unwrap_err();
    let told = undecodable.to_string();
    assert!(
        told.starts_with("a: `replicas` does not fit: invalid type: string \"xxx") && told.ends_with("xxx…"),
        "{told}"
    );
}
