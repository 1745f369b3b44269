//! What informers tell.

use crate::collector::{Collector, Told};
use crate::stage::{MAPS, Stage};
use core::time::Duration;
use listwatch::controller::Outcome;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::traced::REFLECTOR;
use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, Resource, run};
use serde_json::Value;
use tracing::Level;

const PATH: &str = "/api/v1/configmaps";

fn shown(event: &Told) -> (Level, &str, &str) {
    (event.level, event.field("state"), event.field("class"))
}

#[test]
fn the_states_of_an_informer_are_told_as_they_change() {
    let (stage, collector) = (Stage::new(&["a"]), Collector::default());
    stage.cluster.fail_next(&format!("WATCH {PATH}"), Fault::Refused(503)).unwrap();
    let (controller, _maps) = stage.controller();
    collector.around(|| controller.on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done))).unwrap();
    let events = collector.events(REFLECTOR);
    assert!(events.iter().all(|event| event.field("resource") == PATH && event.inside.is_empty()), "{events:?}");
    let failed = events.iter().find(|event| event.field("state") == "failing").unwrap();
    assert_eq!((failed.level, failed.field("class"), failed.field("status")), (Level::WARN, "server error", "503"));
    assert_eq!(failed.field("attempts"), "1");
    assert!(failed.field("retry_in_s").parse::<f64>().unwrap() > 0.0, "{failed:?}");
    let states: Vec<_> = events.iter().map(shown).collect();
    let [.., before, (Level::INFO, "synced", "")] = &*states else { panic!("{states:?}") };
    assert_ne!(before.1, "synced");
    let synced = events.last().unwrap();
    assert!(synced.field("version").parse::<u64>().is_ok(), "{synced:?}");
    assert_eq!(states.iter().filter(|(_, state, _)| *state == "synced").count(), 1, "{states:?}");
}

#[test]
fn a_denial_is_told_with_the_command_that_checks_it() {
    let (stage, collector) = (Stage::new(&[]), Collector::default());
    stage.cluster.fail_next(&format!("WATCH {PATH}"), Fault::Refused(403)).unwrap();
    let (controller, _maps) = stage.controller();
    collector.around(|| controller.on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done))).unwrap_err();
    let events = collector.events(REFLECTOR);
    let failed = events.iter().find(|event| event.field("class") == "forbidden").unwrap();
    assert_eq!(failed.field("help"), "check with `kubectl auth can-i watch configmaps -A`");
}

#[test]
fn an_informer_without_a_controller_tells_the_same() {
    let (clock, cluster, collector) = (Clock::simulated(), SimulatedCluster::new(), Collector::default());
    let informer = Informer::<Value>::new(Resource::named(MAPS).unwrap(), InformerConfig::default());
    let mut events = Events::start(Driver::new(informer, cluster.transport()), clock.clone());
    let synced = events.synced();
    let follow = async {
        let follow = async { while events.next().await.is_some() {} };
        smol::future::or(follow, async { synced.await.unwrap() }).await;
        clock.sleep(Duration::from_secs(1)).await;
    };
    collector.around(|| run(&clock, &Executor::new(), follow));
    let events = collector.events(REFLECTOR);
    assert!(events.iter().any(|event| event.field("state") == "streaming"), "{events:?}");
    assert!(events.iter().all(|event| event.level != Level::WARN), "{events:?}");
}

#[test]
fn an_object_that_is_not_decoded_is_told_with_its_key_and_without_control_characters() {
    #[derive(serde::Deserialize)]
    struct Map {
        #[expect(dead_code, reason = "it is decoded")]
        data: Number,
    }
    #[derive(serde::Deserialize)]
    struct Number {
        #[expect(dead_code, reason = "it is decoded")]
        n: Picky,
    }
    struct Picky;
    impl<'de> serde::Deserialize<'de> for Picky {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(serde::de::Error::custom(format_args!("not {text}")))
        }
    }
    let (stage, collector) = (Stage::new(&[]), Collector::default());
    let map = serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "namespace": "web" }, "data": { "n": "\x1b[2J" } });
    stage.cluster.create(map).unwrap();
    let world = stage.world.lasting(Duration::from_secs(1));
    let controller = listwatch::Controller::new("maps", world);
    let maps = controller.informer_of::<Map>(Resource::named(MAPS).unwrap());
    let controller = controller.reconciles(&maps).on_report(|_, _| {});
    collector.around(|| controller.run(async |_cx, _key| Ok(Outcome::Done))).unwrap();
    let events = collector.events(REFLECTOR);
    let undecodable = events.iter().find(|event| event.level == Level::WARN).unwrap();
    assert_eq!(undecodable.field("key"), "web/a");
    assert!(undecodable.field("message").contains(r"\u001b[2J"), "{undecodable:?}");
    let raw = |text: &String| text.chars().any(char::is_control);
    assert!(!events.iter().any(|event| event.fields.values().any(raw)), "{events:?}");
}
