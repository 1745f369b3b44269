//! The span of a reconcile, and its end.

use crate::collector::{Collector, Told};
use crate::stage::{MAPS, Stage};
use core::time::Duration;
use listwatch::Resource;
use listwatch::api::{Api, DeleteOptions, Patch};
use listwatch::controller::{Error, Outcome, RunError};
use listwatch::traced::CONTROLLER;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tracing::{Level, info, info_span};

/// The events inside of the span of this number.
fn inside(collector: &Collector, target: &str, number: u64) -> Vec<Told> {
    collector.events(target).into_iter().filter(|event| event.inside.first() == Some(&number)).collect()
}

#[test]
fn each_reconcile_is_a_span_with_its_key_attempt_and_id() {
    let (stage, collector, ids) = (Stage::new(&["a", "b"]), Collector::default(), Arc::new(Mutex::new(Vec::new())));
    let (controller, _maps) = stage.controller();
    let noted = Arc::clone(&ids);
    let controller = controller.on_report(|_, _| {}).calls(async move |cx, key| {
        let attempts = {
            let mut ids = noted.lock().unwrap();
            ids.push((key.to_string(), cx.id().to_string()));
            ids.iter().filter(|(other, _)| *other == *key.as_str()).count()
        };
        if attempts == 1 && key.name() == "b" {
            Err("a".parse::<u32>().unwrap_err())?;
        }
        Ok(if key.name() == "a" && attempts == 1 {
            Outcome::RequeueAfter(Duration::from_secs(1))
        } else {
            Outcome::Done
        })
    });
    collector.around(|| controller.run()).unwrap();
    let spans = collector.reconciles();
    let shown = |span: &Told| [span.field("key"), span.field("attempt"), span.field("id")].map(str::to_owned);
    let ids = ids.lock().unwrap().clone();
    let expected: Vec<_> = ids
        .iter()
        .zip(["1", "1", "2", "1"])
        .map(|((key, id), attempt)| [key.clone(), attempt.to_owned(), id.clone()])
        .collect();
    assert_eq!(spans.iter().map(shown).collect::<Vec<_>>(), expected);
    assert!(spans.iter().all(|span| span.is_closed && span.field("controller") == "maps" && span.target == CONTROLLER));
    let ends: Vec<_> = (1..=4)
        .map(|number| {
            let events = inside(&collector, CONTROLLER, number);
            let [end] = &*events else { panic!("not one end: {events:?}") };
            assert!(end.fields.contains_key("duration_s"), "{end:?}");
            (end.level, end.field("result").to_owned(), end.field("requeue_in_s").to_owned())
        })
        .collect();
    let ended = |level, result: &str, wait: &str| (level, result.to_owned(), wait.to_owned());
    let expected = [
        ended(Level::DEBUG, "requeue", "1.0"),
        ended(Level::WARN, "failed", ""),
        ended(Level::DEBUG, "done", ""),
        ended(Level::DEBUG, "done", ""),
    ];
    assert_eq!(ends, expected);
    let failed = &inside(&collector, CONTROLLER, 2)[0];
    assert_eq!(failed.field("retry_in_s"), "0.005");
    assert_eq!(failed.field("message"), "web/b: failed, next attempt in 5ms: invalid digit found in string");
}

#[test]
fn reconciles_beside_each_other_do_not_mix_and_spans_of_the_program_are_inside() {
    let (stage, collector) = (Stage::new(&["a", "b", "c"]), Collector::default());
    let (controller, _maps) = stage.controller();
    let controller = controller.workers(3).calls(async move |cx, key| {
        for step in 0..3 {
            let span = info_span!(target: "program", "step", step, key = %key);
            span.in_scope(|| info!(target: "program", key = %key, "at work"));
            cx.clock().sleep(Duration::from_millis(1)).await;
        }
        Ok(Outcome::Done)
    });
    collector.around(|| controller.run()).unwrap();
    let spans = collector.spans();
    let key_of = |number: u64| spans[number as usize - 1].field("key").to_owned();
    let (steps, events) = (spans.iter().filter(|span| span.name == "step"), collector.events("program"));
    assert_eq!((steps.clone().count(), events.len()), (9, 9));
    for told in steps.chain(&events) {
        let reconcile = told.inside[0];
        assert_eq!(
            (spans[reconcile as usize - 1].name, key_of(reconcile)),
            ("reconcile", told.field("key").to_owned())
        );
    }
    let order: Vec<_> = events.iter().map(|event| event.field("key").to_owned()).collect();
    assert_ne!(order[0], order[1], "they ran beside each other");
}

#[test]
fn a_reconcile_that_panics_or_takes_too_long_or_is_given_up_ends_its_span() {
    let (stage, collector) = (Stage::new(&["hangs", "is-terminal", "panics"]), Collector::default());
    let (controller, _maps) = stage.controller();
    let controller = controller.workers(3).park_after(1).deadline(Duration::from_secs(5)).on_report(|_, _| {});
    let controller = controller.calls(async move |_cx, key| match key.name() {
        "hangs" => core::future::pending().await,
        "panics" => panic!("\x1b[31mat the disco"),
        _ => Err(Error::terminal("\x1b]0;no\x07")),
    });
    collector.around(|| controller.run()).unwrap();
    let spans = collector.reconciles();
    assert!(spans.len() == 3 && spans.iter().all(|span| span.is_closed), "{spans:?}");
    let mut ends: Vec<_> = (1..=3).flat_map(|number| inside(&collector, CONTROLLER, number)).collect();
    ends.sort_by_key(|end| end.field("key").to_owned());
    let told: Vec<_> = ends.iter().map(|end| (end.level, end.field("result"), end.field("message"))).collect();
    let expected = [
        (Level::WARN, "overdue", "web/hangs: the reconcile was dropped after 5s"),
        (Level::ERROR, "failed", r"web/is-terminal: failed, parked until it changes: \u001b]0;no\u0007"),
        (Level::ERROR, "panicked", r"web/panics: the reconcile panicked: \u001b[31mat the disco"),
    ];
    assert_eq!(told, expected);
    assert_eq!(ends[0].field("duration_s"), "5.0");
}

#[test]
fn a_reconcile_that_is_dropped_at_the_end_is_told() {
    let (stage, collector) = (Stage::new(&["hangs"]), Collector::default());
    let (controller, _maps) = stage.controller();
    let controller = controller.on_report(|_, _| {}).calls(async move |_cx, _key| core::future::pending().await);
    let ended = collector.around(|| controller.run());
    assert!(matches!(ended, Err(RunError::NotDrained { .. })), "{ended:?}");
    let ends = inside(&collector, CONTROLLER, 1);
    assert_eq!((ends.len(), ends[0].field("result")), (1, "dropped"));
    assert!(collector.reconciles()[0].is_closed);
}

#[test]
fn each_write_is_told_inside_of_its_reconcile_with_the_fields_and_without_their_values() {
    let (stage, collector) = (Stage::new(&["a"]), Collector::default());
    let (controller, maps) = stage.controller();
    let api = Api::<Value>::new(&Resource::named(MAPS).unwrap().in_namespace("web"));
    let controller = controller.calls(async move |cx, key| {
        if maps.contains(&key) {
            let notes = json!({ "annotations": { "a/b": "hunter2" } });
            let data = json!({ "data": { "user": "admin" }, "metadata": notes });
            cx.write(&maps, api.patch(key.name(), &Patch::Merge(&data))).await?;
            let refused = cx.write(&maps, api.patch(key.name(), &Patch::Merge(&json!({ "data": 7 })))).await;
            assert!(refused.is_err(), "a number is no map");
            cx.write(&maps, api.delete(key.name(), &DeleteOptions::default())).await?;
        }
        Ok(Outcome::Done)
    });
    collector.around(|| controller.run()).unwrap();
    let events = inside(&collector, CONTROLLER, 1);
    let writes: Vec<_> = events.iter().filter(|event| event.fields.contains_key("method")).collect();
    let told = |event: &&Told| ["method", "path", "status", "fields"].map(|name| event.field(name).to_owned());
    let path = "/api/v1/namespaces/web/configmaps/a";
    let [written, refused, deleted] = &*writes.iter().map(told).collect::<Vec<_>>() else { panic!("{writes:?}") };
    assert!(written[1].starts_with(path) && deleted[1].starts_with(path), "{writes:?}");
    assert_eq!([&written[0], &written[2], &written[3]], ["PATCH", "200", "/data/user /metadata/annotations/a~1b"]);
    assert_eq!([&refused[2], &refused[3], &deleted[0], &deleted[3]], ["422", "/data", "DELETE", ""]);
    assert!(writes.iter().all(|event| event.level == Level::DEBUG && !format!("{event:?}").contains("hunter2")));
}
