//! A failure that was made smaller has the fault that was found.

use crate::faults::{MAPS, informers};
use crate::rules::exploration;
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch_explore::It;
use serde_json::json;
use std::sync::OnceLock;

/// Copies a ConfigMap to another one. A process that finds that one at its start copies it wrongly.
fn copy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("copy", world);
    let (maps, _) = informers(&controller);
    let is_old = OnceLock::new();
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key).filter(|_| key.name() == "a") else { return Ok(Outcome::Done) };
        let to = key.sibling("b");
        let old = if *is_old.get_or_init(|| maps.get(&to).is_some()) { "old " } else { "" };
        let x = format!("{old}{}", map["data"]["x"].as_str().unwrap_or_default());
        cx.ensure(&maps, to, &json!({ "data": { "x": x } })).owned_by(&map).await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn a_shorter_scenario_has_to_end_with_the_same_values() {
    let failure = exploration(copy).run(300).expect_err("a restart makes it old");
    let replayed = exploration(copy).replay(&failure.plan).expect_err("the plan shows it");
    assert_eq!(failure.fault, replayed.fault);
    assert!(failure.fault.to_string().contains("is \"old 3\" instead of \"3\""), "{failure}");
    assert_eq!((failure.steps, &failure.before), (Some((2, 3)), &None), "{failure}");
}

#[test]
fn a_message_that_differs_is_told_beside_that_which_was_found() {
    let right = |it: &It| {
        let version = it.get(MAPS, "default/a").map(|it| it["metadata"]["resourceVersion"].clone());
        let is_old = it.get(MAPS, "default/b").is_ok_and(|it| it["data"]["x"].to_string().contains("old"));
        if is_old { Err(format!("it is old at version {version:?}")) } else { Ok(()) }
    };
    let exploration = exploration(copy).may_vary("").in_the_end(right).scenario(async |it| {
        it.settled().await;
        it.patch(MAPS, "default/a", json!({ "metadata": { "labels": { "seen": "yes" } } }))?;
        Ok(())
    });
    let failure = exploration.run(300).expect_err("a restart makes it old");
    let before = failure.before.as_ref().expect("the whole scenario makes another version").to_string();
    assert!(before.starts_with("it is old at version ") && failure.fault.to_string() != before, "{failure}");
    assert!(
        failure.to_string().contains(&format!("before its plan was made smaller, showed: {before}\n")),
        "{failure}"
    );
}
