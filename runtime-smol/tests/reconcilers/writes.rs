//! A reconcile reads what the one before it wrote.

use crate::reconcilers::support::{FOOS, Log, PARTS, SOON, Stage};
use core::time::Duration;
use listwatch::api::{Api, ApiError, ApiRequest, ApiResponse, DeleteOptions, Method};
use listwatch::controller::{Error, Outcome, Running};
use listwatch::decode::MetadataOnly;
use listwatch::time::Instant;
use listwatch::{Clock, Key, Resource};
use listwatch_tests::sim::{Store, Troubles};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Up to how late a watch is.
const LATE: Duration = Duration::from_secs(5);

fn parts() -> Api<Value> {
    Api::new(&Resource::new(PARTS))
}

fn part(key: &Key) -> Value {
    json!({ "metadata": { "name": key.name(), "namespace": "web" } })
}

/// The next reconcile runs as soon as the writes of this one are shown.
const AGAIN: Outcome = Outcome::RequeueAfter(Duration::from_nanos(1));

/// Makes deletions later than they are answered. The answer is the object as it was, or a status.
fn delete_late(has_object: bool) -> impl Fn(&mut Store, Instant, &ApiRequest) -> ApiResponse {
    move |store, now, request| {
        if request.method != Method::Delete {
            return store.handle(now, request);
        }
        let answer = store.handle(now + SOON, request);
        let object: Value = serde_json::from_slice(&answer.body).unwrap();
        let details = json!({ "name": object["metadata"]["name"], "uid": object["metadata"]["uid"] });
        let status = json!({ "kind": "Status", "metadata": {}, "status": "Success", "details": details });
        if has_object { answer } else { ApiResponse::new(200, status.to_string()) }
    }
}

/// Creates a part for each foo that has none, and tells it at once. `awaits` says whether it waits for its writes.
fn creating(stage: &Stage, log: &Log, awaits: bool) -> Running<'static> {
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().await_writes(SOON).on_report(|_, _| {});
    controller.calls(async move |cx, key: Key| {
        if !known.contains(&key) {
            let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
            let created = if awaits { cx.write(&known, create).await } else { cx.call(create).await };
            noted.note(if created.is_ok() { "created" } else { "refused" });
            created?;
        }
        // The key is queued again while its reconcile is under way.
        if cx.causes().len() == 1 {
            return Ok(Outcome::RequeueAfter(Duration::from_nanos(1)));
        }
        Ok(Outcome::Done)
    })
}

#[test]
fn a_write_is_not_repeated_because_its_event_is_late() {
    for awaits in [true, false] {
        let (stage, log) = (Stage::late(LATE), Log::default());
        stage.put("a");
        let ended = stage.play(creating(&stage, &log, awaits), stage.sleep(SOON));
        assert_eq!(ended, Ok(()));
        let said = log.take();
        assert_eq!(said == ["created"], awaits, "{said:?}");
    }
}

#[test]
fn a_key_that_waits_for_its_write_occupies_no_worker() {
    let (stage, log) = (Stage::late(LATE), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let controller = creating(&stage, &log, true);
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.until(|| log.len() == 2).await;
        // One worker has made both writes, before the watch told of the first one.
        assert!(handle.report().iter().any(|report| report.key == Key::from("web/a")), "{:?}", handle.report());
        stage.sleep(SOON).await;
        assert!(handle.report().is_empty());
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_deletion_is_awaited_until_its_object_is_gone() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    stage.put(&format!("{PARTS}/a"));
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().calls(async move |cx, key: Key| {
        if known.contains(&key) {
            noted.note("deleting");
            cx.write(&known, parts().delete(key.name(), &DeleteOptions::default())).await?;
            return Ok(Outcome::RequeueAfter(Duration::from_nanos(1)));
        }
        noted.note("gone");
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.sleep(SOON)), Ok(()));
    assert_eq!(log.take(), ["deleting", "gone"]);
}

#[test]
fn a_write_whose_answer_is_lost_does_not_hold_its_key() {
    let silent = Troubles { silence: 100, ..Troubles::NONE };
    let (stage, log) = (Stage::with(Clock::simulated(), silent), Log::default());
    stage.put("a");
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().on_report(|_, _| {}).calls(async move |cx, key: Key| {
        let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
        let created: Result<Value, ApiError> = cx.write(&known, create.with_timeout(SOON)).await;
        noted.note(created.is_ok());
        created?;
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, stage.until(|| log.len() >= 3));
    assert_eq!(ended, Ok(()));
    assert!(!log.has("true"));
}

#[test]
fn a_write_that_its_store_does_not_show_in_time_is_told() {
    let (stage, log, reports) = (Stage::late(100 * LATE), Log::default(), Log::default());
    stage.put("a");
    let (known, noted, said) = (stage.parts.clone(), log.clone(), reports.clone());
    let controller = stage.controller().await_writes(Duration::from_secs(1));
    let controller =
        controller.on_report(move |_, report| said.note_report(report)).calls(async move |cx, key: Key| {
            noted.note(cx.timed_out_writes().iter().map(ToString::to_string).collect::<String>());
            if cx.timed_out_writes().is_empty() {
                let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
                cx.write(&known, create).await?;
            }
            Ok(Outcome::Done)
        });
    let ended = stage.play(controller, stage.until(|| log.len() == 2));
    assert_eq!(ended, Ok(()));
    assert_eq!(log.take(), [String::new(), format!("{PARTS}/web/a at version 3")]);
    assert_eq!(reports.take()[0], "web/a: the watch has not shown the write of web/a in time");
}

#[test]
fn a_key_is_told_of_its_late_write_while_another_is_delayed() {
    let (stage, log) = (Stage::late(100 * LATE), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().workers(2).await_writes(Duration::from_secs(1)).on_report(|_, _| {});
    let controller = controller.calls(async move |cx, key: Key| {
        if key.name() == "b" {
            let again = Outcome::RequeueAfter(Duration::from_millis(300));
            return Ok(if cx.causes().is_empty() { Outcome::Done } else { again });
        }
        noted.note(cx.timed_out_writes().len());
        if noted.len() == 1 {
            let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
            cx.write(&known, create).await?;
        }
        Ok(Outcome::RequeueAfter(Duration::from_nanos(1)))
    });
    assert_eq!(stage.play(controller, stage.until(|| log.len() == 2)), Ok(()));
    assert_eq!(log.take(), ["0", "1"]);
}

#[test]
fn each_reconcile_is_told_of_a_late_write_until_it_is_shown() {
    let (stage, log) = (Stage::late(4 * LATE), Log::default());
    stage.put("a");
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().await_writes(Duration::from_secs(1)).on_report(|_, _| {});
    let controller = controller.calls(async move |cx, key: Key| {
        let is_shown = known.contains(&key);
        noted.note(if is_shown {
            "shown"
        } else if cx.timed_out_writes().is_empty() {
            "not told"
        } else {
            "told"
        });
        match noted.len() {
            1 => {
                let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
                cx.write(&known, create).await?;
            }
            2 => return Err(Error::new("the live read failed")),
            3 => panic!("on purpose"),
            _ => {}
        }
        Ok(if is_shown { Outcome::Done } else { Outcome::RequeueAfter(Duration::from_millis(100)) })
    });
    assert_eq!(stage.play(controller, stage.until(|| log.has("shown"))), Ok(()));
    let said = log.take();
    assert!(
        said.len() > 4 && said[0] == "not told" && said[1..said.len() - 1].iter().all(|said| said == "told"),
        "{said:?}"
    );
}

#[test]
fn a_part_deleted_before_its_watch_shows_it_is_created_again() {
    let (stage, log) = (Stage::late(LATE), Log::default());
    stage.put("a");
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().calls(async move |cx, key: Key| {
        if !known.contains(&key) {
            let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
            cx.write(&known, create).await?;
            noted.note("created");
        }
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.until(|| log.len() == 1).await;
        stage.delete(&format!("{PARTS}/a"));
        // The watches go on after that.
        stage.server.with(|inside| inside.restart(stage.clock.now(), true));
        stage.sleep(6 * SOON).await;
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(log.take(), ["created", "created"]);
}

#[test]
fn a_write_that_the_stores_selector_excludes_is_not_awaited() {
    let (stage, log) = (Stage::late(100 * LATE), Log::default());
    stage.put("a");
    let labelled = stage.informers.informer_of::<MetadataOnly>(Resource::new(PARTS).with_label_selector("app=web"));
    let noted = log.clone();
    let controller = stage.controller().await_writes(100 * LATE).calls(async move |cx, key: Key| {
        noted.note(key.name());
        if noted.len() == 1 {
            let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
            cx.write(&labelled, create).await?;
            return Ok(Outcome::RequeueAfter(Duration::from_nanos(1)));
        }
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.sleep(SOON)), Ok(()));
    assert_eq!(log.take(), ["a", "a"]);
}

#[test]
fn a_live_read_shows_what_the_cache_does_not_have_yet() {
    let (stage, log) = (Stage::late(LATE), Log::default());
    stage.put("a");
    let (known, noted) = (stage.parts.clone(), log.clone());
    let foos = stage.informers.informer_of::<Value>(Resource::new(PARTS));
    let controller = stage.controller().calls(async move |cx, key: Key| {
        noted.note(cx.live().get(&foos, &key).await?.is_some());
        let create = parts().create(&json!({ "metadata": { "name": key.name(), "namespace": "web" } }));
        cx.call(create).await?;
        noted.note(known.contains(&key));
        noted.note(cx.live().get(&foos, &key).await?.is_some());
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.until(|| log.len() == 3)), Ok(()));
    assert_eq!(log.take(), ["false", "false", "true"]);
}

#[test]
fn an_object_created_and_deleted_is_gone_in_the_next_reconcile() {
    for has_object in [true, false] {
        let (stage, log) = (Stage::answering(LATE, delete_late(has_object)), Log::default());
        stage.put("a");
        let (known, noted) = (stage.parts.clone(), log.clone());
        let controller = stage.controller().await_writes(5 * SOON).calls(async move |cx, key: Key| {
            noted.note(if known.contains(&key) { "alive" } else { "none" });
            if noted.len() == 1 {
                cx.write(&known, parts().create(&part(&key))).await?;
                cx.write(&known, parts().delete(key.name(), &DeleteOptions::default())).await?;
                return Ok(AGAIN);
            }
            Ok(Outcome::Done)
        });
        assert_eq!(stage.play(controller, stage.sleep(10 * SOON)), Ok(()));
        assert_eq!(log.take(), ["none", "none"], "has_object: {has_object}");
    }
}

#[test]
fn an_object_read_live_and_deleted_is_gone_in_the_next_reconcile() {
    for has_object in [true, false] {
        let (stage, log) = (Stage::answering(LATE, delete_late(has_object)), Log::default());
        let (known, noted) = (stage.parts.clone(), log.clone());
        let controller = stage.controller().await_writes(5 * SOON).calls(async move |cx, key: Key| {
            noted.note(if known.contains(&key) { "alive" } else { "none" });
            if noted.len() == 1 {
                // Another client has just created it.
                cx.call::<Value>(parts().create(&part(&key))).await?;
                let found = cx.live().get(&known, &key).await?;
                assert!(found.is_some());
                cx.write(&known, parts().delete(key.name(), &DeleteOptions::default())).await?;
                return Ok(AGAIN);
            }
            Ok(if noted.len() == 2 { Outcome::RequeueAfter(LATE) } else { Outcome::Done })
        });
        stage.put("a");
        assert_eq!(stage.play(controller, stage.sleep(10 * SOON)), Ok(()));
        assert_eq!(log.take(), ["none"; 3], "has_object: {has_object}");
    }
}

#[test]
fn two_writes_answered_in_reverse_order_are_awaited_up_to_the_later() {
    let earlier = Mutex::new(None);
    let stage = Stage::answering(LATE, move |store, now, request| {
        if request.method != Method::Put {
            return store.handle(now, request);
        }
        let mut earlier = earlier.lock().unwrap();
        earlier.take().unwrap_or_else(|| {
            *earlier = Some(store.handle(now, request));
            store.handle(now + SOON, request)
        })
    });
    let log = Log::default();
    ["a", &format!("{PARTS}/a")].into_iter().for_each(|at| stage.put(at));
    let (known, noted) = (stage.parts.clone(), log.clone());
    let controller = stage.controller().await_writes(5 * SOON).calls(async move |cx, key: Key| {
        noted.note(known.get(&key).map_or_else(String::new, |part| part.meta().resource_version().to_owned()));
        if noted.len() == 1 {
            let replace = || cx.write(&known, parts().replace(key.name(), &part(&key)));
            let (one, other): (Result<Value, _>, Result<Value, _>) = smol::future::zip(replace(), replace()).await;
            let versions = [one?, other?].map(|part| part["metadata"]["resourceVersion"].clone());
            assert_eq!(versions, ["5", "4"]);
            return Ok(AGAIN);
        }
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.sleep(10 * SOON)), Ok(()));
    assert_eq!(log.take().last().map(String::as_str), Some("5"));
}

#[test]
fn writes_in_two_informers_of_a_path_are_both_awaited() {
    let (stage, log, reports) = (Stage::late(100 * LATE), Log::default(), Log::default());
    stage.put("a");
    let (all, noted, said) = (stage.parts.clone(), log.clone(), reports.clone());
    let values = stage.informers.informer_of::<Value>(Resource::new(PARTS));
    let controller = stage.controller().await_writes(SOON).on_report(move |_, report| said.note_report(report));
    let controller = controller.calls(async move |cx, key: Key| {
        noted.note(cx.timed_out_writes().len());
        if noted.len() == 1 {
            let created: Value = cx.write(&values, parts().create(&part(&key))).await?;
            _ = cx.write(&all, parts().replace(key.name(), &created)).await?;
        }
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.until(|| log.len() == 2)), Ok(()));
    assert_eq!(log.take(), ["0", "2"], "{:?}", reports.take());
}

#[test]
fn a_write_of_another_kind_is_not_awaited() {
    let (stage, log, reports) = (Stage::new(), Log::default(), Log::default());
    stage.put("a");
    let (noted, said, foos) = (log.clone(), reports.clone(), stage.foos.clone());
    let elsewhere = stage.informers.informer_of::<MetadataOnly>(Resource::new(PARTS).in_namespace("db"));
    let controller = stage.controller().on_report(move |_, report| said.note_report(report));
    let controller = controller.calls(async move |cx, key: Key| {
        noted.note(cx.clock().now().as_nanos() / 1_000_000_000);
        if noted.len() == 1 {
            let created: Value = cx.write(&foos, parts().create(&part(&key))).await?;
            _ = cx.write(&elsewhere, parts().replace(key.name(), &created)).await?;
            return Ok(AGAIN);
        }
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.sleep(60 * SOON)), Ok(()));
    assert_eq!(log.take(), ["0", "0"]);
    let elsewhere = PARTS.replace("web", "db");
    let warning = "web/a: WriteNotAwaited: the request is for";
    let replaced = format!("{warning} {PARTS}/a, and the informer has {elsewhere}");
    assert_eq!(reports.take()[..2], [format!("{warning} {PARTS}, and the informer has {FOOS}"), replaced]);
}

#[test]
fn a_write_that_no_watch_shows_is_awaited_three_times() {
    let (stage, log, reports) = (Stage::late(10_000 * LATE), Log::default(), Log::default());
    stage.put("a");
    let (known, noted, said) = (stage.parts.clone(), log.clone(), reports.clone());
    let controller = stage.controller().on_report(move |_, report| said.note_report(report));
    let controller = controller.calls(async move |cx, key: Key| {
        noted.note(cx.timed_out_writes().len());
        if noted.len() == 1 {
            cx.write(&known, parts().create(&part(&key))).await?;
        }
        Ok(Outcome::Done)
    });
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.sleep(60 * SOON).await;
        // Whatever wakes the key later is told of the write all the same.
        assert_eq!(log.take(), ["0", "1", "1", "1"]);
        log.note("asked");
        handle.add(Key::from("web/a"));
        stage.until(|| log.len() == 2).await;
        stage.sleep(60 * SOON).await;
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(log.take(), ["asked", "1"]);
    let said = reports.take();
    let late = "web/a: the watch has not shown the write of web/a in time";
    assert_eq!(said[..3], [late; 3]);
    let last = "is not shown after 3 waits, and not awaited any more";
    assert_eq!(said.iter().filter(|line| line.contains(last)).count(), 1, "{said:?}");
}

#[test]
fn an_answer_about_another_object_than_the_request_is_not_awaited() {
    for (field, lie) in [("name", "b"), ("namespace", "db"), ("uid", "u-lie")] {
        let stage = Stage::answering(LATE, move |store, now, request| {
            let answer = store.handle(now, request);
            let mut object: Value = serde_json::from_slice(&answer.body).unwrap();
            object["metadata"][field] = json!(lie);
            ApiResponse::new(answer.status, object.to_string())
        });
        let (log, reports) = (Log::default(), Log::default());
        ["a", &format!("{PARTS}/a")].into_iter().for_each(|at| stage.put(at));
        let (known, noted, said) = (stage.parts.clone(), log.clone(), reports.clone());
        let controller = stage.controller().on_report(move |_, report| said.note_report(report));
        let controller = controller.calls(async move |cx, key: Key| {
            noted.note(cx.timed_out_writes().len());
            if noted.len() == 1 {
                cx.write(&known, parts().replace(key.name(), &part(&key))).await?;
                cx.write(&known, parts().delete(key.name(), &DeleteOptions::default())).await?;
                return Ok(AGAIN);
            }
            Ok(Outcome::Done)
        });
        assert_eq!(stage.play(controller, stage.sleep(60 * SOON)), Ok(()));
        assert_eq!(log.take(), ["0", "0"], "{field}");
        let warned = reports.take().iter().filter(|line| line.contains("WriteNotAwaited: the answer is about")).count();
        assert_eq!(warned, if field == "uid" { 0 } else { 2 }, "{field}");
    }
}

#[test]
fn a_write_after_the_end_of_its_reconcile_is_reported() {
    let (stage, log, reports) = (Stage::late(LATE), Log::default(), Log::default());
    stage.put("a");
    let (noted, said) = (log.clone(), reports.clone());
    let contexts = std::sync::Arc::new(Mutex::new(None));
    let kept = contexts.clone();
    let controller = stage.controller().on_report(move |_, report| said.note_report(report));
    let controller = controller.calls(async move |cx, _| {
        *kept.lock().unwrap() = Some(cx);
        noted.note("over");
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.until(|| log.len() == 1).await;
        stage.sleep(SOON).await;
        let cx = contexts.lock().unwrap().take().unwrap();
        let created = cx.write(&stage.parts, parts().create(&part(&"web/a".into()))).await;
        assert!(created.is_ok(), "{created:?}");
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(reports.take()[0], "web/a: WriteNotAwaited: the write of web/a came after the end of its reconcile");
}

#[test]
fn a_failure_says_that_its_retry_waits_for_the_writes() {
    let no: fn() -> Error = || Error::new("no");
    let never: fn() -> Error = || Error::terminal("no");
    let waits = "web/a: failed, not retried before its writes are shown (20s at most): no";
    for (error, said) in [(no, waits), (never, "web/a: failed, parked until it changes: no")] {
        let (stage, log, reports) = (Stage::late(LATE), Log::default(), Log::default());
        stage.put("a");
        let (known, noted, told) = (stage.parts.clone(), log.clone(), reports.clone());
        let controller = stage.controller().await_writes(2 * SOON).on_report(move |_, report| told.note_report(report));
        let controller = controller.calls(async move |cx, key: Key| {
            noted.note(cx.clock().now() < Instant::ZERO + SOON);
            if noted.len() == 1 {
                cx.write(&known, parts().create(&part(&key))).await?;
                return Err(error());
            }
            Ok(Outcome::Done)
        });
        assert_eq!(stage.play(controller, stage.sleep(3 * SOON)), Ok(()));
        let retried = ["true", "true"].map(String::from);
        assert_eq!(log.take(), if said == waits { &retried[..] } else { &retried[..1] });
        assert_eq!(reports.take()[0], said);
    }
}

#[test]
fn a_write_beyond_those_that_a_reconcile_may_await_and_one_beyond_those_that_are_followed_are_reported() {
    let (stage, log, reports) = (Stage::late(10_000 * LATE), Log::default(), Log::default());
    ["a", "b"].into_iter().for_each(|key| stage.put(key));
    let (known, noted, said) = (stage.parts.clone(), log.clone(), reports.clone());
    let controller = stage.controller().on_report(move |_, report| said.note_report(report));
    let controller = controller.calls(async move |cx, key: Key| {
        let (is_first, most) = if key.name() == "a" { (true, 16_385) } else { (false, 1) };
        if !is_first && noted.len() == 0 {
            return Ok(Outcome::RequeueAfter(Duration::from_millis(1)));
        }
        if cx.timed_out_writes().is_empty() {
            for number in 0..most {
                let name = format!("{}-{number}", key.name());
                cx.write(&known, parts().create(&part(&key.sibling(&name)))).await?;
            }
            noted.note("wrote");
        }
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.until(|| log.len() == 2).await;
        stage.sleep(SOON).await;
    });
    assert_eq!(ended, Ok(()));
    let why = "too many writes are awaited; the key waits for its longest time, whether or not they are shown";
    let expected = [
        "web/a: WriteNotAwaited: the write of web/a-16384 is one of too many in one reconcile".to_owned(),
        format!("web/b: WriteNotFollowed: {why}"),
    ];
    assert_eq!(reports.take()[..2], expected);
}
