//! The tables of `listwatch watch`, beside those of the same release's `kubectl get --watch`.

use crate::kubectl::kubectl;
use crate::program;
use crate::real_server::plane::{Plane, plane};
use crate::real_server::resources::{custom_resource_definition, deployment};
use listwatch_core::Resource;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The objects of a comparison: one is there before it, and it goes from one to another.
const BEFORE: &str = "before";
const FIRST: &str = "first";
const LAST: &str = "last";

/// A command that prints a table. It ends with this.
struct Printing {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Printing {
    fn start(plane: &Plane, program: &Path, arguments: &str) -> Self {
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace()).arg("--kubeconfig").arg(plane.kubeconfig());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// The lines up to that of an object, each as its cells.
    fn lines(&mut self, object: &str) -> Vec<Vec<String>> {
        let mut lines: Vec<Vec<String>> = Vec::new();
        while !lines.last().is_some_and(|line| line.iter().any(|cell| cell == object)) {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended: {lines:#?}");
            let cells = line.trim_end().split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            lines.push(cells.map(str::to_owned).collect());
        }
        lines
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Follows a resource by both commands while `change` is made, and compares what they print but for the ages.
fn compare(plane: &Plane, resource: &str, options: &str, create: impl Fn(&str), change: impl FnOnce()) {
    let Some(kubectl) = kubectl() else { return };
    create(BEFORE);
    let ours = format!("watch {resource} {options} --for 4m");
    let theirs = format!("get {resource} {} --watch --output-watch-events", options.replace("-o table", ""));
    let mut both = [(program(), ours), (kubectl, theirs)].map(|(program, line)| Printing::start(plane, program, &line));
    let headers = both.each_mut().map(|printing| printing.lines(BEFORE).swap_remove(0));
    create(FIRST);
    change();
    create(LAST);
    let [ours, theirs] = both.each_mut().map(|printing| {
        let before = printing.lines(FIRST);
        let behind = printing.lines(LAST);
        [&before[before.len() - 1..], &behind].concat()
    });
    let age = headers[1].iter().position(|header| header == "AGE").unwrap();
    let verbs = [("ADDED", "added"), ("MODIFIED", "updated"), ("DELETED", "deleted")];
    let told = |cells: &[String]| {
        let verb = |cell: &String| {
            verbs.iter().find(|(verb, _)| verb == cell).map_or_else(|| cell.clone(), |(_, ours)| (*ours).into())
        };
        let cells = cells.iter().enumerate().filter(|(index, _)| *index != age);
        cells.map(|(_, cell)| verb(cell)).collect::<Vec<String>>()
    };
    // The time stands before their cells, and the changes behind.
    let cells = |line: &Vec<String>| told(&line[1..=headers[1].len()]);
    let ours: Vec<_> = [&headers[0]].into_iter().chain(&ours).map(cells).collect();
    let theirs: Vec<_> = [&headers[1]].into_iter().chain(&theirs).map(|line| told(line)).collect();
    assert_eq!(ours, theirs, "{resource} {options}");
    // The columns, the first, the changed and the last object. A busy server has one event of several changes.
    assert!(theirs.len() > 4, "{theirs:#?}");
}

#[test]
fn tables_have_the_columns_and_cells_that_kubectl_prints() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("tables");
    let deployments = Resource::named("apps/v1/deployments").unwrap().in_namespace(&namespace);
    let scale = |replicas: u32| plane.change(&deployments, "web", &json!({ "spec": { "replicas": replicas } }));
    let create = |name: &str| _ = plane.create(&deployments, &deployment(name, 0));
    compare(&plane, "deployments", &format!("-n {namespace} -o wide"), create, || {
        plane.create(&deployments, &deployment("web", 1));
        scale(2);
    });
    let pods = Resource::named("v1/pods").unwrap().in_namespace(&namespace);
    while plane.list(&pods).len() != 2 {}
    let create = |name: &str| {
        let spec = json!({ "containers": [{ "name": "c", "image": "none" }] });
        plane.create(&pods, &json!({ "metadata": { "name": name }, "spec": spec }));
    };
    compare(&plane, "pods", &format!("-n {namespace} -o table"), create, || {
        scale(3);
        while plane.list(&pods).len() != 5 {}
        scale(1);
        while plane.list(&pods).len() != 3 {}
    });
}

#[test]
fn tables_of_custom_resources_have_the_columns_of_their_definition() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("columns");
    let group = plane.name("columns") + ".example";
    let mut definition = custom_resource_definition(&group);
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
        { "name": "Colour", "type": "string", "jsonPath": ".spec.colour" },
        { "name": "Note", "type": "string", "jsonPath": ".spec.note", "priority": 1 },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ]);
    plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    let wheels = Resource::named(&format!("{group}/v1/wheels")).unwrap().in_namespace(&namespace);
    while !plane.has(&wheels) {}
    let create = |name: &str| {
        let spec = json!({ "size": 1, "colour": "größe 日本", "note": "a\nb" });
        let wheel =
            json!({ "apiVersion": format!("{group}/v1"), "kind": "Wheel", "metadata": { "name": name }, "spec": spec });
        plane.create(&wheels, &wheel);
    };
    for output in ["table", "wide"] {
        compare(&plane, &format!("wheels.{group}"), &format!("-n {namespace} -o {output}"), create, || {
            create("left");
            plane.change(&wheels, "left", &json!({ "spec": { "size": 30 } }));
            plane.delete(&wheels, "left").unwrap();
        });
        for name in [BEFORE, FIRST, LAST] {
            plane.delete(&wheels, name).unwrap();
        }
    }
}
