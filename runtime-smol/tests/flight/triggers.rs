//! What dumps a flight recorder, and how often.

use super::{Folder, Lines, kept};
use crate::audit::stage::{MAPS, Stage};
use crate::endpoint::client::exchange;
use core::time::Duration;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::endpoint::Endpoint;
use listwatch::file::Playback;
use listwatch::metrics::Metrics;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::{Client, Clock, DumpError, Informers, World};
use listwatch_tests::maps::config_map;
use serde_json::{Value, json};

/// Runs a controller whose reconciles fail by the names of their maps, for so many minutes. The first map changes in each.
fn fail(cluster: &SimulatedCluster, folder: &Folder, minutes: u64) -> Lines {
    let (on_line, lines) = kept();
    let world = World::from(cluster.clone()).flight_recorder(5, 8).dumps_to(&folder.0).on_report_line(on_line);
    let (clock, cluster) = (world.clock().clone(), cluster.clone());
    let world = world.until(async move {
        for minute in 0..minutes {
            clock.sleep(Duration::from_secs(60)).await;
            cluster.patch(MAPS, "web/panics", json!({ "data": { "minute": minute.to_string() } })).unwrap();
        }
    });
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<Value>(MAPS);
    let running = controller.reconciles(&maps).park_after(2).on_report(|_, _| {});
    running
        .run(async |_cx, key| match key.name() {
            name if name.starts_with("panics") => panic!("hunter2"),
            name if name.starts_with("parked") => Err(std::io::Error::other("hunter2").into()),
            _ => Ok(Outcome::Done),
        })
        .unwrap();
    lines
}

/// The first line of a dump.
fn cause(folder: &Folder, name: &str) -> String {
    Playback::from_file(folder.0.join(name)).unwrap().start().unwrap().dumped.clone().unwrap()
}

#[test]
fn a_storm_of_parked_keys_is_one_dump_and_leaves_another_to_a_panic() {
    let (folder, cluster) = (Folder::named("storm"), SimulatedCluster::new());
    for number in 0..200 {
        cluster.create(config_map(&format!("parked-{number}"), &json!({}))).unwrap();
    }
    cluster.create(config_map("panics", &json!({}))).unwrap();
    let lines = fail(&cluster, &folder, 2);
    assert_eq!(folder.names(), ["dump-panic.jsonl.zst", "dump-parked.jsonl.zst"]);
    assert_eq!(cause(&folder, "dump-panic.jsonl.zst"), "panic: maps: web/panics");
    assert!(cause(&folder, "dump-parked.jsonl.zst").starts_with("parked: maps: web/pa"));
    let lines = lines.lock().unwrap();
    let told: Vec<_> = lines.iter().filter(|line| line.starts_with("the flight recorder is dumped to ")).collect();
    assert_eq!(told.len(), 2, "{lines:?}");
}

#[test]
fn a_cause_that_comes_again_after_the_minutes_of_the_recorder_is_dumped_again() {
    let (folder, cluster) = (Folder::named("again"), SimulatedCluster::new());
    cluster.create(config_map("panics", &json!({}))).unwrap();
    fail(&cluster, &folder, 12);
    let panics = folder.names().iter().filter(|name| name.starts_with("dump-panic")).count();
    assert_eq!(panics, 3, "at once, after five minutes and after ten: {:?}", folder.names());
}

#[test]
fn an_audit_that_finds_a_drift_dumps_the_recorder() {
    let (folder, stage) = (Folder::named("drift"), Stage::with(&["web/a"]));
    let (on_line, lines) = kept();
    let world = stage.world.clone().flight_recorder(5, 8).dumps_to(&folder.0).on_report_line(on_line);
    let it = stage;
    let world = world.until(async move {
        it.pass(60).await;
        it.lose(&["a"]);
        it.change("web/a");
        it.pass(2 * 3600).await;
    });
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let running = controller.reconciles(&maps).audit_every(Duration::from_secs(3600)).on_report(|_, _| {});
    running.run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    assert!(folder.names().contains(&"dump-drift.jsonl.zst".to_owned()), "{:?}", lines.lock().unwrap());
    assert_eq!(cause(&folder, "dump-drift.jsonl.zst"), "drift: configmaps: 1");
}

#[test]
fn a_lost_lease_dumps_the_recorder_before_the_program_ends() {
    let (folder, cluster) = (Folder::named("lease"), SimulatedCluster::new());
    cluster.create(config_map("a", &json!({}))).unwrap();
    let world = World::from(cluster.clone()).flight_recorder(5, 8).dumps_to(&folder.0).on_report_line(|_| {});
    let controller = Controller::new("maps", world.lasting(Duration::from_secs(600)));
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let running = controller.reconciles(&maps).lead_by(Election::new("it").namespace("web").identity("a"));
    let ended = running.on_report(|_, _| {}).run(async |_cx, _key| {
        let request = "PUT /apis/coordination.k8s.io/v1/namespaces/web/leases/it";
        (0..20).for_each(|_| cluster.fail_next(request, Fault::Silent).unwrap());
        Ok(Outcome::Done)
    });
    assert!(matches!(ended, Err(RunError::LeaderElectionLost { .. })), "{ended:?}");
    assert_eq!(folder.names(), ["dump-lease.jsonl.zst"]);
    assert_eq!(cause(&folder, "dump-lease.jsonl.zst"), "lease: maps: web/it");
}

/// A world of the machine's clock.
fn real(cluster: &SimulatedCluster) -> World {
    let clock = Clock::real();
    let time = clock.clone();
    let cluster = cluster.on_clock(move || time.now());
    World::from_parts(clock.clone(), Client::new(cluster.client(), clock), move |_| Box::new(cluster.transport()))
}

#[test]
fn a_post_to_the_endpoint_dumps_the_recorder_once_in_ten_seconds() {
    let (folder, cluster, metrics) = (Folder::named("endpoint"), SimulatedCluster::new(), Metrics::new());
    let endpoint = Endpoint::builder(&metrics).start(0).unwrap();
    let address = endpoint.address();
    let send = |method: &str| {
        let head = format!("{method} /debug/listwatch/dump HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        exchange(address, format!("{head}Content-Length: 0\r\n\r\n").as_bytes())
    };
    assert_eq!(send("POST").status, 404, "there is no recorder");
    let informers = Informers::new(real(&cluster).flight_recorder(5, 8).dumps_to(&folder.0));
    metrics.add_informers(&informers);
    assert_eq!(send("GET").status, 405);
    let dumped = send("POST");
    let path = folder.0.join("dump-endpoint.jsonl.zst");
    assert_eq!((dumped.status, &*dumped.body), (200, &*format!("{}\n", path.display())));
    assert_eq!(send("POST").status, 429);
    assert_eq!(folder.names(), ["dump-endpoint.jsonl.zst"]);
}

#[cfg(unix)]
#[test]
fn a_signal_dumps_the_recorder_and_the_program_goes_on() {
    let (folder, cluster) = (Folder::named("signal"), SimulatedCluster::new());
    let (on_line, lines) = kept();
    let world = real(&cluster).flight_recorder(5, 8).dumps_to(&folder.0).on_report_line(on_line);
    signal_hook::low_level::raise(signal_hook::consts::SIGUSR1).unwrap();
    listwatch_tests::wait::wait_until(|| !lines.lock().unwrap().is_empty());
    assert_eq!(folder.names(), ["dump-signal.jsonl.zst"]);
    drop(world);
    use std::os::unix::fs::PermissionsExt;
    let mode = folder.0.join("dump-signal.jsonl.zst").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_dump_that_cannot_be_written_is_one_clear_error_and_the_recorder_goes_on() {
    let (folder, cluster) = (Folder::named("none"), SimulatedCluster::new());
    let world = World::from(cluster.clone()).flight_recorder(5, 8).dumps_to(folder.0.join("none"));
    let error = world.dump("x").unwrap_err().to_string();
    assert!(error.contains("there is no folder ") && error.ends_with("/none; make it first"), "{error}");
    let world = world.dumps_to(&folder.0);
    (0..64).for_each(|_| _ = world.dump("x").unwrap());
    let full = world.dump("x").unwrap_err();
    assert!(matches!(full, DumpError::FullFolder(_)), "{full}");
    assert_eq!(folder.names().len(), 64, "and no file that is not finished");
    assert!(matches!(World::from(cluster).dump("x"), Err(DumpError::NoRecorder)));
}
