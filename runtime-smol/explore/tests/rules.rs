//! What counts as a fault, and what does not.

use crate::faults::{MAPS, SECRETS, fixture, informers};
use listwatch::api::{Api, Patch};
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::{Commit, SimulatedCluster};
use listwatch::time::{Instant, WallTime};
use listwatch::{Resource, World};
use listwatch_explore::{Exploration, Failure, Fault, Plan};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Explores a program whose ConfigMap is changed twice.
pub(crate) fn exploration(program: impl Fn(World) -> Result<(), RunError> + Send + Sync + 'static) -> Exploration {
    Exploration::of(program).cluster(fixture).scenario(async |it| {
        for x in ["2", "3"] {
            it.settled().await;
            it.patch(MAPS, "default/a", json!({ "data": { "x": x } }))?;
        }
        it.settled().await;
        Ok(())
    })
}

/// Keeps a Secret for each ConfigMap.
pub(crate) fn keep(world: World) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    controller.reconciles(&maps).owns(&secrets).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        cx.ensure(&secrets, &key, &json!({ "stringData": map["data"] })).owned_by(&map).await?;
        Ok(Outcome::Done)
    })
}

fn failure(exploration: Exploration<impl Send + Sync + 'static>) -> Failure {
    *exploration.run(300).expect_err("there is a fault")
}

pub(crate) fn plan(text: &str) -> Plan {
    text.parse().unwrap()
}

#[test]
fn a_program_that_takes_its_reports_hides_no_panic_and_no_key_that_fails() {
    let quiet = |world: World, panics: bool| {
        let controller = Controller::new("keep", world);
        let (maps, secrets) = informers(&controller);
        controller.reconciles(&maps).on_report(|_, _| {}).run(async |cx, key| {
            if maps.get(&key).is_none_or(|map| map["data"]["made"] == "yes") {
                return Ok(Outcome::Done);
            }
            let body = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": key.name() } });
            let created = cx.call(secrets.api_for::<Value>(&key).create(&body)).await;
            assert!(!panics || created.is_ok(), "the name is free");
            created?;
            if let Some(map) = maps.get(&key) {
                cx.change(&map, |map| map["data"]["made"] = json!("yes")).await?;
            }
            Ok(Outcome::Done)
        })
    };
    let found = failure(exploration(move |world| quiet(world, true)).may_vary(MAPS));
    assert!(matches!(&found.fault, Fault::Panicked(text) if text.contains("the name is free")), "{found}");
    let found = failure(exploration(move |world| quiet(world, false)).may_vary(MAPS));
    assert!(matches!(&found.fault, Fault::Failing(key) if key == "keep: default/a"), "{found}");
}

/// Fails once, forty seconds after a start that finds the Secret, or for ever.
fn fails_late(world: World, is_for_ever: bool) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    let (looks, failures) = (AtomicU32::new(0), AtomicU32::new(0));
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        let is_first = looks.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first && secrets.get(&key).is_some() {
            return Ok(Outcome::RequeueAfter(Duration::from_secs(40)));
        }
        let is_late = cx.clock().now() > Instant::ZERO + Duration::from_secs(30);
        if is_late && (is_for_ever || failures.fetch_add(1, Ordering::Relaxed) == 0) {
            return Err("it is late".into());
        }
        cx.ensure(&secrets, &key, &json!({ "stringData": { "x": "1" } })).owned_by(&map).await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn a_key_that_fails_once_is_no_fault_and_one_that_fails_up_to_the_end_is() {
    let killed = plan("STEP 3: killed stored, back at once");
    exploration(|world| fails_late(world, false)).replay(&killed).unwrap();
    let found = exploration(|world| fails_late(world, true)).replay(&killed).expect_err("it fails for ever");
    assert_eq!(found.fault, Fault::Failing("keep: default/a".to_owned()), "{found}");
}

/// Writes what its cache does not show, twice a second.
fn repeats(world: World) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, _) = informers(&controller);
    let api = Api::<Value>::new(&Resource::named(MAPS).unwrap().in_namespace("default"));
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key).filter(|map| map["data"]["seen"] != map["data"]["x"]) else {
            return Ok(Outcome::Done);
        };
        let seen = json!({ "data": { "seen": map["data"]["x"] } });
        cx.call(api.patch(key.name(), &Patch::Merge(&seen))).await?;
        Ok(Outcome::RequeueAfter(Duration::from_millis(500)))
    })
}

#[test]
fn writes_that_change_nothing_count_only_while_the_program_sees_what_it_has_written() {
    let stalled = plan("PATCH v1/configmaps default/a 1: stalled v1/configmaps");
    exploration(repeats).replay(&stalled).unwrap();
}

#[test]
fn a_trouble_that_needs_a_process_does_not_happen_while_there_is_none() {
    let killed = "POST v1/secrets default/a 1: killed stored, back later";
    for at_step in ["killed stored, back at once", "paused", "cut"] {
        let both = plan(&format!("{killed}; STEP 1: {at_step}"));
        let found = exploration(keep).replay(&both).expect_err("it is not done");
        assert_eq!(found.fault, Fault::NotReached(format!("STEP 1: {at_step}")), "{found}");
        let told = found.story.iter().filter(|line| line.starts_with('*')).count();
        assert_eq!(told, 1, "{found}");
    }
    exploration(keep).replay(&plan(&format!("{killed}; STEP 1: stalled v1/secrets"))).unwrap();
}

#[test]
fn a_program_that_reads_again_and_again_is_not_endless() {
    let reads = |world: World| {
        let controller = Controller::new("keep", world);
        let (maps, _) = informers(&controller);
        controller.reconciles(&maps).run(async |cx, key| {
            cx.live().get(&maps, &key).await?;
            Ok(Outcome::RequeueAfter(Duration::from_millis(15)))
        })
    };
    let explored = Exploration::of(reads).cluster(fixture).run(1).unwrap();
    assert_eq!((explored.runs, explored.undisturbed), (1, 6));
}

/// Copies each new Secret into its annotations, as another controller does.
fn annotate(cluster: &SimulatedCluster, commit: &Commit) {
    if commit.resource == SECRETS && commit.before.is_none() {
        let seen = json!({ "metadata": { "annotations": { "seen": "yes" } } });
        cluster.patch(SECRETS, &commit.key, seen).unwrap();
    }
}

#[test]
fn the_observers_of_a_fixture_and_of_a_scenario_stay() {
    let cluster = || {
        let cluster = fixture();
        let it = cluster.clone();
        cluster.on_commit(move |commit| annotate(&it, commit));
        cluster
    };
    let exploration = Exploration::of(keep).cluster(cluster).scenario(async |it| {
        it.on_commit(|_| {});
        it.settled().await;
        it.delete(SECRETS, "default/a")?;
        it.settled().await;
        Ok(())
    });
    let never = |it: &listwatch_explore::It| match it.get(SECRETS, "default/a") {
        Ok(secret) if secret["metadata"]["annotations"]["seen"] == "yes" => Err("it is annotated".to_owned()),
        _ => Ok(()),
    };
    let found = *exploration.always("no Secret is annotated", never).run(1).expect_err("the observer annotates");
    assert!(matches!(&found.fault, Fault::Invariant(_, why) if why == "it is annotated"), "{found}");
}

/// What is wrong with the exploration itself.
fn why(exploration: Exploration) -> String {
    match exploration.run(1).expect_err("it is wrong").fault {
        Fault::Setup(why) => why,
        fault => panic!("{fault}"),
    }
}

#[test]
fn runs_do_not_share_a_cluster() {
    let shared = fixture();
    assert!(why(exploration(keep).cluster(move || shared.clone())).contains("is not new"));
    let disturbed = || fixture().on_request(|_| listwatch::testing::Passage::Open);
    assert!(why(exploration(keep).cluster(disturbed)).contains("no network"));
}

#[test]
fn a_name_of_no_trouble_is_an_error() {
    assert!(why(exploration(keep).without("kiled")).starts_with("\"kiled\" is no trouble; there are apart, "));
    assert!(exploration(keep).without("killed stored").run(50).is_ok());
}

#[test]
fn a_path_that_no_run_has_is_an_error() {
    let told = why(exploration(keep).may_vary("v1/secret default/a"));
    assert_eq!(told, "no run has what may vary: \"v1/secret default/a\"");
    assert!(exploration(keep).may_vary("v1/secrets default/a data x").run(1).is_ok());
}

/// Keeps a Secret for each ConfigMap, or gives up at the first refusal.
fn keep_or_give_up(world: World) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    controller.reconciles(&maps).owns(&secrets).run(async |cx, key| {
        if let Some(map) = maps.get(&key) {
            _ = cx.ensure(&secrets, &key, &json!({ "stringData": map["data"] })).owned_by(&map).await;
        }
        Ok(Outcome::Done)
    })
}

#[test]
fn a_step_that_lacks_its_object_is_a_fault_unless_the_plan_may_have_taken_it() {
    let labels = |program: fn(World) -> Result<(), RunError>| {
        let exploration = Exploration::of(program).cluster(fixture).scenario(async |it| {
            it.settled().await;
            it.patch(SECRETS, "default/a", json!({ "metadata": { "labels": { "x": "y" } } }))?;
            it.settled().await;
            Ok(())
        });
        exploration.in_the_end(|it| match it.get(SECRETS, "default/a") {
            Ok(secret) if secret["metadata"]["labels"]["x"] == "y" => Ok(()),
            other => Err(format!("{other:?}")),
        })
    };
    labels(keep).replay(&plan("POST v1/secrets default/a 1: killed before, back later")).unwrap();
    let refused = plan("POST v1/secrets default/a 1: refused 500");
    labels(keep).replay(&refused).unwrap();
    let found = labels(keep_or_give_up).replay(&refused).expect_err("nobody else has taken the Secret");
    assert!(matches!(&found.fault, Fault::Scenario(_)), "{found}");
}

const EXPIRES: Duration = Duration::from_secs(20);

fn created(map: &Value) -> WallTime {
    map["metadata"]["creationTimestamp"].as_str().unwrap().parse().unwrap()
}

/// Notes on the ConfigMap that it is old, by the date of its machine.
fn expire(world: World) -> Result<(), RunError> {
    let clock = world.clock().clone();
    let controller = Controller::new("expire", world);
    let (maps, _) = informers(&controller);
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key).filter(|map| map["data"]["old"] != "yes") else { return Ok(Outcome::Done) };
        let age = clock.wall().saturating_since(created(&map));
        if age < EXPIRES {
            return Ok(Outcome::RequeueAfter(EXPIRES - age));
        }
        cx.change(&map, |map| map["data"]["old"] = json!("yes")).await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn a_program_that_measures_by_dates_is_early_on_a_machine_that_is_ahead() {
    let expiring = || {
        exploration(expire).always("nothing is old before 20 s", |it| {
            let map = it.get(MAPS, "default/a").map_err(|error| error.to_string())?;
            let age = it.date().saturating_since(created(&map));
            if map["data"]["old"] == "yes" && age < EXPIRES { Err(format!("it is, after {age:?}")) } else { Ok(()) }
        })
    };
    let failure = failure(expiring());
    assert_eq!(failure.plan, plan("STEP 1: apart ahead"), "{failure}");
    assert!(failure.to_string().contains("the date of the program is 30 s ahead for 25 s"), "{failure}");
    expiring().without("apart").run(300).unwrap();
}

#[test]
fn an_exploration_for_a_time_ends_with_the_runs_that_have_begun() {
    assert_eq!(exploration(keep).run_for(Duration::ZERO).unwrap().runs, 64);
}
