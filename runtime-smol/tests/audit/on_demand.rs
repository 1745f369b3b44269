//! What an audit finds.

use crate::audit::stage::{MAPS, Stage, found, only};
use core::time::Duration;
use listwatch::Resource;
use listwatch::audit::{AuditConfig, AuditReport, Verdict};
use listwatch::informer::Subscription;
use listwatch::reflector::Failure;

fn verdict(audit: &listwatch::audit::StreamAudit) -> Verdict {
    audit.result.as_ref().map(AuditReport::verdict).unwrap()
}

#[test]
fn an_event_that_was_lost_is_reported_by_key_and_a_cache_that_lost_none_is_clean() {
    let stage = Stage::with(&["web/a", "web/stale", "web/extra", "db/b"]);
    stage.follow(async |maps| {
        let clean = only(maps.audit().await);
        assert_eq!(clean.to_string(), "configmaps: no drift at version 5: 4 objects");
        assert!(clean.is_clean());
        stage.lose(&["stale", "extra", "missing"]);
        stage.change("web/stale");
        stage.delete("web/extra");
        stage.create("web/missing");
        stage.change("web/a");
        let drifted = only(maps.audit().await);
        assert_eq!(found(&drifted), ["web/extra extra", "web/missing missing", "web/stale stale"]);
        assert_eq!(verdict(&drifted), Verdict::Drifted);
        assert!(drifted.to_string().ends_with("; an event was lost; the stream reads its whole state again"));
        assert_eq!(maps.len(), 4, "the cache is as it was");
        let noted = maps.streams()[0].audit.clone().unwrap();
        assert_eq!(noted, drifted);
        stage.pass(2).await;
        assert!(maps.get("web/missing").is_some() && maps.get("web/extra").is_none());
        let failure = maps.streams()[0].failure.clone().unwrap();
        assert_eq!(failure.failure, Failure::Drifted { objects: 3 });
        assert!(only(maps.audit().await).is_clean());
    });
}

#[test]
fn an_audit_lists_in_pages_with_pauses_and_asks_for_nothing_else() {
    let keys: Vec<_> = (0..1_200).map(|number| format!("web/map-{number}")).collect();
    let stage = Stage::with(&keys.iter().map(String::as_str).collect::<Vec<_>>());
    stage.follow(async |maps| {
        let begun = stage.clock().now();
        assert!(only(maps.audit().await).is_clean());
        let took = stage.clock().now().saturating_since(begun);
        assert!(took >= Duration::from_millis(200), "{took:?} for three pages");
        let listed = stage.listed();
        assert_eq!(listed.len(), 3, "{listed:?}");
        assert!(listed.iter().all(|list| list.starts_with("/api/v1/configmaps?") && list.contains("limit=500")));
        let mut whole = AuditConfig::default();
        whole.page_size = 0;
        assert!(only(maps.audit_with(whole).await).is_clean());
        assert_eq!(stage.listed()[3..], ["/api/v1/configmaps?"]);
    });
}

#[test]
fn each_namespace_is_audited_by_its_own_list() {
    let stage = Stage::with(&["db/b", "web/a", "else/c"]);
    stage.follow_in(&["web", "db"], Resource::named(MAPS).unwrap(), async |maps| {
        stage.lose(&["a", "c"]);
        stage.delete("web/a");
        stage.delete("else/c");
        stage.pass(1).await;
        let audits = maps.audit().await;
        let told: Vec<_> = audits.iter().map(|audit| (audit.name.to_string(), found(audit))).collect();
        let none = Vec::<String>::new();
        let extra = vec!["web/a extra".to_owned()];
        assert_eq!(told, [("configmaps in namespace db".into(), none), ("configmaps in namespace web".into(), extra)]);
        let listed = stage.listed();
        assert!(listed[0].starts_with("/api/v1/namespaces/db/configmaps?"), "{listed:?}");
    });
}

#[test]
fn what_a_selector_leaves_out_is_no_difference() {
    let stage = Stage::with(&["web/a", "web/b"]);
    let only_a = Resource::named(MAPS).unwrap().with_label_selector("of=a");
    stage.follow_in(&[], only_a, async |maps| {
        stage.lose(&["a", "b"]);
        stage.change("web/a");
        stage.change("web/b");
        let audit = only(maps.audit().await);
        assert_eq!(found(&audit), ["web/a stale"]);
        assert!(stage.listed()[0].contains("labelSelector=of%3Da"), "{:?}", stage.listed());
    });
}

#[test]
fn a_cache_that_relists_while_it_is_audited_is_clean() {
    let stage = Stage::with(&["web/a", "web/b"]);
    stage.follow(async |maps| {
        stage.lose(&["a"]);
        stage.change("web/a");
        stage.pass(1).await;
        let audit = smol::future::zip(maps.audit(), async {
            // The list has come, and the cache has not reached its version.
            stage.pass(2).await;
            stage.lose(&[]);
            stage.cluster.compact();
            stage.cluster.disconnect();
        });
        let (audits, ()) = audit.await;
        assert!(only(audits).is_clean());
    });
}

#[test]
fn a_cache_that_a_subscriber_holds_back_is_behind() {
    let stage = Stage::with(&["web/a"]);
    stage.follow(async |maps| {
        let slow = maps.subscribe(Subscription::new().wait());
        // More than the log has room for.
        (0..3_000).for_each(|number| stage.set("web/a", number));
        let audit = only(maps.audit().await);
        assert_eq!((verdict(&audit), found(&audit)), (Verdict::Behind, vec!["web/a stale".to_owned()]));
        assert_eq!(audit.took.as_secs(), 180);
        assert!(audit.help().unwrap().starts_with("the stream is slow or stuck"), "{audit}");
        drop(slow);
        stage.pass(60).await;
        assert!(only(maps.audit().await).is_clean());
    });
}

/// Its own server has lost it, too.
#[test]
fn a_cache_can_be_compared_with_another_server_or_with_one_exact_version() {
    let stage = Stage::with(&["web/a"]);
    let other = listwatch::api::ApiFn::new(|_: &listwatch::api::ApiRequest| {
        let item = r#"{"metadata":{"name":"lost","namespace":"web","resourceVersion":"1"}}"#;
        let list = format!(r#"{{"metadata":{{"resourceVersion":"2"}},"items":[{item}]}}"#);
        Ok(listwatch::api::ApiResponse::new(200, list))
    });
    let other = listwatch::Client::new(other, stage.clock().clone());
    stage.follow(async |maps| {
        let mut exact = AuditConfig::default();
        exact.exact = true;
        assert!(only(maps.audit_with(exact).await).is_clean());
        assert!(stage.listed()[1].contains("resourceVersionMatch=Exact"), "{:?}", stage.listed());
        let expected = ["web/a extra", "web/lost missing"];
        assert_eq!(found(&only(maps.audit_against(&other, AuditConfig::default()).await)), expected);
        let mut audits = maps.audit_every(Duration::from_secs(60)).against(&other);
        assert_eq!(found(&audits.next().await.unwrap()), expected);
    });
}
