//! A reconcile reads what the one before it wrote.

use crate::support::{Log, PARTS, SOON, Stage};
use core::time::Duration;
use listwatch_runtime_smol::api::{Api, ApiError, DeleteOptions};
use listwatch_runtime_smol::controller::{Error, Outcome, Running};
use listwatch_runtime_smol::decode::MetadataOnly;
use listwatch_runtime_smol::{Clock, Key, Resource};
use listwatch_tests::sim::Troubles;
use serde_json::{Value, json};

/// Up to how late a watch is.
const LATE: Duration = Duration::from_secs(5);

fn parts() -> Api<Value> {
    Api::new(&Resource::new(PARTS))
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
fn a_write_whose_answer_was_lost_held_its_key_for_ever() {
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
    let controller = controller.on_report(move |_, report| said.note(report)).calls(async move |cx, key: Key| {
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
fn a_key_was_not_told_of_its_late_write_if_another_key_was_delayed_meanwhile() {
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
fn a_late_write_was_told_to_one_reconcile_only_even_if_that_failed() {
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
fn a_part_that_was_deleted_before_its_watch_told_of_its_creation_was_never_created_again() {
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
fn a_write_that_the_stores_selector_excludes_held_its_key_until_a_deadline() {
    let (stage, log) = (Stage::late(100 * LATE), Log::default());
    stage.put("a");
    let labelled = stage.informers.informer::<MetadataOnly>(Resource::new(PARTS).with_label_selector("app=web"));
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
    let foos = stage.informers.informer::<Value>(Resource::new(PARTS));
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
