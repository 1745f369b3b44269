//! An operator that `listwatch new` makes: from nothing to its end on a real server.

use crate::command::{command, run};
use crate::kubectl::kubectl;
use crate::real_server::plane::{Plane, own_plane};
use crate::real_server::sample_controller::stage::until;
use crate::{checkout, profile, target_folder};
use listwatch_core::Resource;
use listwatch_tests::cargo::cargo;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Of the operator, its namespace and its account.
const NAME: &str = "shop-operator";

/// A package in a folder that is always the same, so that cargo builds it once. There is one at a time.
struct Made {
    folder: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Made {
    fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made");
        let _is_not_there = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut new = command(["new", NAME, "--kind", "ShopWindow", "--group", "1shop.example.com", "--path"]);
        new.arg(&folder).arg("--listwatch").arg(checkout());
        let told = run(new).output();
        assert!(
            told.starts_with("shop-operator is an operator of the kind ShopWindow (shopwindows.1shop.example.com)")
        );
        // As the workspace is built, and with its versions; but formatted as anywhere else.
        fs::create_dir(folder.join(".cargo")).unwrap();
        fs::write(folder.join(".cargo/config.toml"), profile()).unwrap();
        fs::write(folder.join("rustfmt.toml"), "max_width = 100\n").unwrap();
        fs::copy(checkout().join("Cargo.lock"), folder.join(NAME).join("Cargo.lock")).unwrap();
        Self { folder, _turn: turn }
    }

    #[track_caller]
    fn cargo(&self, arguments: &str) -> String {
        let mut cargo = cargo();
        cargo.args(arguments.split_whitespace());
        cargo.current_dir(self.folder.join(NAME)).env("CARGO_TARGET_DIR", target_folder());
        succeed(cargo)
    }

    fn program(&self) -> PathBuf {
        target_folder().join("debug").join(NAME)
    }
}

/// What a program prints that succeeds.
#[track_caller]
fn succeed(mut program: Command) -> String {
    let ended = program.output().unwrap();
    let (output, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{program:?}\n{output}\n{errors}");
    output.into_owned()
}

/// The operator, as its service account runs it.
struct Operator {
    child: Child,
    errors: PathBuf,
    port: u16,
}

impl Operator {
    fn start(made: &Made, plane: &mut Plane) -> Self {
        let accounts = Resource::named("v1/serviceaccounts").unwrap().in_namespace(NAME);
        let account = plane.get(&accounts, NAME).unwrap();
        let token = plane.control().token(NAME, NAME, account["metadata"]["uid"].as_str().unwrap(), 3600);
        let admins = fs::read_to_string(plane.kubeconfig()).unwrap();
        let server = admins.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
        let authority = plane.control().folder().join("ca.crt");
        let config = json!({
            "current-context": "c",
            "clusters": [{ "name": "c", "cluster": { "server": server, "certificate-authority": authority } }],
            "users": [{ "name": "u", "user": { "token": token } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u", "namespace": NAME } }],
        });
        let (kubeconfig, errors) = (made.folder.join("kubeconfig"), made.folder.join("errors"));
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut program = Command::new(made.program());
        program.env("KUBECONFIG", kubeconfig).env("ENDPOINT", format!("127.0.0.1:{port}"));
        let child = program.stdin(Stdio::null()).stderr(File::create(&errors).unwrap()).spawn().unwrap();
        Self { child, errors, port }
    }

    fn told(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    /// The status of a probe.
    fn probe(&self, path: &str) -> Option<u16> {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split(' ').nth(1)?.parse().ok()
    }

    /// Asks it to end, as a kubelet does.
    fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        let told = self.told();
        assert!(status.success(), "{told}");
        assert!(told.contains(": ended; every key is done\n"), "{told}");
        assert!(!told.to_lowercase().contains("forbidden"), "{told}");
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn an_operator_is_made_and_runs() {
    let Some(kubectl) = kubectl() else { return };
    let began = Instant::now();
    let made = Made::new();
    // Another name makes longer lines.
    made.cargo("fmt --check");
    made.cargo("build --quiet --offline");
    let built = began.elapsed();

    let Some(mut plane) = own_plane() else { return };
    // Another test may have left one, which does not know the new kind for some time.
    plane.control().kill_controller_manager();
    plane.control().start_controller_manager();
    let began = Instant::now();
    let config = plane.kubeconfig().to_owned();
    let apply = |arguments: &[&str]| {
        let mut kubectl = Command::new(kubectl);
        kubectl.args(arguments).current_dir(made.folder.join(NAME)).env("KUBECONFIG", &config);
        succeed(kubectl)
    };
    apply(&["apply", "--validate=strict", "-f", "deploy/crd.yaml", "-f", "deploy/operator.yaml"]);
    apply(&["wait", "--for=condition=Established", "crd/shopwindows.1shop.example.com"]);
    let operator = Operator::start(&made, &mut plane);
    apply(&["apply", "--validate=strict", "-f", "deploy/example.yaml"]);

    let of = |resource: &str, namespace: &str| Resource::named(resource).unwrap().in_namespace(namespace);
    let windows = of("1shop.example.com/v1alpha1/shopwindows", "default");
    let (deployments, maps) = (of("apps/v1/deployments", "default"), of("v1/configmaps", "default"));
    let get = |resource: &Resource| plane.get(resource, "example").unwrap_or(Value::Null);
    until(|| get(&windows)["status"]["conditions"][0]["message"] == "0 of 2 pods are ready");
    let ran = began.elapsed();
    println!(
        "from nothing to a status: {:.1} s, {:.1} s of them to build",
        (built + ran).as_secs_f64(),
        built.as_secs_f64()
    );
    assert_eq!(get(&maps)["data"], json!({ "color": "blue" }));
    assert_eq!(get(&deployments)["spec"]["replicas"], 2);
    until(|| operator.probe("/readyz") == Some(200));
    assert_eq!((operator.probe("/healthz"), operator.probe("/metrics")), (Some(200), Some(200)));

    plane.change(&windows, "example", &json!({ "spec": { "replicas": 3, "settings": null } }));
    until(|| get(&deployments)["spec"]["replicas"] == 3 && get(&maps).is_null());
    plane.delete(&windows, "example").unwrap();
    until(|| get(&deployments).is_null());
    // The namespace takes restricted pods alone. There is no node, so they stay pending.
    until(|| plane.objects(&of("v1/pods", NAME)).is_ok_and(|pods| pods.len() == 2));
    operator.end();
    apply(&["delete", "--wait=false", "-f", "deploy/crd.yaml", "-f", "deploy/operator.yaml"]);
}

/// On demand: its template is linted and tested as a member of the workspace.
#[test]
#[ignore = "on demand: it builds everything once more"]
fn the_checks_of_a_made_operator_pass() {
    let made = Made::new();
    made.cargo("clippy --quiet --offline --all-targets -- -D warnings");
    let tested = made.cargo("test --offline");
    assert!(tested.contains("test result: ok. 2 passed") && tested.contains("test result: ok. 1 passed"), "{tested}");
}
