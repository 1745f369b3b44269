//! Conditions in the status of objects.

use crate::acting::stage::{AGAIN, FOOS, SOON, Stage, at};
use listwatch::controller::{Controller, Outcome};
use listwatch::object::Conditions;
use listwatch::{Key, kind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Deserialize, Serialize)]
struct Foo {
    #[serde(default)]
    status: FooStatus,
}

#[derive(Clone, Default, Deserialize, Serialize)]
struct FooStatus {
    #[serde(default)]
    conditions: Conditions,
}

kind!(Foo, "example.com/v1", "foos");

/// It has no status.
#[derive(Clone, Deserialize, Serialize)]
struct Host {
    spec: FooStatus,
}

kind!(Host, "example.com/v1", "foos");

/// Sets the condition `Ready` to these one after the other, 6 s apart. Returns what the server has after each, and the
/// number of patches. The spec of the object changes at the end of the second one.
fn set(statuses: &[(bool, &str)]) -> (Vec<Value>, usize) {
    let (stage, count, seen) = (Stage::new(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let controller = Controller::new("sample", stage.endless_world().until(stage.clock.sleep(SOON)));
    let foos = controller.informer::<Foo>();
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        let turn = count.fetch_add(1, Ordering::Relaxed);
        let Some((status, message)) = statuses.get(turn) else { return Ok(Outcome::Done) };
        let ready = cx.condition(&foo, "Ready", *status, "Counted").with_message(*message);
        cx.change_status(&foo, |foo| _ = foo.status.conditions.set(ready.clone())).await?;
        seen.lock().unwrap().push(stage.object(&at(FOOS, "foo"))["status"]["conditions"].clone());
        cx.clock().sleep(SOON / 10).await;
        if turn == 1 {
            stage.put(&at(FOOS, "foo"), json!({ "size": 9 }));
            return Ok(Outcome::Done);
        }
        Ok(AGAIN)
    });
    assert_eq!(ended, Ok(()));
    let patches = stage.requests().iter().filter(|request| request.starts_with("PATCH ")).count();
    (seen.into_inner().unwrap(), patches)
}

#[test]
fn a_condition_has_the_time_of_its_transition_and_the_generation_that_was_seen() {
    let ready = |status: &str, seconds: u32, message: &str, generation: u32| {
        json!([{ "type": "Ready", "status": status, "observedGeneration": generation, "reason": "Counted",
            "message": message, "lastTransitionTime": format!("2000-01-01T00:00:{seconds:02}Z") }])
    };
    let (seen, patches) = set(&[(true, "a"), (true, "a"), (true, "b"), (false, "b")]);
    let first = ready("True", 0, "a", 1);
    assert_eq!(seen, [first.clone(), first, ready("True", 0, "b", 2), ready("False", 18, "b", 2)]);
    assert_eq!(patches, 3, "the second one changed nothing");
}

/// Each write of them counts in the generation, which the next reconcile observes.
#[test]
fn conditions_in_a_spec_are_written_once() {
    let (stage, count) = (Stage::new(), AtomicUsize::new(0));
    let controller = Controller::new("sample", stage.world());
    let hosts = controller.informer::<Host>();
    let ended = controller.reconciles(&hosts).on_report(|_, _| {}).run(async |cx, key: Key| {
        let Some(host) = hosts.get(&key) else { return Ok(Outcome::Done) };
        assert!(count.fetch_add(1, Ordering::Relaxed) < 100, "it does not end");
        let ready = cx.condition(&host, "Ready", true, "Counted");
        cx.change(&host, |host| _ = host.spec.conditions.set(ready.clone())).await?;
        Ok(Outcome::Done)
    });
    assert_eq!((ended, count.into_inner()), (Ok(()), 2));
    let conditions = &stage.object(&at(FOOS, "foo"))["spec"]["conditions"];
    assert_eq!((&conditions[0]["status"], &conditions[0]["observedGeneration"]), (&json!("True"), &json!(1)));
}
