use super::*;
use crate::api::ApiResponse;
use crate::object::{Key, Version};
use crate::request::Resource;
use crate::time::Instant;
use crate::transport::{TransportError, TransportErrorKind};
use alloc::collections::BTreeMap;
use core::cell::Cell;
use core::time::Duration;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

/// A store that a test writes.
#[derive(Default)]
struct Stored {
    objects: BTreeMap<Key, Version>,
    applied: Option<Version>,
    undecodable: BTreeMap<Key, Version>,
}

impl Stored {
    fn at(applied: &str, objects: &[(&str, &str)]) -> Self {
        let objects = objects.iter().map(|(key, version)| (Key::from(*key), Version::from(*version))).collect();
        Self { objects, applied: Some(applied.into()), undecodable: BTreeMap::new() }
    }
}

impl Replica for Stored {
    fn applied(&self) -> Option<Version> {
        self.applied.clone()
    }

    fn find(&self, key: &Key) -> Option<(Key, Version)> {
        self.objects.get_key_value(key).map(|(key, version)| (key.clone(), version.clone()))
    }

    fn for_each(&self, f: &mut dyn FnMut(&Key, &str)) {
        self.objects.iter().for_each(|(key, version)| f(key, version));
    }

    fn undecodable(&self, key: &Key) -> Option<Version> {
        self.undecodable.get(key).cloned()
    }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn list(version: &str, token: &str, objects: &[(&str, &str)]) -> Result<ApiResponse, TransportError> {
    let item = |(key, version): &(&str, &str)| {
        let key = Key::from(*key);
        let namespace = key.namespace().map(|namespace| format!(r#""namespace":"{namespace}","#)).unwrap_or_default();
        let name = key.name();
        format!(r#"{{"metadata":{{{namespace}"name":"{name}","resourceVersion":"{version}"}}}}"#)
    };
    let items = objects.iter().map(item).collect::<Vec<_>>().join(",");
    let meta = format!(r#"{{"resourceVersion":"{version}","continue":"{token}"}}"#);
    Ok(ApiResponse::new(200, format!(r#"{{"metadata":{meta},"items":[{items}]}}"#)))
}

fn expired() -> Result<ApiResponse, TransportError> {
    Ok(ApiResponse::new(410, *br#"{"kind":"Status","reason":"Expired","code":410}"#))
}

fn audit() -> Audit {
    Audit::new(Resource::new("/api/v1/pods"), AuditConfig::default())
}

/// Requests the next page, which is answered.
fn answer(audit: &mut Audit, store: &Stored, answer: Result<ApiResponse, TransportError>) -> String {
    let request = audit.poll_request().expect("a page is requested").to_string();
    assert!(audit.poll_request().is_none(), "one request is open");
    audit.handle_answer(at(0), store, answer);
    request
}

fn report(audit: &mut Audit) -> AuditReport {
    let report = audit.poll_result().expect("it is over").expect("it was read");
    assert!(audit.poll_result().is_none() && audit.poll_request().is_none() && audit.poll_timeout().is_none());
    report
}

/// Each difference as its key and kind.
fn found(report: &AuditReport) -> Vec<(&str, &'static str)> {
    report.differences.iter().map(|it| (it.key.as_str(), it.kind().name())).collect()
}

#[test]
fn the_list_is_of_metadata_with_the_selectors_and_without_a_table() {
    let resource = Resource::new("/api/v1/pods").with_label_selector("a=b").with_field_selector("c=d").as_table();
    let request = Audit::new(resource, AuditConfig::default()).poll_request().unwrap();
    assert_eq!(request.to_string(), "/api/v1/pods?labelSelector=a%3Db&fieldSelector=c%3Dd&limit=500");
    assert!(request.accept.starts_with("application/json;as=PartialObjectMetadataList;"));
    assert!(request.accept.contains("drop=metadata.managedFields"), "{}", request.accept);
    let whole = AuditConfig { page_size: 0, ..AuditConfig::default() };
    assert_eq!(Audit::new(Resource::new("/p"), whole).poll_request().unwrap().to_string(), "/p");
}

/// The watch cache of a server may be what has lost an event.
#[test]
fn an_exact_audit_compares_with_lists_of_one_version_each() {
    let config = AuditConfig { exact: true, page_size: 1, ..AuditConfig::default() };
    let mut audit = Audit::new(Resource::new("/api/v1/pods").with_label_selector("a=b"), config);
    let store = Stored::at("9", &[("a", "3")]);
    let pages = [
        ("limit=1", list("9", "more", &[("a", "3")])),
        ("resourceVersion=9&resourceVersionMatch=Exact&limit=1", list("9", "t", &[("a", "3")])),
        ("continue=t&limit=1", list("9", "", &[("b", "4")])),
        ("limit=1", list("10", "more", &[("a", "3")])),
        ("resourceVersion=10&resourceVersionMatch=Exact&limit=1", list("10", "", &[("a", "3"), ("b", "4")])),
    ];
    for (asked, page) in pages {
        assert_eq!(answer(&mut audit, &store, page), format!("/api/v1/pods?labelSelector=a%3Db&{asked}"));
    }
    assert_eq!(found(&report(&mut audit)), [("b", "missing")]);
}

#[test]
fn a_store_that_has_what_the_list_has_is_clean_although_it_does_not_know_the_lists_version() {
    let (mut audit, store) = (audit(), Stored::at("5", &[("web/a", "3"), ("b", "5")]));
    assert_eq!(answer(&mut audit, &store, list("90", "", &[("web/a", "3"), ("b", "5")])), "/api/v1/pods?limit=500");
    let report = report(&mut audit);
    assert_eq!((report.verdict(), report.objects, report.is_behind), (Verdict::Clean, 2, false));
    assert_eq!(report.to_string(), "no drift at version 90: 2 objects");
}

/// A store that gets another object after each walk.
struct GoesOn {
    store: Stored,
    walks: Cell<u64>,
}

impl Replica for GoesOn {
    fn applied(&self) -> Option<Version> {
        self.store.applied()
    }

    fn find(&self, key: &Key) -> Option<(Key, Version)> {
        self.store.find(key)
    }

    fn for_each(&self, f: &mut dyn FnMut(&Key, &str)) {
        self.store.for_each(f);
        (0..self.walks.replace(self.walks.get() + 1)).for_each(|_| f(&Key::from("web/short"), "8"));
    }

    fn undecodable(&self, key: &Key) -> Option<Version> {
        self.store.undecodable(key)
    }
}

#[test]
fn an_object_whose_deletion_is_still_to_come_is_no_difference() {
    let store = GoesOn { store: Stored::at("7", &[("web/a", "5")]), walks: Cell::new(0) };
    let mut audit = audit();
    let _request = audit.poll_request().unwrap();
    audit.handle_answer(at(0), &store, list("10", "", &[("web/a", "5")]));
    assert_eq!(report(&mut audit).verdict(), Verdict::Clean);
}

#[test]
fn an_audit_with_an_interval_of_zero_lets_the_store_go_on() {
    let config = AuditConfig { interval: Duration::ZERO, ..AuditConfig::default() };
    let mut audit = Audit::new(Resource::new("/api/v1/pods"), config);
    let store = Stored::at("7", &[]);
    answer(&mut audit, &store, list("10", "", &[("web/a", "9")]));
    for _ in 0..3 {
        let next = audit.poll_timeout().unwrap();
        audit.handle_timeout(next, &store);
        assert!(audit.poll_timeout() > Some(next), "a later look");
    }
}

#[test]
fn each_kind_of_difference_is_reported_by_its_key() {
    let store = Stored::at("10", &[("same", "3"), ("stale", "2"), ("extra", "10"), ("ahead", "9")]);
    let listed = [("same", "3"), ("stale", "4"), ("missing", "5"), ("ahead", "8")];
    let mut audit = audit();
    answer(&mut audit, &store, list("10", "", &listed));
    assert!(audit.is_confirming());
    answer(&mut audit, &store, list("12", "", &listed));
    let report = report(&mut audit);
    assert_eq!(found(&report), [("ahead", "stale"), ("extra", "extra"), ("missing", "missing"), ("stale", "stale")]);
    assert_eq!((report.missing, report.extra, report.stale, report.objects), (1, 1, 2, 4));
    assert_eq!((report.verdict(), report.total(), &*report.version), (Verdict::Drifted, 4, "10"));
    assert_eq!(
        report.to_string(),
        "drift at version 10: 1 missing, 1 extra, 2 stale of 4 objects: ahead stale (server 8, store 9), extra extra \
         (store 10), missing missing (server 5), stale stale (server 4, store 2)"
    );
}

#[test]
fn each_verdict_is_a_word() {
    assert_eq!([Verdict::Clean, Verdict::Drifted, Verdict::Behind].map(Verdict::name), ["clean", "drifted", "behind"]);
}

#[test]
fn what_changed_after_the_list_is_no_difference() {
    let store = Stored::at("11", &[("changed", "11"), ("created", "11")]);
    let mut audit = audit();
    answer(&mut audit, &store, list("10", "", &[("changed", "4")]));
    assert_eq!(report(&mut audit).verdict(), Verdict::Clean);
}

#[test]
fn what_was_deleted_after_the_list_is_not_missing() {
    for later in [&[][..], &[("gone", "12")]] {
        let (mut audit, store) = (audit(), Stored::at("11", &[]));
        answer(&mut audit, &store, list("10", "", &[("gone", "4")]));
        answer(&mut audit, &store, list("12", "", later));
        assert_eq!(report(&mut audit).verdict(), Verdict::Clean, "{later:?}");
    }
}

#[test]
fn what_is_missing_and_came_during_the_second_list_is_no_difference() {
    let mut audit = audit();
    answer(&mut audit, &Stored::at("10", &[]), list("10", "", &[("a", "4")]));
    answer(&mut audit, &Stored::at("10", &[("a", "4")]), list("12", "", &[("a", "4")]));
    assert_eq!(report(&mut audit).verdict(), Verdict::Clean);
}

#[test]
fn suspicions_wait_until_the_store_has_reached_the_list() {
    let mut audit = audit();
    answer(&mut audit, &Stored::at("9", &[("a", "4"), ("b", "5")]), list("10", "", &[("a", "10"), ("c", "10")]));
    assert_eq!((audit.poll_timeout(), audit.poll_request().is_none()), (Some(at(1)), true));
    audit.handle_timeout(at(0), &Stored::at("10", &[]));
    assert!(audit.poll_result().is_none(), "it is not time");
    audit.handle_timeout(at(1), &Stored::at("9", &[("a", "10"), ("b", "5")]));
    assert_eq!((audit.poll_timeout(), audit.poll_result().is_none()), (Some(at(2)), true));
    audit.handle_timeout(at(2), &Stored::at("10", &[("a", "10"), ("b", "5"), ("c", "10")]));
    assert_eq!(found(&report(&mut audit)), [("b", "extra")]);
}

#[test]
fn a_store_that_does_not_reach_the_list_is_behind_at_the_deadline() {
    for (store, line) in [
        (Stored::at("9", &[("a", "4")]), "behind: the store is at version 9, the server at 10:"),
        (
            Stored { applied: None, ..Stored::at("", &[("a", "4")]) },
            "behind: the store has no first list, the server is at 10:",
        ),
    ] {
        let mut audit = audit();
        answer(&mut audit, &store, list("10", "", &[("a", "10"), ("c", "7")]));
        let mut looks = 0;
        while let Some(next) = audit.poll_timeout() {
            assert!(next <= at(180));
            audit.handle_timeout(next, &store);
            looks += 1;
        }
        assert_eq!(looks, 180);
        let report = report(&mut audit);
        assert_eq!((report.verdict(), found(&report)), (Verdict::Behind, vec![("a", "stale"), ("c", "missing")]));
        assert!(report.to_string().starts_with(line), "{report}");
    }
}

#[test]
fn a_store_that_got_everything_without_the_version_is_not_behind() {
    let mut audit = audit();
    answer(&mut audit, &Stored::at("9", &[]), list("12", "", &[("a", "10")]));
    audit.handle_timeout(at(180), &Stored::at("10", &[("a", "10")]));
    assert_eq!(report(&mut audit).verdict(), Verdict::Clean);
}

#[test]
fn an_object_that_could_not_be_decoded_is_counted_and_is_no_drift() {
    let mut store = Stored::at("10", &[("old", "2")]);
    store.undecodable = [("bad", "4"), ("old", "5"), ("lost", "4")].map(|(key, v)| (key.into(), v.into())).into();
    let listed = [("bad", "4"), ("old", "5"), ("lost", "6")];
    let mut audit = audit();
    answer(&mut audit, &store, list("10", "", &listed));
    answer(&mut audit, &store, list("10", "", &listed));
    let report = report(&mut audit);
    assert_eq!((report.undecodable, found(&report)), (2, vec![("lost", "missing")]), "lost has another state now");
    assert!(report.to_string().contains("; 2 could not be decoded: lost"), "{report}");
}

#[test]
fn an_object_that_is_undecodable_since_the_listed_version_is_no_drift() {
    let undecodable_of = |listed, last: &str, applied| {
        let mut store = Stored::at(applied, &[("a", "2")]);
        store.undecodable = [("a".into(), last.into())].into();
        let mut audit = audit();
        answer(&mut audit, &store, list("300", "", &[("a", listed)]));
        report(&mut audit).undecodable
    };
    let all = [("99", "317", "317"), ("296", "317", "400"), ("317", "317", "300"), ("318", "317", "400")];
    assert_eq!(all.map(|(listed, last, applied)| undecodable_of(listed, last, applied)), [1, 1, 1, 0]);
    assert_eq!(undecodable_of("296", "317", "300"), 0, "317 is of a server that went back");
}

#[test]
fn an_item_without_a_name_counts_as_one_that_could_not_be_decoded() {
    let (mut audit, store) = (audit(), Stored::at("10", &[("unnamed", "3")]));
    answer(&mut audit, &store, Ok(ApiResponse::new(200, *br#"{"metadata":{"resourceVersion":"10"},"items":[{},{}]}"#)));
    let report = report(&mut audit);
    assert_eq!((report.undecodable, report.objects, report.verdict()), (2, 2, Verdict::Clean));
}

#[test]
fn a_list_in_pages_is_one_list() {
    let (mut audit, store) = (audit(), Stored::at("10", &[("a", "1"), ("b", "2"), ("c", "3")]));
    answer(&mut audit, &store, list("10", "t/1", &[("a", "1")]));
    assert_eq!(answer(&mut audit, &store, list("10", "t2", &[("b", "2")])), "/api/v1/pods?continue=t%2F1&limit=500");
    answer(&mut audit, &store, list("10", "", &[]));
    let report = report(&mut audit);
    assert_eq!((report.objects, found(&report)), (2, vec![("c", "extra")]));
}

#[test]
fn a_list_that_expires_or_changes_its_version_begins_again_three_times() {
    let store = Stored::at("10", &[("a", "1")]);
    for expires in [expired(), list("11", "x", &[])] {
        let mut audit = audit();
        for _ in 0..3 {
            assert_eq!(answer(&mut audit, &store, list("10", "t", &[("old", "1")])), "/api/v1/pods?limit=500");
            answer(&mut audit, &store, expires.clone());
        }
        let mut last = audit;
        answer(&mut last, &store, list("10", "t", &[("a", "1")]));
        answer(&mut last, &store, expires);
        assert_eq!(last.poll_result(), Some(Err(AuditError::Expired)));
    }
    let mut audit = audit();
    answer(&mut audit, &store, list("10", "t", &[("old", "1")]));
    answer(&mut audit, &store, expired());
    answer(&mut audit, &store, list("10", "", &[("a", "1")]));
    assert_eq!(report(&mut audit).verdict(), Verdict::Clean, "the first attempt is forgotten");
}

#[test]
fn a_second_list_that_expires_begins_again() {
    let (mut audit, store) = (audit(), Stored::at("10", &[]));
    answer(&mut audit, &store, list("10", "", &[("a", "1"), ("b", "1")]));
    answer(&mut audit, &store, list("12", "t", &[("a", "1")]));
    answer(&mut audit, &store, expired());
    answer(&mut audit, &store, list("13", "t", &[]));
    answer(&mut audit, &store, list("13", "", &[("b", "1")]));
    let report = report(&mut audit);
    assert_eq!((found(&report), &*report.version), (vec![("b", "missing")], "10"));
}

#[test]
fn a_second_list_older_than_the_store_is_asked_for_again() {
    let (mut audit, store) = (audit(), Stored::at("14", &[]));
    answer(&mut audit, &store, list("10", "", &[("gone", "4")]));
    answer(&mut audit, &store, list("12", "", &[("gone", "4")]));
    assert!(audit.is_confirming(), "it is asked again");
    answer(&mut audit, &store, list("14", "", &[]));
    assert_eq!(report(&mut audit).verdict(), Verdict::Clean);
    let mut old = self::audit();
    answer(&mut old, &store, list("10", "", &[("gone", "4")]));
    for _ in 0..4 {
        assert!(old.poll_result().is_none());
        answer(&mut old, &store, list("13", "", &[("gone", "4")]));
    }
    assert_eq!(old.poll_result(), Some(Err(AuditError::BackInTime)));
}

#[test]
fn a_list_without_an_end_is_given_up() {
    let store = Stored::at("10", &[]);
    let mut same = audit();
    answer(&mut same, &store, list("10", "t", &[]));
    answer(&mut same, &store, list("10", "t", &[]));
    assert_eq!(same.poll_result(), Some(Err(AuditError::Endless)));
    let mut many = Audit::new(Resource::new("/p"), AuditConfig { max_pages: 3, ..AuditConfig::default() });
    for page in ["1", "2", "3"] {
        assert!(many.poll_result().is_none());
        answer(&mut many, &store, list("10", page, &[]));
    }
    assert_eq!(many.poll_result(), Some(Err(AuditError::Endless)));
}

#[test]
fn versions_without_an_order_are_an_error() {
    let mut lists = audit();
    answer(&mut lists, &Stored::at("10", &[]), list("abc", "", &[]));
    assert_eq!(lists.poll_result(), Some(Err(AuditError::Unordered)));
    for objects in [[("a", "x")], [("b", "x")]] {
        let mut stored = audit();
        answer(&mut stored, &Stored::at("10", &objects), list("10", "", &[("a", "5")]));
        assert_eq!(stored.poll_result(), Some(Err(AuditError::Unordered)), "{objects:?}");
    }
}

#[test]
fn a_request_that_fails_is_the_error() {
    let mut refused = audit();
    answer(&mut refused, &Stored::default(), Ok(ApiResponse::new(403, *b"no")));
    assert!(matches!(refused.poll_result(), Some(Err(AuditError::Failed(error))) if error.is_forbidden()));
    let mut reset = audit();
    answer(&mut reset, &Stored::default(), Err(TransportError::new(TransportErrorKind::Reset, "gone")));
    assert_eq!(reset.poll_result().unwrap().unwrap_err().to_string(), "connection broken: gone");
}

#[test]
fn an_answer_without_a_request_is_dropped() {
    let mut audit = audit();
    audit.handle_answer(at(0), &Stored::default(), list("10", "", &[]));
    assert!(audit.poll_result().is_none() && audit.poll_request().is_some());
}

#[test]
fn a_thousand_differences_are_named_and_all_are_counted() {
    let objects: Vec<_> = (0..1_500).map(|at| format!("{at:04}")).collect();
    let objects: Vec<_> = objects.iter().map(|key| (&**key, "1")).collect();
    let mut audit = audit();
    answer(&mut audit, &Stored::at("10", &objects), list("10", "", &[]));
    let report = report(&mut audit);
    assert_eq!((report.extra, report.differences.len()), (1_500, 1_000));
    assert_eq!(report.differences.last().unwrap().key.as_str(), "0999");
    assert!(report.to_string().ends_with("0004 extra (store 1), …"), "{report}");
}
