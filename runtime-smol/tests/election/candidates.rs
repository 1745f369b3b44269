//! Candidates without a controller.

use crate::election::{LEASES, PATH, Stage, election};
use core::time::Duration;
use listwatch::api::{Api, ApiError};
use listwatch::election::{
    Election, ElectionConfigError, ElectionError, ElectionReport, Leadership, StopReason, WhenLost,
};
use listwatch::testing::Fault;
use listwatch::{Client, Executor, Resource, run};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Starts a candidate.
fn start(stage: &Stage, executor: &Executor<'_>, election: Election) -> Leadership {
    let candidate = election.candidate(&stage.world).unwrap();
    let leadership = candidate.leadership();
    executor.spawn(candidate.drive()).detach();
    leadership
}

/// Runs a scenario with so much simulated time that it ends.
fn play<R>(stage: &Stage, scenario: impl AsyncFnOnce(&Executor<'_>) -> R) -> R {
    let executor = Executor::new();
    run(stage.clock(), &executor, scenario(&executor))
}

fn spec(stage: &Stage) -> Value {
    stage.lease().unwrap()["spec"].clone()
}

#[test]
fn a_candidate_writes_the_lease_as_client_go_does() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = start(&stage, executor, election("a").label("team", "blue"));
        let token = leadership.begun().await.unwrap();
        assert_eq!(token.transitions(), 0);
        let begun = json!({
            "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
            "acquireTime": "2000-01-01T00:00:00.002000Z", "renewTime": "2000-01-01T00:00:00.002000Z",
        });
        assert_eq!(spec(&stage), begun);
        assert_eq!(stage.lease().unwrap()["metadata"]["labels"], json!({ "team": "blue" }));
        stage.pass(5).await;
        assert_eq!(spec(&stage)["renewTime"], "2000-01-01T00:00:04.002000Z");
        assert_eq!(spec(&stage)["acquireTime"], begun["acquireTime"]);
        assert_eq!(leadership.leader().as_deref(), Some("a"));
    });
}

#[test]
fn two_candidates_take_turns_and_the_second_one_hears_of_the_release_by_its_watch() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let a = start(&stage, executor, election("a"));
        a.begun().await.unwrap();
        let b = start(&stage, executor, election("b"));
        stage.pass(600).await;
        assert_eq!((b.token(), b.leader().as_deref(), stage.holder()), (None, Some("a"), "a".to_owned()));
        assert_eq!(stage.asked("GET"), 2, "each candidate reads the lease once: the watch tells the rest");

        a.stop();
        assert_eq!(a.over().await, StopReason::Asked);
        stage.pass(60).await;
        assert_eq!(stage.holder(), "a", "work goes on, and the lease is renewed");
        let before = stage.clock().now();
        a.stopped();
        assert!(a.ended().await);
        assert_eq!(b.begun().await.unwrap().transitions(), 1);
        assert!(stage.clock().now().saturating_since(before) < Duration::from_millis(100), "at once");
        assert_eq!((stage.holder(), &spec(&stage)["leaseTransitions"]), ("b".to_owned(), &json!(1)));
    });
}

#[test]
fn a_candidate_that_may_not_watch_reads_the_lease_and_takes_over() {
    let stage = Stage::new();
    stage.fail(2, "WATCH", Fault::Refused(403));
    play(&stage, async |executor| {
        let a = start(&stage, executor, election("a"));
        a.begun().await.unwrap();
        let b = start(&stage, executor, election("b"));
        stage.pass(60).await;
        assert!(stage.asked("GET") > 14, "{}", stage.asked("GET"));
        a.stop();
        a.stopped();
        b.begun().await.unwrap();
    });
    let denied = |line: &&String| line.contains("is read every few seconds, not watched");
    assert_eq!(stage.lines().iter().filter(denied).count(), 2, "{:#?}", stage.lines());
}

#[test]
fn renewals_that_hang_end_the_term_at_the_deadline_and_writes_are_refused_from_then_on() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = start(&stage, executor, election("a"));
        leadership.begun().await.unwrap();
        let begun = stage.clock().now();
        stage.fail(20, "PUT", Fault::Silent);
        let maps = Api::<Value>::new(&Resource::named("v1/configmaps").unwrap().in_namespace("web"));
        let client: Client = leadership.guarded(stage.world.client());
        let create = |name: &str| client.call(maps.create(&json!({ "metadata": { "name": name } })));

        create("within").await.unwrap();
        assert_eq!(leadership.lost().await, StopReason::Expired);
        // The answer to the last success took two milliseconds.
        assert_eq!(stage.clock().now() + Duration::from_millis(2), begun + Duration::from_secs(10));
        let Err(ApiError::Transport(refused)) = create("after").await else { panic!("it was sent") };
        assert_eq!(&*refused.detail, "not sent: a does not hold the lease web/it");
        assert!(client.call(maps.get("within")).await.is_ok(), "reads are sent");
        assert!(!leadership.is_on_time(Duration::ZERO));
        assert_eq!(stage.cluster.list("v1/configmaps").unwrap().len(), 1);
    });
}

#[test]
fn a_leader_that_was_killed_is_followed_by_another_one_after_its_lease() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let a = election("a").candidate(&stage.world).unwrap();
        let (leadership, life) = (a.leadership(), executor.spawn(a.drive()));
        leadership.begun().await.unwrap();
        let b = start(&stage, executor, election("b"));
        stage.pass(5).await;
        drop(life);
        let killed = stage.clock().now();
        assert_eq!(b.begun().await.unwrap().transitions(), 1);
        let after = stage.clock().now().saturating_since(killed);
        assert!(after >= Duration::from_secs(13) && after <= Duration::from_secs(15 + 5 + 5), "{after:?}");
        assert!(!leadership.ended().await, "whoever waits for it is told");
    });
}

#[test]
fn a_server_that_denies_the_lease_is_told_once_with_what_to_do() {
    let stage = Stage::new();
    stage.fail(100, "GET", Fault::Refused(403));
    play(&stage, async |executor| {
        let leadership = start(&stage, executor, election("a"));
        stage.pass(120).await;
        assert_eq!(leadership.token(), None);
    });
    assert!(stage.asked("GET") > 20);
    let lines = stage.lines();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    let help = "the candidate needs the verbs get, create and update of leases.coordination.k8s.io in namespace web; check \
                with `kubectl auth can-i update leases.coordination.k8s.io/it -n web`";
    assert!(
        lines[0].starts_with("lease web/it: a request failed, and is retried: ") && lines[0].ends_with(help),
        "{lines:#?}"
    );
}

#[test]
fn a_lease_that_is_deleted_by_hand_is_created_again_by_its_leader() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = start(&stage, executor, election("a"));
        let token = leadership.begun().await;
        stage.cluster.delete(LEASES, "web/it").unwrap();
        stage.pass(3).await;
        assert_eq!((stage.holder(), leadership.token()), ("a".to_owned(), token));
        stage.pass(60).await;
        assert_eq!(stage.asked("POST"), 2);
    });
}

#[test]
fn the_status_of_a_candidate_tells_its_term_and_the_leader_and_its_end() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let first = start(&stage, executor, election("a"));
        assert!(!first.status().is_leading());
        first.begun().await.unwrap();
        let second = start(&stage, executor, election("b"));
        stage.pass(60).await;
        let (leads, follows) = (first.status(), second.status());
        assert_eq!((&*leads.lease, &*leads.identity, leads.token.clone()), ("web/it", "a", first.token()));
        assert!(leads.remaining > Duration::from_secs(7) && leads.remaining <= Duration::from_secs(10), "{leads:?}");
        assert_eq!((follows.leader.as_deref(), follows.remaining), (Some("a"), Duration::ZERO));
        assert!(!follows.is_leading() && !follows.has_ended);
        second.stop();
        second.ended().await;
        assert!(second.status().has_ended);
    });
}

#[test]
fn a_report_function_that_panics_does_not_end_the_election() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let election = election("a").on_report(move |report| {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("{report}");
        });
        let leadership = start(&stage, executor, election);
        leadership.begun().await.unwrap();
        stage.pass(60).await;
        assert!(leadership.token().is_some());
        assert_eq!(count.load(Ordering::Relaxed), 2, "its own lead, and the begin of its term");
    });
}

#[test]
fn work_that_panics_is_told_and_the_lease_is_released() {
    let stage = Stage::new();
    let ended = play(&stage, async |_| {
        let candidate = election("a").candidate(&stage.world).unwrap();
        candidate.run(async |_| panic!("in work")).await
    });
    assert_eq!(ended, Err::<Option<()>, _>(ElectionError::Panicked("in work".to_owned())));
    assert_eq!(stage.holder(), "");
    let lines = stage.lines();
    assert!(lines.contains(&"lease web/it: the leader's work panicked: in work".to_owned()), "{lines:#?}");
}

#[test]
fn work_is_dropped_with_its_term_and_the_run_ends_with_the_reason() {
    let stage = Stage::new();
    let ended = play(&stage, async |_| {
        let candidate = election("a").candidate(&stage.world).unwrap();
        candidate
            .run(async |_| {
                stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "other" } })).unwrap();
                core::future::pending::<()>().await;
            })
            .await
    });
    assert_eq!(ended, Err(ElectionError::Lost(StopReason::Taken { by: Some("other".to_owned()) })));
}

#[test]
fn a_candidate_that_rejoins_works_again_in_its_next_term() {
    let stage = Stage::new();
    let terms = Mutex::new(Vec::new());
    let ended = play(&stage, async |_| {
        let candidate = election("a").when_lost(WhenLost::Rejoin).candidate(&stage.world).unwrap();
        candidate
            .run(async |leadership: Leadership| {
                terms.lock().unwrap().push(leadership.token().unwrap().transitions());
                if terms.lock().unwrap().len() == 3 {
                    return;
                }
                // It is taken, and left free.
                stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "" } })).unwrap();
                core::future::pending::<()>().await;
            })
            .await
    });
    assert_eq!(ended, Ok(Some(())));
    assert_eq!(*terms.lock().unwrap(), [0, 1, 2]);
    assert_eq!(stage.holder(), "");
}

#[test]
fn work_that_is_asked_to_stop_keeps_the_lease_until_it_has() {
    let stage = Stage::new();
    let held = Mutex::new(String::new());
    let ended = play(&stage, async |executor| {
        let candidate = election("a").candidate(&stage.world).unwrap();
        let (leadership, asking) = (candidate.leadership(), stage.clone());
        let ask = async move {
            leadership.begun().await;
            asking.pass(5).await;
            leadership.stop();
        };
        executor.spawn(ask).detach();
        candidate
            .run(async |leadership: Leadership| {
                leadership.over().await;
                stage.pass(30).await;
                *held.lock().unwrap() = stage.holder();
                "done"
            })
            .await
    });
    assert_eq!((ended, held.into_inner().unwrap(), stage.holder()), (Ok(Some("done")), "a".to_owned(), String::new()));
}

#[test]
fn a_candidate_that_is_stopped_before_it_led_ends_without_work() {
    let stage = Stage::new();
    let ended = play(&stage, async |executor| {
        start(&stage, executor, election("a")).begun().await;
        let candidate = election("b").candidate(&stage.world).unwrap();
        let (leadership, asking) = (candidate.leadership(), stage.clone());
        let ask = async move {
            asking.pass(5).await;
            leadership.stop();
        };
        executor.spawn(ask).detach();
        candidate.run(async |_| panic!("it does not lead")).await
    });
    assert_eq!(ended, Ok(None::<()>));
    assert_eq!(stage.holder(), "a");
}

#[test]
fn a_term_that_nobody_notices_does_not_end_the_candidacy() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = start(&stage, executor, election("a"));
        stage.pass(1).await;
        stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "other" } })).unwrap();
        stage.pass(1).await;
        assert_eq!(leadership.leader().as_deref(), Some("other"));
        assert_eq!(leadership.begun().await.unwrap().transitions(), 1);
    });
}

#[test]
fn a_program_that_asks_for_the_token_alone_leads_again() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = start(&stage, executor, election("a"));
        let client = leadership.guarded(stage.world.client());
        let maps = Api::<Value>::new(&Resource::named("v1/configmaps").unwrap().in_namespace("web"));
        for term in 0..3 {
            stage.pass(60).await;
            assert_eq!(leadership.token().map(|token| token.transitions()), Some(term));
            let map = json!({ "metadata": { "name": format!("in-{term}") } });
            client.call(maps.create(&map)).await.unwrap();
            stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "" } })).unwrap();
            assert_eq!(leadership.lost().await, StopReason::Taken { by: None });
        }
        leadership.stop();
        leadership.ended().await;
    });
}

#[test]
fn settings_that_do_not_fit_are_an_error_that_says_which() {
    let stage = Stage::new();
    let error = |election: Election| election.candidate(&stage.world).unwrap_err();
    let short = error(election("a").lease_duration(Duration::from_secs(10)));
    assert!(matches!(short, ElectionError::Config(ElectionConfigError::LeaseTooShort { .. })), "{short}");
    assert_eq!(error(Election::new("")), ElectionError::Config(ElectionConfigError::NoName));
    let candidate = Election::new("it").candidate(&Stage::new().world).unwrap();
    assert_eq!(candidate.leadership().lease(), "default/it");
    assert_eq!(candidate.leadership().identity(), "simulated-1");
}

#[test]
fn candidates_without_a_name_differ_under_a_simulated_clock() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let candidates = [(); 2].map(|()| start(&stage, executor, Election::new("it").namespace("web")));
        for _ in 0..20 {
            stage.pass(3).await;
            assert_eq!(candidates.iter().filter(|candidate| candidate.token().is_some()).count(), 1);
        }
        assert_ne!(candidates[0].identity(), candidates[1].identity());
    });
}

#[test]
fn reports_are_those_of_the_term() {
    let stage = Stage::new();
    let told = Arc::<Mutex<Vec<String>>>::default();
    let lines = Arc::clone(&told);
    let election =
        election("a").on_report(move |report: &ElectionReport<'_>| lines.lock().unwrap().push(report.to_string()));
    play(&stage, async |_| election.candidate(&stage.world).unwrap().run(async |_| ()).await.unwrap());
    let lines = told.lock().unwrap();
    let term = lines[1].strip_prefix("this candidate leads, in term 0-").unwrap();
    assert!(term.parse::<u64>().is_ok(), "{term}");
    let others = [&*lines[0], &lines[2], &lines[3]];
    assert_eq!(others, ["a leads", "nobody leads", "the candidacy has ended, and the lease is free"]);
    assert_eq!(stage.cluster.requests().len(), 3, "{PATH}: a read, an acquisition, a release");
}
