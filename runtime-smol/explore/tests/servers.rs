//! API servers whose watch caches are behind.

use crate::faults::{MAPS, SECRETS, fixture, informers};
use listwatch::api::Api;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::reflector::Consistency;
use listwatch::testing::{Fault, Lag};
use listwatch::time::Instant;
use listwatch::{InformerConfig, Resource, World};
use listwatch_explore::Exploration;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the cache and the server have of a ConfigMap, second by second.
type Seen = Arc<Mutex<Vec<(u64, String, String)>>>;

/// Reads a ConfigMap each second from the cache, and from the server.
fn reads(world: World, consistency: Consistency, seen: &Seen) -> Result<(), RunError> {
    let controller = Controller::new("reads", world);
    let mut config = InformerConfig::default();
    config.reflector.consistency = consistency;
    let maps = controller.informers().informer_with::<Value>(Resource::named(MAPS).unwrap(), [""; 0], config);
    controller.reconciles(&maps).run(async |cx, key| {
        let x = |map: &Value| map["data"]["x"].as_str().unwrap_or_default().to_owned();
        let seconds = cx.clock().now().saturating_since(Instant::ZERO).as_secs();
        let cached = maps.get(&key).map(|map| x(&map)).unwrap_or_default();
        let live = cx.live().get(&maps, &key).await?.map(|map| x(&map)).unwrap_or_default();
        seen.lock().unwrap().push((seconds, cached, live));
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    })
}

#[test]
fn an_informer_on_an_older_server_does_not_go_back_and_a_live_read_is_up_to_date() {
    let (cluster, seen) = (fixture(), Seen::default());
    cluster.lag_server(1, Lag::Time(Duration::from_secs(20)));
    let world = World::from(cluster.at_servers(&[0, 1]));
    let clock = world.clock().clone();
    let patch = |x: &'static str| json!({ "data": { "x": x } });
    let scenario = async move {
        clock.sleep(Duration::from_secs(2)).await;
        cluster.patch(MAPS, "default/a", patch("2"))?;
        clock.sleep(Duration::from_secs(2)).await;
        // The watch goes on from version 3, on a server that has it at 22 s.
        cluster.disconnect();
        cluster.patch(MAPS, "default/a", patch("3"))?;
        clock.sleep(Duration::from_secs(2)).await;
        // The list that follows asks the same server for nothing older.
        cluster.fail_next("WATCH /api/v1/configmaps", Fault::Refused(410))?;
        cluster.disconnect();
        cluster.disconnect();
        clock.sleep(Duration::from_secs(40)).await;
        Ok(())
    };
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&lines);
    let world = world.try_until(scenario).on_report_line(move |line| told.lock().unwrap().push(line.to_owned()));
    reads(world, Consistency::default(), &seen).unwrap();
    let (seen, lines) = (seen.lock().unwrap(), lines.lock().unwrap());
    assert_eq!(lines.iter().filter(|line| line.contains("version too large (status 504)")).count(), 3, "{lines:#?}");
    assert!(seen.windows(2).all(|two| two[0].1 <= two[1].1), "the cache goes back: {seen:?}");
    let cached = |second: u64| seen.iter().find(|(at, ..)| *at == second).map(|(_, cached, _)| cached.as_str());
    assert_eq!([cached(3), cached(5), cached(23), cached(40)], [Some("2"), Some("2"), Some("2"), Some("3")]);
    assert!(seen.iter().all(|(at, _, live)| *at < 5 || live == "3"), "{seen:?}");
}

#[test]
fn a_program_begins_with_an_old_state_only_where_it_asks_for_any() {
    let cached = |consistency| {
        let (cluster, seen) = (fixture(), Seen::default());
        cluster.patch(MAPS, "default/a", json!({ "data": { "x": "2" } })).unwrap();
        cluster.lag_server(1, Lag::Changes(1));
        let world = World::from(cluster.at_servers(&[1]));
        let clock = world.clock().clone();
        let scenario = async move {
            clock.sleep(Duration::from_secs(10)).await;
            cluster.lag_server(1, None);
            clock.sleep(Duration::from_secs(20)).await;
        };
        reads(world.until(scenario), consistency, &seen).unwrap();
        let mut cached: Vec<String> = seen.lock().unwrap().iter().map(|(_, cached, _)| cached.clone()).collect();
        cached.dedup();
        cached
    };
    assert_eq!(cached(Consistency::Any), ["1", "2"], "the watch tells what is between");
    assert_eq!(cached(Consistency::NotOlderThan), ["2"]);
}

/// Makes a Secret where a list has none, and looks again every five seconds. With version 0, any server answers the list
/// from its cache.
fn counts(world: World, version: Option<&'static str>) -> Result<(), RunError> {
    let controller = Controller::new("counts", world);
    let (maps, _) = informers(&controller);
    let secrets = Api::<Value>::new(&Resource::named(SECRETS).unwrap().in_namespace("default"));
    controller.reconciles(&maps).run(async |cx, key| {
        if maps.get(&key).is_none() {
            return Ok(Outcome::Done);
        }
        let list = secrets.list().map_request(|mut request| {
            request.query.extend(version.map(|version| ("resourceVersion", version.to_owned())));
            request
        });
        if cx.call(list).await?.items.is_empty() {
            let metadata = json!({ "generateName": "a-" });
            cx.call(secrets.create(&json!({ "metadata": metadata, "stringData": { "x": "1" } }))).await?;
        }
        Ok(Outcome::RequeueAfter(Duration::from_secs(5)))
    })
}

/// Nothing keeps two replicas apart here.
fn exploration(version: Option<&'static str>) -> Exploration {
    let exploration = Exploration::of(move |world| counts(world, version)).cluster(fixture).scenario(async |it| {
        for x in ["2", "3"] {
            it.settled().await;
            it.patch(MAPS, "default/a", json!({ "data": { "x": x } }))?;
        }
        it.settled().await;
        Ok(())
    });
    exploration.without("paused").without("paused-long")
}

#[test]
fn a_fault_that_late_watches_do_not_show_is_found_on_an_older_server() {
    let found = exploration(Some("0")).without("behind").run(300).expect_err("an old list has no Secret");
    let text = found.to_string();
    assert!(text.contains("and the program reaches an API server that lags by "), "{text}");
    exploration(Some("0")).without("behind").without("older").run(300).unwrap();
    exploration(None).run(300).unwrap();
}
