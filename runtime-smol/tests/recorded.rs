//! Controllers that record themselves.

use crate::foo::{FOOS, with_foo};
use crate::sample_controller::sample;
use flate2::read::MultiGzDecoder;
use listwatch::api::{Api, DeleteOptions};
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::file::Playback;
use listwatch::http::Cluster;
use listwatch::testing::SimulatedCluster;
use listwatch::{Client, Clock, Resource, World};
use listwatch_tests::wait::wait_until;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A path where no file is.
fn no_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _was_not_there = std::fs::remove_file(&path);
    path
}

fn text(path: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn two_runs_in_the_simulation_make_the_same_tape() {
    let tapes = ["twice-1.jsonl.gz", "twice-2.jsonl.gz"].map(|name| {
        let (path, cluster) = (no_file(name), with_foo());
        let world = World::from(cluster.clone()).recorded_to(&path).unwrap();
        sample(world.lasting(Duration::from_secs(60))).unwrap();
        assert_eq!(cluster.requests()[0], "POST /apis/apps/v1/namespaces/web/deployments 201");
        std::fs::read(&path).unwrap()
    });
    assert!(tapes[0] == tapes[1], "they differ");
    let playback = Playback::from_file(no_file("none").with_file_name("twice-1.jsonl.gz")).unwrap();
    let start = playback.start().unwrap();
    assert_eq!((start.started, start.seed), (Some(Clock::SIMULATED_ORIGIN), Some(0)));
    let paths: Vec<&str> = playback.resources().iter().map(Resource::path).collect();
    assert_eq!(paths, ["/apis/samplecontroller.k8s.io/v1alpha1/foos", "/apis/apps/v1/deployments"]);
    sample(World::from(playback)).unwrap();
}

#[test]
fn a_restart_records_to_a_numbered_tape_beside_the_first() {
    let folder = no_file("restarts");
    let _was_not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let cluster = with_foo();
    for name in ["tonight.jsonl.zst", "tonight-2.jsonl.zst", "tonight-3.jsonl.zst"] {
        let (told, lines) = channel();
        let world = World::from(cluster.clone()).recorded_to(folder.join("tonight.jsonl.zst")).unwrap();
        sample(world.lasting(Duration::from_secs(60)).on_report_line(move |line| told.send(line.to_owned()).unwrap()))
            .unwrap();
        let started = lines.recv().unwrap();
        assert!(started.contains("started; ") && started.ends_with(name), "{started}");
        sample(Playback::from_file(folder.join(name)).unwrap()).unwrap();
    }
    let error = World::from(cluster).recorded_to(folder.join("none/tonight.jsonl")).unwrap_err().to_string();
    assert!(error.contains("there is no folder"), "{error}");
}

/// A server that answers each request with this, and tells what it was asked.
fn answering(status: &'static str, body: &'static str) -> (String, Receiver<String>) {
    let (listener, (told, asked)) = (TcpListener::bind("127.0.0.1:0").unwrap(), channel());
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let mut head = String::new();
        let mut lines = BufReader::new(&stream);
        while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
        let _test_is_over = told.send(head);
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        let _closed = stream.write_all(answer.as_bytes());
    });
    (url, asked)
}

#[test]
fn a_tape_tells_its_cluster_where_the_server_names_it() {
    for (status, body, uid) in [
        ("200 OK", r#"{"metadata":{"name":"kube-system","uid":"u-1"}}"#, Some("u-1")),
        ("403 Forbidden", r#"{"kind":"Status","metadata":{"uid":"u-2"}}"#, None),
        ("404 Not Found", "no page", None),
        ("200 OK", "<html>", None),
    ] {
        let (url, asked) = answering(status, body);
        let world = World::from(Cluster::at(&url).unwrap()).recorded_to(no_file("cluster.jsonl")).unwrap();
        assert_eq!(world.tape().unwrap().start().cluster.as_deref(), uid, "{status} {body}");
        let head = asked.recv().unwrap().to_lowercase();
        assert!(head.starts_with("get /api/v1/namespaces/kube-system http/1.1\r\n"), "{head}");
        assert!(head.contains("accept: application/json;as=partialobjectmetadata;"), "{head}");
    }
}

/// Copies each Secret, and fails with a message that quotes it.
fn copy(world: impl Into<World>) -> Result<(), RunError> {
    let controller = Controller::new("copy", world);
    let secrets = controller.informer_of::<Value>("v1/secrets");
    controller.reconciles(&secrets).run(async |cx, key| {
        let api = Api::<Value>::new(&Resource::new("/api/v1/namespaces/web/secrets"));
        let Some(secret) = secrets.get(&key).filter(|_| key.name() == "a") else { return Ok(Outcome::Done) };
        let data = secret["data"].clone();
        let copy = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "copy", "namespace": "web",
            "annotations": { "was": data.to_string() } }, "data": data });
        _ = cx.call(api.create(&copy)).await;
        _ = cx.call(api.get("copy")).await;
        _ = cx.call(api.delete("copy", &DeleteOptions::default())).await;
        Err(std::io::Error::other(format!("cannot be used: {data}")).into())
    })
}

#[test]
fn a_tape_made_while_everything_handled_was_secret_has_none_of_it() {
    let secret = "hunter2 \"and\" more";
    let encoded = "aHVudGVyMiAiYW5kIiBtb3Jl";
    let cluster = SimulatedCluster::new();
    let object = move |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "web",
            "annotations": { "note": secret } }, "data": { "password": encoded } })
    };
    cluster.create(object("a")).unwrap();
    let path = no_file("secret.jsonl.gz");
    let world = World::from(cluster.clone()).recorded_to(&path).unwrap().on_report_line(|_| {});
    let (clock, it) = (world.clock().clone(), cluster.clone());
    let end = async move {
        clock.sleep(Duration::from_secs(1)).await;
        it.create(object("b")).unwrap();
        clock.sleep(Duration::from_secs(20)).await;
    };
    copy(world.until(end)).unwrap();
    assert!(cluster.requests().iter().any(|request| *request == "POST /api/v1/namespaces/web/secrets 201"));
    let tape = text(&path);
    let escaped = serde_json::to_string(&serde_json::to_string(secret).unwrap()).unwrap();
    for trace in [secret, encoded, "hunter2", "aHVudGVyM", escaped.trim_matches(['"', '\\'])] {
        assert!(!tape.contains(trace), "{trace}: {tape}");
    }
    assert!(tape.matches(r#""hashed":true"#).count() > 4 && tape.contains(r#""method":"POST""#), "{tape}");
    // What it makes of the values is hashed, and no value has these hashes in it.
    let ended = copy(World::from(Playback::from_file(&path).unwrap()).on_report_line(|_| {}));
    assert_names_hashes(&ended.unwrap_err());
}

/// A difference comes of the hashes, and the error says so.
fn assert_names_hashes(error: &RunError) {
    let RunError::Diverged(found) = error else { panic!("{error}") };
    assert!(found.has_hashes && !found.is_same(), "{found}");
    assert!(error.to_string().contains("the tape has keyed hashes in place of the values of Secrets"), "{error}");
}

/// Mirrors the Secret `a` in another one, compares both after each change, and looks into the values if it is told to.
fn mirror(world: impl Into<World>, looks: bool) -> Result<(), RunError> {
    let controller = Controller::new("mirror", world);
    let secrets = controller.informer_of::<Value>("v1/secrets");
    controller.reconciles(&secrets).run(async |cx, key| {
        let Some(secret) = secrets.get("web/a").filter(|_| key.name() == "a") else { return Ok(Outcome::Done) };
        let api = Api::<Value>::new(&Resource::new("/api/v1/namespaces/web/secrets"));
        let data = secret["data"].clone();
        let mirrored = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "mirror", "namespace": "web",
            "annotations": { "from": "web/a" } }, "type": "Opaque", "data": data });
        match secrets.get("web/mirror") {
            None => _ = cx.write(&secrets, api.create(&mirrored)).await?,
            Some(mirror) if mirror["data"] != data => {
                cx.change(&mirror, |mirror| mirror["data"] = data.clone()).await?;
            }
            Some(_) => {}
        }
        if looks {
            let length = json!({ "metadata": { "name": "length", "namespace": "web" },
                "data": { "length": data["password"].as_str().map_or(0, str::len).to_string() } });
            let maps = Api::<Value>::new(&Resource::new("/api/v1/namespaces/web/configmaps"));
            _ = cx.call(maps.create(&length)).await;
        }
        Ok(Outcome::Done)
    })
}

/// Records the mirror of a Secret that gets another value and its first one again. Returns the lines for operators.
fn record_mirror(looks: bool, record: impl FnOnce(World) -> World) -> Vec<String> {
    let (cluster, (told, lines)) = (SimulatedCluster::new(), channel());
    cluster.create(mirrored("aHVudGVyMg==")).unwrap();
    let world = record(World::from(cluster.clone())).on_report_line(move |line| _ = told.send(line.to_owned()));
    let clock = world.clock().clone();
    let changes = async move {
        for value in ["aHVudGVyMw==", "aHVudGVyMg=="] {
            clock.sleep(Duration::from_secs(10)).await;
            cluster.patch("v1/secrets", "web/a", json!({ "data": { "password": value } })).unwrap();
        }
        clock.sleep(Duration::from_secs(10)).await;
        assert_eq!(cluster.get("v1/secrets", "web/mirror").unwrap()["data"]["password"], "aHVudGVyMg==");
        assert_eq!(cluster.requests().iter().filter(|it| it.path.ends_with("/secrets/mirror")).count(), 2);
    };
    mirror(world.until(changes), looks).unwrap();
    lines.iter().collect()
}

fn mirrored(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a", "namespace": "web" },
        "data": { "password": value, "user": "YWRtaW4=" } })
}

fn replay_mirror(path: &Path, looks: bool) -> Result<(), RunError> {
    mirror(World::from(Playback::from_file(path).unwrap()).on_report_line(|_| {}), looks)
}

#[test]
fn a_tape_without_values_replays_a_program_that_copies_and_compares_them() {
    let path = no_file("mirror.jsonl.gz");
    let lines = record_mirror(false, |world| world.recorded_to(&path).unwrap());
    let tape = text(&path);
    for trace in ["hunter", "aHVudGVyM", "68756e746572", "YWRtaW4", "admin"] {
        assert!(!tape.contains(trace), "{trace}: {tape}");
    }
    let hashes: Vec<usize> =
        (0..lines.len()).filter(|place| lines[*place].contains("has keyed hashes in place of")).collect();
    assert!(hashes == [0] && lines[0].contains("World::recorded_with_secrets_to"), "{lines:?}");
    assert_eq!(replay_mirror(&path, false), Ok(()));
}

#[test]
fn a_program_that_needs_a_value_is_replayed_by_a_tape_with_secrets_alone() {
    let (without, with) = (no_file("looks.jsonl.gz"), no_file("looks-with.jsonl.gz"));
    record_mirror(true, |world| world.recorded_to(&without).unwrap());
    assert_names_hashes(&replay_mirror(&without, true).unwrap_err());
    let lines = record_mirror(true, |world| world.recorded_with_secrets_to(&with).unwrap());
    assert!(!lines.iter().any(|line| line.contains("keyed hashes")), "{lines:?}");
    assert!(text(&with).contains("aHVudGVyMg=="));
    assert_eq!(replay_mirror(&with, true), Ok(()));
}

/// The variable that makes the test below the program that is killed.
const TAPE: &str = "LISTWATCH_TEST_TAPE";

/// Reconciles a Foo that never rests, on a tape and by the machine's clock, until it is killed.
fn record_until_killed(path: &str) -> ! {
    let (cluster, clock) = (with_foo(), Clock::real());
    let time = clock.clone();
    let cluster = cluster.on_clock(move || time.now());
    let client = Client::new(cluster.client(), clock.clone());
    let server = cluster.clone();
    let world = World::from_parts(clock.clone(), client, move |_| Box::new(server.transport()));
    let changes = async move {
        // The creation of its Deployment says that both caches have synced.
        while cluster.requests().is_empty() {
            clock.sleep(Duration::from_millis(1)).await;
        }
        for replicas in 0_u64.. {
            cluster.patch(FOOS, "web/a", json!({ "spec": { "replicas": replicas % 100 } })).unwrap();
            clock.sleep(Duration::from_millis(1)).await;
        }
    };
    sample(world.recorded_to(path).unwrap().until(changes)).unwrap();
    unreachable!("it is killed")
}

/// A child that would never end.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn a_tape_that_was_killed_at_any_moment_plays_to_its_last_whole_line() {
    if let Ok(path) = std::env::var(TAPE) {
        record_until_killed(&path);
    }
    for (name, enough) in [("jsonl", 1), ("jsonl", 100_000), ("jsonl.gz", 1), ("jsonl.gz", 3_000), ("jsonl.zst", 3_000)]
    {
        let path = no_file(&format!("killed-{enough}.{name}"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "recorded::a_tape_that_was_killed_at_any_moment_plays_to_its_last_whole_line"]);
        let mut killed =
            KilledOnDrop(command.env(TAPE, &path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        wait_until(|| {
            assert_eq!(killed.0.try_wait().unwrap().map(|status| status.code()), None, "it ended early");
            path.metadata().is_ok_and(|file| file.len() >= enough)
        });
        drop(killed);
        let mut lines = String::new();
        match name {
            "jsonl" => lines = std::fs::read_to_string(&path).unwrap(),
            // What breaks off has been read before.
            "jsonl.gz" => {
                _ = MultiGzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut lines);
            }
            _ => {}
        }
        // The kill may come within a write.
        let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
        whole.lines().for_each(|line| _ = serde_json::from_str::<Value>(line).unwrap());
        if enough > 1 {
            let playback = Playback::from_file(&path).unwrap();
            assert_eq!(playback.resources().len(), 2, "{name}");
            let ended = sample(World::from(playback).on_report_line(|_| {})).map_err(|error| error.to_string());
            let is_killed = |error: &String| {
                ["unless its recording was killed", "if the recording was killed"]
                    .iter()
                    .any(|text| error.contains(text))
            };
            assert!(ended.as_ref().err().is_none_or(is_killed), "{name}: {ended:?}");
        }
    }
}
