//! What a failure tells: what was written, by whom, and which fields it changed.

use crate::faults::{MAPS, SECRETS, fixture};
use crate::leases::lead;
use crate::rules::{exploration, keep, plan};
use listwatch::testing::SimulatedCluster;
use listwatch_explore::{Exploration, Failure, It};
use serde_json::json;

/// The failure of a run whose scenario deletes the ConfigMap in the end.
fn deleted() -> Failure {
    let exploration = Exploration::of(keep).cluster(fixture).scenario(async |it| {
        it.settled().await;
        it.patch(MAPS, "default/a", json!({ "data": { "x": "2", "long": "l".repeat(100) } }))?;
        it.settled().await;
        it.delete(MAPS, "default/a")?;
        it.settled().await;
        Ok(())
    });
    *exploration.in_the_end(|_| Err("it is wrong".to_owned())).run(1).expect_err("it is wrong")
}

#[test]
fn a_story_tells_what_the_scenario_and_the_program_change() {
    let failure = deleted();
    let long = format!("data.long absent → \"{}…, ", "l".repeat(39));
    for line in [
        &*format!("the scenario changes v1/configmaps default/a: {long}data.x \"1\" → \"2\""),
        "POST v1/secrets default/a 201: data.x (secret ",
        "PATCH v1/secrets default/a 200: data.long absent → (secret ",
        "the scenario deletes v1/configmaps default/a",
        "the garbage collector deletes v1/secrets default/a",
    ] {
        assert!(failure.story.iter().any(|told| told.contains(line)), "{line}: {failure}");
    }
}

#[test]
fn no_value_of_a_secret_is_told() {
    let failure = exploration(keep).replay(&plan("STEP 9: cut")).expect_err("there is no step 9");
    let text = failure.to_string();
    assert!(text.contains("PATCH v1/secrets default/a 200: data.x (secret "), "{text}");
    assert!(!text.contains("Mg=="), "{text}");
}

#[test]
fn a_request_is_told_with_its_own_change() {
    let exploration = exploration(keep).in_the_end(|it| {
        let touched = it.get(SECRETS, "default/a").map(|it| it["metadata"]["annotations"].clone());
        if touched.is_ok_and(|it| it.is_null()) { Ok(()) } else { Err("it is touched".to_owned()) }
    });
    let touched = plan("PATCH v1/secrets default/a 1: touched");
    let failure = exploration.replay(&touched).expect_err("another client writes");
    assert!(failure.story.iter().any(|line| line.contains("200: data.x (secret ")), "{failure}");
    let is_wrong = |line: &&String| !line.starts_with('*') && line.contains("annotations");
    assert_eq!(failure.story.iter().find(is_wrong), None, "{failure}");
}

#[test]
fn a_replica_that_waits_for_its_lease_is_not_said_to_act() {
    let told = |lease: u64| {
        let late = |it: &It| it.date().saturating_since(SimulatedCluster::ORIGIN).as_secs() > 80;
        let late = move |it: &It| if late(it) { Err("it is late".to_owned()) } else { Ok(()) };
        let paused = plan("PATCH v1/secrets default/a 1: paused");
        let exploration = exploration(move |world| lead(world, lease)).in_the_end(late);
        exploration.replay(&paused).expect_err("it takes more time").to_string()
    };
    let (waits, acts) = (told(60), told(15));
    assert!(waits.contains(", while a second replica runs\n"), "{waits}");
    assert!(waits.contains("and the second is gone, which has waited for its lease\n"), "{waits}");
    assert!(!waits.contains("the second replica: "), "{waits}");
    assert!(acts.contains("the second replica: PATCH v1/secrets default/a 200: "), "{acts}");
    assert!(!acts.contains("waited"), "{acts}");
}

#[test]
fn a_scenario_that_fails_is_told_with_its_last_step() {
    let told = |panics: bool| {
        let exploration = Exploration::of(keep).cluster(fixture).scenario(move |it| async move {
            it.settled().await;
            assert!(!panics, "the test is wrong");
            it.get(SECRETS, "default/none")?;
            Ok(())
        });
        exploration.run(1).expect_err("the scenario fails").to_string()
    };
    let at = format!(" (after its step 1, at {}:", file!());
    for (text, why) in [(told(false), "not found"), (told(true), "it panicked: the test is wrong")] {
        let line = text.lines().next().unwrap_or_default();
        assert!(line.starts_with("the scenario failed: ") && line.contains(why) && line.contains(&at), "{line}");
    }
}
