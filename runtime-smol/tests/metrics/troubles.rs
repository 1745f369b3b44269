//! What a scrape says of troubles: keys that are parked, panics, deadlines, leaders, refusals.

use crate::metrics::stage::{Stage, scraped};
use crate::metrics::value;
use core::time::Duration;
use listwatch::World;
use listwatch::controller::{Controller, Outcome, run_all};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::metrics::Metrics;
use listwatch::testing::{Fault, SimulatedCluster};

#[test]
fn each_result_is_counted_once() {
    let scrape = scraped();
    let counted = |family: &str| value(&scrape, &format!("{family}{{controller=\"maps\"}}"));
    let result = |result| {
        value(&scrape, &format!("controller_runtime_reconcile_total{{controller=\"maps\",result=\"{result}\"}}"))
    };
    assert_eq!([result("success"), result("requeue_after"), result("requeue")], [1.0, 1.0, 0.0]);
    // Three keys fail three times each, and one fails for good at once.
    assert_eq!(result("error"), 10.0);
    assert_eq!(counted("controller_runtime_reconcile_errors_total"), 10.0);
    assert_eq!(counted("controller_runtime_reconcile_panics_total"), 3.0);
    assert_eq!(counted("controller_runtime_reconcile_timeouts_total"), 3.0);
    assert_eq!(counted("controller_runtime_terminal_reconcile_errors_total"), 1.0);
    assert_eq!(counted("listwatch_parked_keys"), 4.0, "three that failed too often, one for good");
    assert_eq!(counted("listwatch_event_age_seconds_count"), 2.0, "those that succeeded");
    assert!(counted("listwatch_event_age_seconds_sum") >= 0.3);
    assert_eq!(value(&scrape, "leader_election_master_status{name=\"web/it\"}"), 1.0);
    let objects = scrape.lines().find(|line| line.starts_with("listwatch_stream_objects{")).unwrap();
    assert!(objects.ends_with(" 6.0"), "{objects}");
}

#[test]
fn a_candidate_that_does_not_lead_has_status_zero() {
    Stage::play(|stage| async move {
        assert_eq!(stage.value("leader_election_master_status{name=\"web/it\"}"), 0.0);
        stage.pass(5).await;
        assert_eq!(stage.value("leader_election_master_status{name=\"web/it\"}"), 1.0);
        for _ in 0..200 {
            let request = "PUT /apis/coordination.k8s.io/v1/namespaces/web/leases/it";
            stage.cluster.fail_next(request, Fault::Refused(503)).unwrap();
        }
        stage.pass(30).await;
        assert_eq!(stage.value("leader_election_master_status{name=\"web/it\"}"), 0.0);
    });
}

#[test]
fn requests_and_failures_have_their_reasons_and_relists_are_lists_after_the_first() {
    Stage::play(|stage| async move {
        stage.pass(5).await;
        let lists = stage.value("rest_client_requests_total{code=\"200\",host=\"\",method=\"GET\"}");
        assert!(lists >= 2.0, "a list or a watch-list of the maps, and the lease: {lists}");
        assert_eq!(stage.value("rest_client_requests_total{code=\"201\",host=\"\",method=\"POST\"}"), 1.0);
        let before = stage.metrics.encode();
        let series = |scrape: &str, begin: &str| {
            scrape.lines().find(|line| line.starts_with(begin)).map(|line| line.rsplit_once(' ').unwrap().1.to_owned())
        };
        let relists = |scrape: &str| series(scrape, "listwatch_stream_relists_total{");
        assert_eq!(relists(&before).as_deref(), Some("0"));
        for request in ["LIST /api/v1/configmaps", "WATCH /api/v1/configmaps"] {
            (0..2).for_each(|_| stage.cluster.fail_next(request, Fault::Refused(503)).unwrap());
        }
        stage.cluster.disconnect();
        stage.pass(60).await;
        assert_eq!(relists(&stage.metrics.encode()).as_deref(), Some("0"), "a watch that fails is no relist");
        stage.cluster.fail_next("WATCH /api/v1/configmaps", Fault::Refused(410)).unwrap();
        stage.cluster.disconnect();
        stage.pass(60).await;
        let scrape = stage.metrics.encode();
        let bytes =
            |scrape: &str| series(scrape, "listwatch_stream_received_bytes_total{").unwrap().parse::<u64>().unwrap();
        assert!(bytes(&before) > 500 && bytes(&scrape) > bytes(&before), "the list, and the list again");
        assert_eq!(relists(&scrape).as_deref(), Some("1"));
        let expired = "operation=\"Watch\",reason=\"Expired\"} 1";
        assert!(
            scrape.lines().any(|line| line.starts_with("listwatch_stream_failures_total{") && line.ends_with(expired))
        );
        assert_eq!(value(&scrape, "rest_client_requests_total{code=\"410\",host=\"\",method=\"GET\"}"), 1.0);
    });
}

#[test]
fn versions_are_told_while_requests_fail_because_the_cache_keeps_its_state() {
    Stage::play(|stage| async move {
        stage.pass(5).await;
        let version = |scrape: &str, which: &str| {
            let name = format!("listwatch_stream_{which}_version{{");
            scrape.lines().find(|line| line.starts_with(&name)).map(str::to_owned).unwrap()
        };
        let before = stage.metrics.encode();
        for request in ["LIST /api/v1/configmaps", "WATCH /api/v1/configmaps"] {
            (0..100).for_each(|_| stage.cluster.fail_next(request, Fault::Refused(503)).unwrap());
        }
        stage.cluster.disconnect();
        stage.pass(60).await;
        let scrape = stage.metrics.encode();
        assert!(scrape.lines().any(|line| line.contains("state=\"failing\"") && line.ends_with(" 1.0")), "{scrape}");
        for which in ["received", "applied"] {
            assert_eq!(version(&scrape, which), version(&before, which));
        }
    });
}

#[test]
fn two_controllers_of_one_lease_make_one_series() {
    let (world, metrics) = (World::from(SimulatedCluster::new()), Metrics::new());
    let (clock, measured) = (world.clock().clone(), metrics.clone());
    let world = world.until(async move {
        clock.sleep(Duration::from_secs(5)).await;
        let scrape = measured.encode();
        assert_eq!(scrape.matches("leader_election_master_status{").count(), 1, "{scrape}");
        assert_eq!(value(&scrape, "leader_election_master_status{name=\"web/it\"}"), 1.0);
    });
    let running = ["a", "b"].map(|name| {
        let controller = Controller::new(name, world.clone());
        let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
        let election = Election::new("it").namespace("web").identity(name);
        let running = controller.reconciles(&maps).lead_by(election).calls(async |_cx, _key| Ok(Outcome::Done));
        metrics.add_controller(&running.handle());
        running
    });
    run_all(running).unwrap();
}
