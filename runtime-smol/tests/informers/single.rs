//! The wait for one object by its name.

use crate::informers::support::{Answers, Counts, SOON, WIDGETS, no_client, widgets, world};
use core::time::Duration;
use listwatch::decode::Raw;
use listwatch::informers::{WaitError, WaitFailure, wait_for};
use listwatch::object::ObjectHandle;
use listwatch::{Clock, Executor, Resource, World, run};
use listwatch_tests::silent::Silent;
use serde_json::json;
use std::sync::{Arc, Mutex};

fn resource() -> Resource {
    Resource::named("example.com/v1/widgets").unwrap().in_namespace("web").with_field_selector("status.phase!=Gone")
}

fn wait(
    clock: &Clock,
    world: &World,
    name: &str,
    predicate: impl FnMut(Option<&ObjectHandle<Raw>>) -> bool,
) -> Result<Option<ObjectHandle<Raw>>, WaitError> {
    run(clock, &Executor::new(), wait_for(world, resource(), name, predicate, Duration::from_secs(30)))
}

#[test]
fn only_the_one_object_is_listed_and_watched() {
    let clock = Clock::simulated();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let world = world(&clock, move |resource| {
        noted.lock().unwrap().push(resource.to_string());
        Answers::list(&["a"])
    });
    let found = wait(&clock, &world, "a", |object| object.is_some()).unwrap();
    assert_eq!(found.unwrap().meta().name(), "a");
    let selected = format!("{WIDGETS}?fieldSelector=status.phase%21%3DGone%2Cmetadata.name%3Da");
    assert_eq!(*asked.lock().unwrap(), [selected]);
}

#[test]
fn the_wait_ends_by_the_change_that_makes_the_condition_true_and_closes_its_connection() {
    let clock = Clock::simulated();
    let (world, server, counts) = widgets(&clock);
    let executor = Executor::new();
    let change = async {
        clock.sleep(Duration::from_secs(5)).await;
        server.with(|inside| inside.store.put(clock.now(), "b", json!({ "wanted": 2 })));
        clock.sleep(Duration::from_secs(5)).await;
        server.with(|inside| inside.store.delete(clock.now(), "b"));
    };
    let changing = executor.spawn(change);
    let is_two =
        |object: Option<&ObjectHandle<Raw>>| object.is_some_and(|object| object.as_str().contains(r#""wanted":2"#));
    let within = Duration::from_secs(30);
    let found = run(&clock, &executor, wait_for::<Raw>(&world, resource(), "b", is_two, within)).unwrap();
    assert!(found.is_some() && counts.open() == 0);
    assert_eq!(clock.now().saturating_since(Default::default()).as_secs(), 5);
    let is_gone = |object: Option<&ObjectHandle<Raw>>| object.is_none();
    let gone = run(&clock, &executor, wait_for::<Raw>(&world, resource(), "b", is_gone, within)).unwrap();
    assert!(gone.is_none() && counts.open() == 0);
    assert_eq!(clock.now().saturating_since(Default::default()).as_secs(), 10);
    run(&clock, &executor, changing);
}

#[test]
fn at_the_deadline_the_error_says_what_the_watch_did() {
    let clock = Clock::simulated();
    let world = world(&clock, |_| Answers::list(&["a"]));
    let error = wait(&clock, &world, "a", |_| false).unwrap_err();
    assert_eq!(error.failure, WaitFailure::Late(Duration::from_secs(30)));
    let expected = "the condition did not hold within 30s; widgets.example.com in namespace web, with fields \
                    status.phase!=Gone,metadata.name=a: synced at version 1, last update 30 s ago";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_server_that_never_answers_is_named_as_such_at_the_deadline() {
    let clock = Clock::simulated();
    let counts = Counts::default();
    let counted = counts.clone();
    let silent = World::from_parts(clock.clone(), no_client(&clock), move |_| Box::new(counted.count(Silent)));
    let error = wait(&clock, &silent, "a", |_| true).unwrap_err();
    assert!(error.to_string().ends_with("waiting for the state for 30 s, no items yet"), "{error}");
    assert_eq!((counts.made(), counts.open()), (1, 0));
}

#[test]
fn a_denial_of_one_name_is_told_at_once_with_the_command_that_asks_for_this_name() {
    let clock = Clock::simulated();
    let world = world(&clock, |_| Answers::denied("web"));
    let error = wait(&clock, &world, "a", |_| true).unwrap_err();
    assert!(
        error.to_string().ends_with("check with `kubectl auth can-i watch widgets.example.com/a -n web`"),
        "{error}"
    );
    assert!(clock.now().saturating_since(Default::default()) < SOON && error.failure == WaitFailure::NeedsIntervention);
}
