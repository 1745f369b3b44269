//! Servers whose lists lie.

use crate::audit::stage::{MAPS, Stage, found, only};
use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::audit::{AuditError, AuditFailure, StreamAudit};
use serde_json::{Value, json};
use std::sync::Arc;

/// An audit whose pages are these, by their number, of a store with the object `web/a` at version 2.
fn audited(page: impl Fn(usize) -> Value + Send + 'static) -> Arc<StreamAudit> {
    let (stage, asked) = (Stage::with(&["web/a"]), core::cell::Cell::new(0));
    let server = ApiFn::new(move |_: &ApiRequest| {
        let page = page(asked.replace(asked.get() + 1));
        Ok(ApiResponse::new(page["code"].as_u64().map_or(200, |code| code as u16), page.to_string()))
    });
    stage.asking(server).follow(async |maps| {
        let audit = only(maps.audit().await);
        assert!(maps.get("web/a").is_some(), "the cache does not change");
        audit
    })
}

fn list(version: &str, next: &str, items: Value) -> Value {
    json!({ "metadata": { "resourceVersion": version, "continue": next }, "items": items })
}

fn failure(audit: &StreamAudit) -> &AuditError {
    let Err(AuditFailure::NotRead(error)) = &audit.result else { panic!("{audit}") };
    error
}

#[test]
fn pages_without_end_and_tokens_that_loop_end_the_audit() {
    let endless = audited(|number| list("2", &format!("t{number}"), json!([{ "metadata": { "name": "a" } }])));
    assert_eq!((failure(&endless), endless.took.as_secs()), (&AuditError::Endless, 999));
    let looping = audited(|number| list("2", ["a", "b"][number % 2], json!([])));
    assert_eq!(failure(&looping), &AuditError::Endless);
    assert_eq!(failure(&audited(|_| list("2", "a", json!([])))), &AuditError::Endless);
}

#[test]
fn lists_that_expire_or_change_their_version_between_pages_end_the_audit() {
    let expires = |number: usize| match number % 2 {
        0 => list("2", "next", json!([])),
        _ => json!({ "kind": "Status", "code": 410, "reason": "Expired" }),
    };
    assert_eq!(failure(&audited(expires)), &AuditError::Expired);
    assert_eq!(failure(&audited(|number| list(&format!("{number}"), "next", json!([])))), &AuditError::Expired);
}

#[test]
fn items_that_are_nothing_are_no_drift() {
    let item = json!({ "metadata": { "name": "a", "namespace": "web", "resourceVersion": "2" } });
    let audit = audited(move |_| list("2", "", json!([{}, { "metadata": {} }, item])));
    let report = audit.result.as_ref().unwrap();
    assert!(audit.is_clean() && report.undecodable == 2, "{audit}");
    for items in [json!([null]), json!([7]), json!({}), json!([{ "metadata": { "name": 7 } }])] {
        let audit = audited(move |_| list("2", "", items.clone()));
        assert!(matches!(failure(&audit), AuditError::Failed(_)), "{audit}");
    }
}

#[test]
fn a_list_of_another_time_ends_the_audit_or_is_waited_for() {
    let lacking = |name: &str| json!([{ "metadata": { "name": name, "namespace": "web", "resourceVersion": "2" } }]);
    let back = audited(move |number| list(if number == 0 { "2" } else { "1" }, "", lacking("b")));
    assert_eq!(failure(&back), &AuditError::BackInTime);
    let far = "9".repeat(10_000);
    let ahead = audited(move |_| list(&far, "", lacking("b")));
    assert!(ahead.took >= Duration::from_secs(180), "{ahead}");
    assert_eq!(found(&ahead), ["web/a extra", "web/b missing"]);
    assert!(ahead.to_string().len() < 4096, "{ahead}");
    for version in ["", "one", "1.5", "-1", "\u{1b}[2J"] {
        assert_eq!(failure(&audited(move |_| list(version, "", json!([])))), &AuditError::Unordered, "{version:?}");
    }
}

#[test]
fn a_hostile_name_is_told_in_part_and_as_text() {
    let name = format!("\u{1b}[2J\n{}", "x".repeat(1 << 20));
    let audit = audited(move |_| {
        list("2", "", json!([{ "metadata": { "name": name, "namespace": "web", "resourceVersion": "2" } }]))
    });
    let line = audit.to_string();
    assert!(line.len() < 4096 && line.contains(r"web/\u001b[2J\nx") && !line.contains(['\u{1b}', '\n']), "{line}");
    assert_eq!(audit.name.to_string(), MAPS.trim_start_matches("v1/"));
}
