//! The example, as it stands in its folder.

#[path = "../examples/informer.rs"]
mod informer;

use informer::{Source, describe, follow};

/// What the example shows of these lines, each with its time in milliseconds.
fn shown(lines: &'static [(u64, &'static str)]) -> Vec<(u64, String)> {
    let mut shown = Vec::new();
    follow(Source::new(lines), |now, event| shown.push((now.as_nanos() / 1_000_000, describe(event))));
    shown
}

#[test]
fn an_informer_without_an_executor_tells_each_change_when_its_source_brings_it() {
    let told = shown(&informer::LINES);
    let told: Vec<_> = told.iter().map(|(millis, event)| (*millis, &**event)).collect();
    assert_eq!(told, [(21, "a is there: Pending"), (21, "synced"), (900, "a is Running"), (4000, "a is gone")]);
    informer::main();
}

#[test]
fn an_informer_without_an_executor_shows_what_failed_and_asks_again() {
    let told = shown(&[
        (20, r#"{"type":"ERROR","object":{"kind":"Status","code":500,"message":"no etcd"}}"#),
        (20, r#"{"type":"ADDED","object":{"metadata":{"name":"a"},"status":{"phase":1}}}"#),
        informer::LINES[1],
    ]);
    let [(20, failed), (later, undecodable), (synced, _)] = &told[..] else { panic!("{told:?}") };
    assert!(failed.contains("no etcd; next attempt in"), "{failed}");
    assert!(
        undecodable.starts_with("a: `status.phase` does not fit: invalid type") && later == synced && *later > 800,
        "{told:?}"
    );
}
