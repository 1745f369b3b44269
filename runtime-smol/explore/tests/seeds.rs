//! The same seed finds the same, and what it finds is kept.

use crate::sample_controller::sample;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::file::Playback;
use listwatch::testing::SimulatedCluster;
use listwatch::{World, api::Api};
use listwatch_explore::{Exploration, Failure, Plan};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";

fn exploration(program: impl Fn(World) -> Result<(), RunError> + Send + Sync + 'static) -> Exploration {
    let cluster = || {
        let cluster = SimulatedCluster::new();
        let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
            "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } });
        cluster.create(foo).unwrap();
        cluster
    };
    Exploration::of(program).cluster(cluster).scenario(async |it| {
        for replicas in [3, 4, 5] {
            it.settled().await;
            it.patch(FOOS, "web/a", json!({ "spec": { "replicas": replicas } }))?;
        }
        it.settled().await;
        Ok(())
    })
}

/// Creates a Lock for each state of a Foo, and notes it there afterwards: a stop between both leaves two.
fn forgets(world: World) -> Result<(), RunError> {
    let controller = Controller::new("forgets", world);
    let foos = controller.informer_of::<Value>(FOOS).with_kind("Foo");
    let maps = Api::<Value>::new(&listwatch::Resource::named("v1/configmaps").unwrap().in_namespace("web"));
    controller.reconciles(&foos).run(async |cx, key| {
        let Some(foo) = foos.get(&key).filter(|foo| foo["status"]["noted"] != foo["spec"]["replicas"]) else {
            return Ok(Outcome::Done);
        };
        if foo["spec"]["replicas"] == 3 {
            cx.call(maps.create(&json!({ "metadata": { "generateName": "lock-" } }))).await?;
        }
        cx.change_status(&foo, |foo| foo["status"]["noted"] = foo["spec"]["replicas"].clone()).await?;
        Ok(Outcome::Done)
    })
}

fn found(exploration: Exploration) -> Failure {
    *exploration.run(300).expect_err("two locks are left")
}

#[test]
fn the_same_seed_finds_the_same_on_any_number_of_threads() {
    let text = |threads| exploration(sample).seed(7).threads(threads).run(150).unwrap().to_string();
    let one = text(1);
    assert_eq!(one, text(5));
    assert!(one.starts_with("150 runs of seed 7"), "{one}");
    assert!(one.contains("  POST apps/v1/deployments web/b: ") && one.contains("killed stored "), "{one}");
    let failure = |threads| found(exploration(forgets).seed(7).threads(threads)).to_string();
    assert_eq!(failure(1), failure(5));
}

#[test]
fn a_failure_names_the_last_step_of_the_scenario_that_it_needs() {
    let failure = found(exploration(forgets));
    assert_eq!(failure.steps, Some((1, 4)), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("up to its step 1 of 4"), "{text}");
    assert!(!text.contains("step 2 of the scenario"), "{text}");
}

/// A new folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn each_process_of_a_plan_is_on_a_tape_that_the_program_plays() {
    let folder = folder("explored-tapes");
    let plan: Plan = "POST apps/v1/deployments web/b 1: killed stored, back at once".parse().unwrap();
    let tape = |name: &str| exploration(sample).tape(&plan, folder.join(name)).unwrap();
    let (tapes, again) = (tape("one.jsonl"), tape("two.jsonl"));
    assert_eq!(tapes, [folder.join("one.jsonl"), folder.join("one-2.jsonl")]);
    for (tape, again) in tapes.iter().zip(&again) {
        assert_eq!(fs::read(tape).unwrap(), fs::read(again).unwrap(), "the same plan makes the same tape");
        sample(Playback::from_file(tape).unwrap()).unwrap();
    }
    let nowhere = exploration(sample).tape(&plan, folder.join("none/one.jsonl"));
    assert!(nowhere.expect_err("there is no such folder").to_string().contains("set up wrongly"));
}

#[test]
#[ignore = "another test runs it, with a seed"]
fn tells_its_seed() {
    println!("{}", exploration(sample).run(2).unwrap());
}

/// What the test above tells in this environment.
fn told_with(variable: &str, value: impl AsRef<OsStr>) -> String {
    let arguments = ["--exact", "seeds::tells_its_seed", "--ignored", "--nocapture"];
    let ran = Command::new(env::current_exe().unwrap()).args(arguments).env(variable, value).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

#[test]
fn the_environment_gives_the_seed() {
    let told = |seed: &str| told_with("LISTWATCH_SEED", seed);
    let text = told("77");
    assert!(text.contains("2 runs of seed 77"), "{text}");
    assert!(text.contains("disturbances had no run of their own"), "{text}");
    assert!(told("x").contains("LISTWATCH_SEED is no number: \"x\""), "{}", told("x"));
}

#[test]
fn the_environment_names_a_folder_for_junit() {
    let folder = folder("explored-junit").join("new");
    let told = told_with("LISTWATCH_JUNIT", &folder);
    let text = fs::read_to_string(folder.join("seeds.tells_its_seed.xml")).expect(&told);
    let case = "<testcase classname=\"seeds\" name=\"tells_its_seed\"><system-out>2 runs of seed 1";
    assert!(text.contains("tests=\"1\" failures=\"0\"") && text.contains(case), "{text}");
    fs::write(folder.join("file"), "").unwrap();
    let told = told_with("LISTWATCH_JUNIT", folder.join("file"));
    assert!(told.contains("the exploration is set up wrongly: LISTWATCH_JUNIT: "), "{told}");
}

#[test]
fn a_plan_that_was_found_is_run_first_afterwards() {
    let path = folder("explored-plans").join("plans.txt");
    let first = found(exploration(forgets).plans(&path));
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(kept.lines().nth(1), Some(&*first.plan.to_string()), "{kept}");
    let again = found(exploration(forgets).plans(&path));
    assert_eq!((again.run, &again.plan), (0, &first.plan), "{again}");
    assert_eq!(fs::read_to_string(&path).unwrap(), kept, "it is there already");
    let explored = exploration(sample).plans(&path).run(1).unwrap();
    assert!(explored.never_reached.contains(&first.plan.to_string()), "{explored}");
    fs::write(&path, "# a comment\n\nPOST: lost\n").unwrap();
    let wrong = exploration(sample).plans(&path).run(1).expect_err("it is no plan").to_string();
    assert!(wrong.contains("plans.txt:3: "), "{wrong}");
}
