//! The reports of controllers and elections, and where they go.

use crate::collector::Collector;
use crate::stage::Stage;
use core::time::Duration;
use listwatch::controller::Outcome;
use listwatch::traced::{CONTROLLER, ELECTION};
use std::process::Command;
use std::sync::{Arc, Mutex};
use tracing::Level;

#[test]
fn the_life_of_a_controller_and_its_warnings_are_told_beside_its_own_function() {
    let (stage, collector, lines) = (Stage::new(&["a"]), Collector::default(), Arc::new(Mutex::new(Vec::new())));
    let (controller, maps) = stage.controller();
    let said = Arc::clone(&lines);
    let controller = controller.on_report(move |_, report| said.lock().unwrap().push(report.to_string()));
    let ended = collector.around(|| {
        controller.run(async |cx, key| {
            maps.get(&key).iter().for_each(|found| cx.warn(found, "Odd", "\x1b[5mit blinks"));
            Ok(Outcome::Done)
        })
    });
    ended.unwrap();
    let events = collector.events(CONTROLLER);
    let of_reports = events.iter().filter(|event| event.fields.contains_key("report"));
    let told: Vec<_> = of_reports.map(|event| (event.level, event.field("report"), event.field("message"))).collect();
    assert_eq!((told.len(), told[0].1, told[2].1), (3, "started", "ended"), "{told:?}");
    assert_eq!((told[0].0, told[1].0, told[1].1, told[2].0), (Level::INFO, Level::WARN, "warning", Level::INFO));
    assert!(told[1].2.ends_with(r"Odd: \u001b[5mit blinks"), "{told:?}");
    let texts: Vec<_> = told.iter().map(|(_, _, message)| (*message).to_owned()).collect();
    assert_eq!(*lines.lock().unwrap(), texts);
    let warned = events.iter().find(|event| event.field("report") == "warning").unwrap();
    assert_eq!((warned.inside.len(), warned.field("key")), (1, "web/a"), "inside of the span of its reconcile");
}

#[test]
fn terms_are_told_and_a_lost_one_is_an_error() {
    let (stage, collector) = (Stage::new(&["a"]), Collector::default());
    let cluster = stage.cluster.clone();
    let (controller, _maps) = stage.controller();
    let election = listwatch::election::Election::new("maps").namespace("web").identity("this");
    let controller = controller.lead_by(election).on_report(|_, _| {});
    let (controller, clock) = (controller.calls(async |_cx, _key| Ok(Outcome::Done)), stage.clock.clone());
    let takes = async move {
        clock.sleep(Duration::from_secs(20)).await;
        let mut lease = cluster.get("coordination.k8s.io/v1/leases", "web/maps").unwrap();
        lease["spec"]["holderIdentity"] = "another".into();
        cluster.replace(lease).unwrap();
        core::future::pending().await
    };
    let ended = collector.around(|| {
        let both = smol::future::or(controller.future(), takes);
        listwatch::run(&stage.clock, &listwatch::Executor::new(), both)
    });
    assert!(ended.is_err(), "{ended:?}");
    let events = collector.events(ELECTION);
    let told = |report: &str| events.iter().find(|event| event.field("report") == report).map(|event| event.level);
    assert_eq!((told("started"), told("lost")), (Some(Level::INFO), Some(Level::ERROR)), "{events:?}");
    assert!(events.iter().all(|event| event.field("lease") == "web/maps" && event.field("controller") == "maps"));
}

/// Fails once, and prints nothing itself. It is the child of the test below.
#[test]
#[ignore = "a child of another test"]
fn fails_once() {
    let stage = Stage::new(&["a"]);
    let (controller, _maps) = stage.controller();
    let run = || controller.park_after(1).run(async |_cx, _key| Err("a".parse::<u32>().unwrap_err())?);
    let ended = if std::env::var_os("WITH_SUBSCRIBER").is_some() { Collector::default().around(run) } else { run() };
    ended.unwrap();
}

#[test]
fn a_report_that_a_subscriber_gets_is_not_on_standard_error() {
    for (with_subscriber, lines) in [(false, 3), (true, 0)] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "reports::fails_once", "--ignored", "--nocapture"]);
        if with_subscriber {
            child.env("WITH_SUBSCRIBER", "1");
        }
        let output = child.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().filter(|line| line.contains("Z maps: ")).count(), lines, "{stderr}");
        assert!(output.status.success(), "{stderr}");
    }
}
