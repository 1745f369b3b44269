//! kubectl, as a user without a cluster has it.

use crate::kubectl::kubectl;
use crate::notifications::client_go;
use crate::serve::child::Program;
use crate::serve::serving::Serving;
use listwatch_tests::scratch::Scratch;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// kubectl at a server, without a kubeconfig and with a cache of its own.
struct Kubectl<'s> {
    program: &'static Path,
    server: &'s Serving,
    home: Scratch,
}

impl<'s> Kubectl<'s> {
    fn at(server: &'s Serving) -> Option<Self> {
        Some(Self { program: kubectl()?, server, home: Scratch::path(".kube") })
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(self.program);
        command.args(["-s", &self.server.url, "--cache-dir"]).arg(self.home.as_ref()).env("KUBECONFIG", "/dev/null");
        command.args(arguments.split_whitespace());
        command
    }

    /// The output of a command that succeeds.
    #[track_caller]
    fn prints(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The error of a command that fails.
    #[track_caller]
    fn fails(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Kubectl<'_> {
    fn drop(&mut self) {
        let _never_written = std::fs::remove_dir_all(&self.home);
    }
}

/// The lines of a table, each with one blank between its cells.
fn rows(table: &str) -> Vec<String> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn kubectl_gets_the_pods_of_a_moment_as_a_cluster_shows_them() {
    let server = Serving::capture("pods-rollout", "--at 12s");
    let Some(kubectl) = Kubectl::at(&server) else { return };
    let table = rows(&kubectl.prints("get pods -n team-0"));
    let first = ["NAME READY STATUS RESTARTS AGE", "svc-00-84958d6599-464vw 2/2 Running 0 7s"];
    assert_eq!(table[..2], first);
    let wide = rows(&kubectl.prints("get pods -n team-0 -o wide"));
    assert!(wide[0].ends_with("AGE IP NODE NOMINATED NODE READINESS GATES"), "{}", wide[0]);
    let name = table[1].split(' ').next().unwrap();
    let yaml = kubectl.prints(&format!("get pod {name} -n team-0 -o yaml"));
    assert!(yaml.starts_with("apiVersion: v1\nkind: Pod\nmetadata:\n"), "{yaml}");
    let described = kubectl.prints(&format!("describe pod {name} -n team-0"));
    for line in [format!("Name: {name}"), "Namespace: team-0".into(), "Status: Running".into(), "Events: <none>".into()]
    {
        assert!(rows(&described).contains(&line), "{line} is not in {described}");
    }
    assert_eq!(
        rows(&kubectl.prints("api-resources")).join("\n"),
        "NAME SHORTNAMES APIVERSION NAMESPACED KIND\npods po v1 true Pod"
    );
    assert_eq!(
        rows(&kubectl.prints("get po -A -l app=svc-00 -o name")).len(),
        rows(&kubectl.prints("get po -n team-0 -l app=svc-00 -o name")).len()
    );
}

#[test]
fn kubectl_watches_each_change_of_the_recording() {
    let mut server = Serving::capture("pods-rollout", "--speed 20");
    let Some(kubectl) = Kubectl::at(&server) else { return };
    let mut watch = Program::start(kubectl.command("get pods -A --watch"));
    let expected = client_go("pods-rollout");
    watch.wait_for_lines(1 + expected.all().count());
    drop(kubectl);
    server.wait_for_the_end();
    let (_, lines, _) = watch.end_by("-INT");
    assert_eq!(rows(&lines[0])[0], "NAMESPACE NAME READY STATUS RESTARTS AGE");
    for (key, told) in &expected.by_key {
        let name = key.replace('/', " ") + " ";
        let shown = rows(&lines.join("\n")).iter().filter(|row| row.starts_with(&name)).count();
        assert_eq!(shown, told.len(), "{key}");
    }
}

#[test]
fn kubectl_is_refused_each_write_with_the_reason_and_a_way_out() {
    let server = Serving::capture("gap", "--at end");
    let Some(kubectl) = Kubectl::at(&server) else { return };
    let refused = "this cluster is a recording, which nothing changes; with `listwatch serve --writable`, changes are \
                   kept in memory\n";
    for arguments in [
        "delete configmap cm-00 -n gap1",
        "label configmap cm-00 -n gap1 a=b",
        "patch configmap cm-00 -n gap1 --type=merge -p {}",
        "create configmap new -n gap1",
    ] {
        let error = kubectl.fails(arguments);
        assert!(error.ends_with(refused), "{arguments}: {error}");
    }
    let unknown = kubectl.fails("get deployments");
    assert_eq!(unknown, "error: the server doesn't have a resource type \"deployments\"\n");
}

#[test]
fn kubectl_changes_a_cluster_that_is_writable() {
    let server = Serving::capture("gap", "--at end --writable");
    let Some(kubectl) = Kubectl::at(&server) else { return };
    let names = |table: &str| rows(table).len() - 1;
    assert_eq!(names(&kubectl.prints("get configmaps -n gap1")), 23);
    assert_eq!(kubectl.prints("delete configmap cm-00 -n gap1"), "configmap \"cm-00\" deleted from gap1 namespace\n");
    let object = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "new", "namespace": "gap1" } });
    let file = Scratch::new(object.to_string());
    assert_eq!(kubectl.prints(&format!("create -f {}", file.as_ref().display())), "configmap/new created\n");
    assert_eq!(kubectl.prints("label configmap new -n gap1 x=y"), "configmap/new labeled\n");
    assert_eq!(
        kubectl.prints("patch configmap new -n gap1 --type=merge -p {\"data\":{\"a\":\"b\"}}"),
        "configmap/new patched\n"
    );
    assert_eq!(kubectl.prints("get configmaps -n gap1 -l x=y -o jsonpath={.items[*].data.a}"), "b");
    assert_eq!(names(&kubectl.prints("get configmaps -n gap1")), 23);
    assert!(kubectl.prints("api-resources").lines().count() > 40, "all kinds of Kubernetes can be created");
    let protobuf = kubectl.fails("create configmap another -n gap1");
    assert!(protobuf.contains("this server takes JSON; with kubectl, give `create -f FILE`"), "{protobuf}");
}
