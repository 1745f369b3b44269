//! The answers with which the simulated cluster is compared are those of this server.

use crate::plane::{Plane, plane};
use core::fmt::Write;
use listwatch_core::Resource;
use listwatch_tests::answers::{Run, Step, definition, recorded};

/// A namespace, and the group of the wheels, which the server has.
fn places(plane: &mut Plane, name: &str) -> (String, String) {
    let (namespace, group) = (plane.namespace(name), plane.name("wheels") + ".example");
    plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition(&group));
    let wheels = Resource::named(&format!("{group}/v1/wheels")).unwrap().in_namespace(&namespace);
    while !plane.has(&wheels) {}
    (namespace, group)
}

/// With `RECORD_ANSWERS=FILE`, writes the answers instead: `tests/data/answers.jsonl`.
#[test]
fn a_server_answers_as_it_was_recorded() {
    let Some(mut plane) = plane() else { return };
    let (namespace, group) = places(&mut plane, "answers");
    let (mut run, steps) = (Run::new(&namespace, &group), recorded());
    let answered: Vec<Step> = steps.iter().map(|step| run.send(step, &plane.client).unwrap()).collect();
    if let Some(file) = std::env::var_os("RECORD_ANSWERS") {
        let lines = answered.iter().map(|step| serde_json::to_string(step).unwrap() + "\n");
        std::fs::write(file, lines.collect::<String>()).unwrap();
        return;
    }
    let mut differences = String::new();
    for (step, answered) in steps.iter().zip(&answered) {
        if (answered.status, &answered.answer) != (step.status, &step.answer) {
            writeln!(differences, "\n{step:?}\n{answered:?}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
