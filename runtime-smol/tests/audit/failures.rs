//! Why a cache was not compared.

use crate::audit::stage::{MAPS, Stage, found, only};
use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::audit::AuditFailure;
use listwatch::decode::MetadataOnly;
use listwatch::metrics::Metrics;
use listwatch::testing::Fault;
use listwatch::{Executor, Informers, Resource, run};

const LIST: &str = "GET /api/v1/configmaps";

/// The failure of an audit whose list meets this, and the time until then.
fn failing(fault: Fault) -> (String, Duration) {
    let stage = Stage::with(&["web/a"]);
    stage.cluster.fail_next(LIST, fault).unwrap();
    stage.follow(async |maps| {
        let audit = only(maps.audit().await);
        assert!(matches!(audit.result, Err(AuditFailure::NotRead(_))), "{audit}");
        let noted = maps.streams()[0].audit.clone().unwrap();
        assert_eq!(noted, audit);
        assert!(only(maps.audit().await).is_clean(), "the next one is as good as any");
        (audit.to_string(), audit.took)
    })
}

#[test]
fn a_list_that_is_denied_says_which_permission_to_check() {
    let (line, _) = failing(Fault::Refused(403));
    assert!(line.starts_with("configmaps: not compared: GET /api/v1/configmaps: "), "{line}");
    assert!(line.ends_with("; check with `kubectl auth can-i list configmaps -A`"), "{line}");
}

#[test]
fn a_server_that_does_not_answer_ends_the_audit_at_the_deadline_of_its_request() {
    let (line, took) = failing(Fault::Silent);
    assert_eq!(took, Duration::from_secs(30));
    assert!(line.contains("not compared: ") && line.contains("no answer within 30s"), "{line}");
    assert!(line.ends_with("; audit again when the server answers"), "{line}");
}

#[test]
fn a_server_that_cannot_be_reached_or_is_sick_is_named() {
    for fault in [Fault::Unreachable, Fault::Lost, Fault::Refused(500), Fault::Refused(429)] {
        let (line, took) = failing(fault);
        assert!(line.ends_with("; audit again when the server answers") && took < Duration::from_secs(1), "{line}");
    }
}

#[test]
fn an_audit_that_fails_keeps_the_drift_in_a_scrape() {
    let stage = Stage::with(&["web/a"]);
    let (informers, executor, metrics) = (Informers::new(stage.world.clone()), Executor::new(), Metrics::new());
    metrics.add_informers(&informers);
    let _running = executor.spawn(informers.run());
    let drifted = || {
        let scrape = metrics.encode();
        let series = scrape.lines().filter(|line| line.starts_with("listwatch_stream_drifted_objects{"));
        series.map(str::to_owned).collect::<Vec<_>>()
    };
    run(stage.clock(), &executor, async {
        let maps = informers.informer_of::<MetadataOnly>(Resource::named(MAPS).unwrap());
        maps.synced().await.unwrap();
        stage.lose(&["a"]);
        stage.change("web/a");
        assert_eq!(found(&only(maps.audit().await)), ["web/a stale"]);
        let before = drifted();
        assert!(before.iter().any(|line| line.contains("kind=\"stale\"") && line.ends_with(" 1.0")), "{before:?}");
        stage.cluster.fail_next(LIST, Fault::Refused(403)).unwrap();
        assert!(only(maps.audit().await).result.is_err());
        assert_eq!(drifted(), before);
    });
}

#[test]
fn an_audit_ends_with_its_informer_and_does_not_keep_it() {
    let stage = Stage::with(&["web/a"]);
    let (informers, executor) = (Informers::new(stage.world.clone()), Executor::new());
    let _running = executor.spawn(informers.run());
    run(stage.clock(), &executor, async {
        let maps = informers.informer_of::<MetadataOnly>(Resource::named(MAPS).unwrap());
        maps.synced().await.unwrap();
        stage.cluster.fail_next(LIST, Fault::Silent).unwrap();
        let (audits, ()) = smol::future::zip(maps.audit(), async {
            stage.pass(5).await;
            drop(maps);
        })
        .await;
        let audit = only(audits);
        assert_eq!((audit.result.clone(), audit.took.as_secs()), (Err(AuditFailure::Stopped), 5));
        assert!(informers.status().is_empty());
    });
}

#[test]
fn an_audit_that_is_dropped_aborts_its_request_and_is_not_noted() {
    let stage = Stage::with(&["web/a"]);
    stage.follow(async |maps| {
        stage.cluster.fail_next(LIST, Fault::Silent).unwrap();
        let given_up = async {
            stage.pass(5).await;
            Vec::new()
        };
        assert!(smol::future::or(maps.audit(), given_up).await.is_empty());
        assert_eq!(maps.streams()[0].audit, None);
    });
}

#[test]
fn a_transport_that_panics_fails_the_audit_alone() {
    let stage = Stage::with(&["web/a"]);
    let panics = ApiFn::new(|_: &ApiRequest| -> Result<ApiResponse, _> { panic!("the program's transport") });
    stage.asking(panics).follow(async |maps| {
        let audit = only(maps.audit().await);
        assert!(audit.to_string().contains("the program's own code panicked: the program's transport"), "{audit}");
        stage.create("web/b");
        stage.pass(1).await;
        assert_eq!(maps.len(), 2, "the stream goes on");
    });
}
