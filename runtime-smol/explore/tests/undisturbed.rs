//! Undisturbed, each version of each model comes to the right end.

use crate::models::{MODELS, Model, Program};
use core::time::Duration;
use listwatch::World;
use listwatch::testing::SimulatedCluster;
use serde_json::Value;
use std::fs;

/// Runs a program through the steps of its model, with a minute for each. Returns the objects in the end.
fn end_of(model: &Model, program: Program) -> Vec<Value> {
    let cluster = (model.cluster)();
    let world = World::from(cluster.clone());
    let (clock, it, steps, always) = (world.clock().clone(), cluster.clone(), model.steps, model.always);
    let scenario = async move {
        for step in steps {
            clock.sleep(Duration::from_secs(60)).await;
            always(&it)?;
            (step.take)(&it).map_err(|error| format!("{}: {error}", step.what))?;
        }
        clock.sleep(Duration::from_secs(60)).await;
        Ok(always(&it)?)
    };
    let name = model.name;
    program(world.try_until(scenario).on_report_line(move |line| println!("{name}: {line}"))).unwrap();
    (model.in_the_end)(&cluster).unwrap_or_else(|why| panic!("{name}: {why}\n{:#?}", cluster.requests()));
    specs(&cluster)
}

/// The specs of all custom objects, by kind. Their names may be generated, and only one version may need helpers.
fn specs(cluster: &SimulatedCluster) -> Vec<Value> {
    let kinds = cluster.kinds();
    let ours = kinds.iter().filter(|kind| kind.api_version == "example.com/v1" && kind.kind != "AddressClaim");
    let objects = ours.flat_map(|kind| cluster.list(&kind.name()).unwrap_or_default());
    objects.map(|object| object["spec"].clone()).collect()
}

#[test]
fn without_a_disturbance_both_versions_of_each_model_come_to_the_same_right_end() {
    for model in &MODELS {
        assert!(model.source.len() > 60, "{} names its report", model.name);
        assert_eq!(end_of(model, model.buggy), end_of(model, model.fixed), "{}", model.name);
    }
}

/// The lines of a model's code beside its fixed version, without imports.
fn lines_of(model: &str) -> usize {
    let (before, fixed) = model.split_once("pub(crate) fn fixed").unwrap();
    let (_, after) = fixed.split_once("\n}\n").unwrap();
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ");
    [before, after].iter().flat_map(|part| part.lines().map(str::trim)).filter(is_code).count()
}

#[test]
fn each_model_has_at_most_eighty_lines_beside_its_fixed_version() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths: Vec<_> = paths.filter(|path| !path.ends_with("mod.rs")).collect();
    assert_eq!(paths.len(), MODELS.len());
    for path in paths {
        let lines = lines_of(&fs::read_to_string(&path).unwrap());
        assert!(lines <= 80, "{}: {lines}", path.display());
    }
}
