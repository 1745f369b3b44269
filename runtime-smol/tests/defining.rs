//! Definitions that a controller or a client applies, on a simulated cluster, which obeys them.

use core::time::Duration;
use listwatch::definition::{DefineError, Definition};
use listwatch::file::Playback;
use listwatch::object::Conditions;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::{Controller, Executor, Outcome, RunError, World, kind, run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const NAME: &str = "gears.example.com";
const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";
const PATCH: &str = "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.example.com";

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Gear {
    spec: GearSpec,
    #[serde(default)]
    status: GearStatus,
}

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct GearSpec {
    #[schemars(range(min = 3))]
    teeth: u32,
    #[serde(default)]
    color: Color,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
enum Color {
    #[default]
    Red,
    Green,
}

#[derive(Clone, Default, Deserialize, Serialize, JsonSchema)]
struct GearStatus {
    #[serde(default)]
    conditions: Conditions,
}

kind!(Gear, "example.com/v1", "gears");

fn definition() -> Definition {
    Definition::of::<Gear>().short_names(["gr"]).column("Teeth", ".spec.teeth")
}

fn gear(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Gear", "metadata": { "name": name, "namespace": "web" }, "spec": spec })
}

/// Sets a condition of each gear.
fn observe(world: impl Into<World>, definition: Definition) -> Result<(), RunError> {
    let controller = Controller::new("observe", world).defines(definition);
    let gears = controller.informer::<Gear>();
    controller.reconciles(&gears).run(async |cx, key| {
        let Some(gear) = gears.get(&key) else { return Ok(Outcome::Done) };
        let seen = cx.condition(&gear, "Seen", true, "Listed");
        cx.change_status(&gear, |gear| _ = gear.status.conditions.set(seen.clone())).await?;
        Ok(Outcome::Done)
    })
}

/// Applies a definition by a client.
fn define(cluster: &SimulatedCluster, definition: &Definition) -> Result<(), DefineError> {
    let world = World::from(cluster.clone());
    run(world.clock(), &Executor::new(), world.client().define(definition))
}

#[test]
fn a_controller_defines_its_kind_before_it_lists_and_the_server_obeys() {
    let cluster = SimulatedCluster::new();
    let (world, it) = (World::from(cluster.clone()), cluster.clone());
    let clock = world.clock().clone();
    let scenario = async move {
        clock.sleep(Duration::from_secs(5)).await;
        it.create(gear("a", &json!({ "teeth": 5, "unknown": 1 })))?;
        for (spec, place) in
            [(json!({ "teeth": 2 }), "spec.teeth"), (json!({ "teeth": 3, "color": "Blue" }), "spec.color")]
        {
            let refused = it.create(gear("b", &spec)).unwrap_err().to_string();
            assert!(refused.contains(place), "{refused}");
        }
        clock.sleep(Duration::from_secs(5)).await;
        Ok(())
    };
    observe(world.try_until(scenario), definition()).unwrap();
    let requests: Vec<_> = cluster.requests().iter().map(ToString::to_string).collect();
    assert_eq!(requests[0], format!("{PATCH} 201"), "{requests:#?}");
    let a = cluster.get("example.com/v1/gears", "web/a").unwrap();
    assert_eq!(a["spec"], json!({ "teeth": 5, "color": "Red" }));
    assert_eq!(a["status"]["conditions"][0]["type"], "Seen");
}

#[test]
fn a_wrong_definition_ends_a_controller_before_any_request() {
    let cluster = SimulatedCluster::new();
    let ended = observe(World::from(cluster.clone()), definition().column("Size", ".spec.size"));
    let expected = "the controller cannot run: the definition gears.example.com is wrong: version v1: column Size: the type has \
                    no place `.spec.size`";
    assert_eq!(ended.unwrap_err().to_string(), expected);
    assert_eq!(cluster.requests().len(), 0);
}

#[test]
fn a_server_that_is_not_ready_is_asked_again() {
    let cluster = SimulatedCluster::new();
    for fault in [Fault::Refused(503), Fault::Lost, Fault::Unreachable] {
        cluster.fail_next(PATCH, fault).unwrap();
    }
    define(&cluster, &definition()).unwrap();
    assert!(cluster.faults_left().is_empty());
    cluster.fail_next(PATCH, Fault::Refused(403)).unwrap();
    let refused = define(&cluster, &definition()).unwrap_err();
    assert!(
        matches!(&refused, DefineError::Api { name, error } if name == NAME && error.status().map(|status| status.code) == Some(403)),
        "{refused}"
    );
    assert!(refused.to_string().starts_with("the definition gears.example.com: "), "{refused}");
}

#[test]
fn names_that_another_definition_has_are_told() {
    #[derive(JsonSchema)]
    struct Cog {}
    kind!(Cog, "example.com/v1", "cogs");
    let cluster = SimulatedCluster::new();
    define(&cluster, &definition()).unwrap();
    let refused = define(&cluster, &Definition::of::<Cog>().short_names(["gr"])).unwrap_err();
    let expected = "the definition cogs.example.com was applied, and serves no objects: NamesAccepted is False: \"gr\" is \
                    already in use";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_replay_of_a_controller_that_defines_its_kind_applies_nothing_and_is_the_same() {
    let path = std::env::temp_dir().join(format!("listwatch-defining-{}.jsonl.gz", std::process::id()));
    let _of_an_earlier_run = std::fs::remove_file(&path);
    let cluster = SimulatedCluster::new();
    define(&cluster, &definition()).unwrap();
    cluster.create(gear("a", &json!({ "teeth": 5 }))).unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&lines);
    let world = World::from(cluster).lasting(Duration::from_secs(60)).recorded_to(&path).unwrap();
    observe(world.on_report_line(move |line| told.lock().unwrap().push(line.to_owned())), definition()).unwrap();
    observe(Playback::from_file(&path).unwrap(), definition()).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(lines.lock().unwrap().iter().all(|line| !line.contains("warning")), "{lines:?}");
}

#[test]
fn a_definition_that_is_applied_again_keeps_its_objects_and_gets_what_is_new() {
    let cluster = SimulatedCluster::new();
    define(&cluster, &definition()).unwrap();
    cluster.create(gear("a", &json!({ "teeth": 5 }))).unwrap();
    define(&cluster, &definition().rule(".spec", "self.teeth < 100", "too many").selectable(".spec.color")).unwrap();
    let stored = cluster.get(DEFINITIONS, NAME).unwrap();
    let version = &stored["spec"]["versions"][0];
    assert_eq!(version["selectableFields"], json!([{ "jsonPath": ".spec.color" }]));
    assert_eq!(
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"][0]["message"],
        "too many"
    );
    assert_eq!(cluster.list("example.com/v1/gears").unwrap().len(), 1);
}
