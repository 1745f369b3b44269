//! Writes at the end of a term: none leaves after it, and none after the release.

use crate::election::{LEASES, Stage, election};
use core::task::Poll;
use core::time::Duration;
use listwatch::api::{Api, ApiCall, ApiError, ApiRequest, ApiTransport, Reply};
use listwatch::election::{Election, Leadership, StopReason, WhenLost};
use listwatch::request::RequestId;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::time::Instant;
use listwatch::transport::ReadContext;
use listwatch::{Client, Executor, Resource, run};
use serde_json::{Value, json};
use smol::future::poll_once;
use std::collections::BTreeMap;

const NOT_SENT: &str = "not sent: a does not hold the lease web/it";
const GIVEN_UP: &str = "given up: a holds the lease web/it no longer; it may have been made";
const MAPS: &str = "/api/v1/namespaces/web/configmaps";

/// A transport whose connections take a while.
pub(crate) struct Slow<X> {
    connects: Duration,
    connecting: BTreeMap<RequestId, (Option<Instant>, ApiRequest)>,
    transport: X,
}

impl<X: ApiTransport> Slow<X> {
    pub(crate) fn new(transport: X, connects: Duration) -> Self {
        Self { connects, connecting: BTreeMap::new(), transport }
    }
}

impl<X: ApiTransport> ApiTransport for Slow<X> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        self.connecting.insert(id, (None, request.clone()));
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        if let Some((due, _)) = self.connecting.get_mut(&id) {
            let due = *due.get_or_insert(turn.now + self.connects);
            if turn.now < due {
                return Poll::Ready(Reply::Idle { until: Some(due) });
            }
            let (_, request) = self.connecting.remove(&id).unwrap();
            self.transport.open(id, &request);
        }
        self.transport.poll_response(id, turn)
    }

    fn abort(&mut self, id: RequestId) {
        if self.connecting.remove(&id).is_none() {
            self.transport.abort(id);
        }
    }
}

/// The creation of a map.
pub(crate) fn creation(name: &str) -> ApiCall<Value> {
    let maps = Api::<Value>::new(&Resource::named("v1/configmaps").unwrap().in_namespace("web"));
    maps.create(&json!({ "metadata": { "name": name } }))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A client of a leader whose connections take so long.
fn guarded(stage: &Stage, leadership: &Leadership, connects: Duration) -> Client {
    leadership.guarded(&Client::new(Slow::new(stage.cluster.client(), connects), stage.clock().clone()))
}

/// Starts a candidate, and waits until it leads.
async fn lead(stage: &Stage, executor: &Executor<'_>, election: Election) -> Leadership {
    let candidate = election.candidate(&stage.world).unwrap();
    let leadership = candidate.leadership();
    executor.spawn(candidate.drive()).detach();
    leadership.begun().await.unwrap();
    leadership
}

fn play<R>(stage: &Stage, scenario: impl AsyncFnOnce(&Executor<'_>) -> R) -> R {
    let executor = Executor::new();
    run(stage.clock(), &executor, scenario(&executor))
}

fn refusal(written: Result<Value, ApiError>) -> String {
    let Err(ApiError::Transport(refused)) = written else { panic!("{written:?}") };
    refused.detail.to_string()
}

/// How many maps there are, and the lines of the writes that the cluster got: of maps, and of the lease.
pub(crate) fn writes(cluster: &SimulatedCluster) -> Vec<String> {
    let lines = cluster.requests().into_iter().map(|request| request.to_string());
    lines.filter(|line| line.starts_with("POST /api") || line.starts_with("PUT /apis/coordination")).collect()
}

#[test]
fn a_leader_whose_machine_has_slept_sends_no_late_write() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let client = guarded(&stage, &leadership, Duration::ZERO);
        stage.clock().jump(seconds(3600));
        // Nothing has told the candidate so far.
        assert_eq!((leadership.token(), refusal(client.call(creation("late")).await)), (None, NOT_SENT.to_owned()));
        assert_eq!(leadership.lost().await, StopReason::Expired);
    });
    assert!(stage.cluster.list("v1/configmaps").unwrap().is_empty());
}

#[test]
fn a_write_that_awaits_its_connection_is_not_sent_after_the_term() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let client = guarded(&stage, &leadership, seconds(1));
        let mut write = Box::pin(client.call(creation("late")));
        assert!(poll_once(&mut write).await.is_none());
        stage.clock().jump(seconds(3600));
        assert_eq!(refusal(write.await), NOT_SENT, "the transport asked again");
    });
    assert!(stage.cluster.list("v1/configmaps").unwrap().is_empty());
}

#[test]
fn a_write_of_one_term_is_given_up_before_the_next_one() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let client = guarded(&stage, &leadership, seconds(60));
        let write = executor.spawn(async move { client.call(creation("late")).await });
        stage.pass(5).await;
        stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "" } })).unwrap();
        assert_eq!(leadership.lost().await, StopReason::Taken { by: None });
        leadership.stopped();
        assert_eq!(leadership.begun().await.unwrap().transitions(), 1);
        assert_eq!(refusal(write.await), GIVEN_UP);
        stage.pass(120).await;
    });
    assert!(stage.cluster.list("v1/configmaps").unwrap().is_empty());
}

#[test]
fn a_write_without_an_answer_is_given_up_with_its_term() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let (begun, client) = (stage.clock().now(), guarded(&stage, &leadership, Duration::ZERO));
        stage.fail(20, "PUT", Fault::Silent);
        stage.cluster.fail_next(&format!("POST {MAPS}"), Fault::Silent).unwrap();
        assert_eq!(refusal(client.call(creation("silent")).await), GIVEN_UP);
        let took = stage.clock().now().saturating_since(begun);
        assert_eq!(took + Duration::from_millis(2), seconds(10), "the term, whose first write took two milliseconds");
    });
}

#[test]
fn a_lease_is_released_after_the_writes_of_spawned_tasks() {
    let stage = Stage::new();
    let write = play(&stage, async |executor| {
        let candidate = election("a").candidate(&stage.world).unwrap();
        let ended = candidate.run(async |leadership| {
            let client = guarded(&stage, &leadership, seconds(3));
            let write = executor.spawn(async move { client.call(creation("by-task")).await });
            stage.pass(1).await;
            [write]
        });
        let [write] = ended.await.unwrap().unwrap();
        write.await
    });
    assert!(write.is_ok(), "{write:?}");
    let lines = writes(&stage.cluster);
    let [.., renewal, made, released] = &lines[..] else { panic!("{lines:#?}") };
    assert!(renewal.starts_with("PUT") && released.starts_with("PUT"), "it was renewed meanwhile: {lines:#?}");
    assert!(made.starts_with(&format!("POST {MAPS}")), "{lines:#?}");
    assert_eq!(stage.holder(), "");
}

#[test]
fn a_write_that_hangs_is_given_up_and_told_before_the_release() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let client = guarded(&stage, &leadership, Duration::ZERO);
        stage.cluster.fail_next(&format!("POST {MAPS}"), Fault::Silent).unwrap();
        let late = client.clone();
        let write = executor.spawn(async move { client.call(creation("silent")).await });
        stage.pass(1).await;
        let stopped = stage.clock().now();
        leadership.stop();
        leadership.stopped();
        assert_eq!(refusal(late.call(creation("late")).await), NOT_SENT, "no work goes on");
        stage.pass(4).await;
        assert_eq!(stage.holder(), "a", "the write may be made");
        assert!(leadership.ended().await);
        let took = stage.clock().now().saturating_since(stopped);
        assert!(took >= seconds(5) && took < seconds(6), "the time of one request: {took:?}");
        assert_eq!(refusal(write.await), GIVEN_UP);
    });
    let lines = stage.lines();
    let line =
        format!("lease web/it: writes have no answer, and are given up; the server may have made them: POST {MAPS}");
    let position = |line: &str| lines.iter().position(|other| other == line);
    let (told, ended) = (position(&line), position("lease web/it: the candidacy has ended, and the lease is free"));
    assert!(told.is_some() && told < ended, "{lines:#?}");
}

#[test]
fn a_write_that_nobody_polls_is_given_up_before_the_release() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let client = guarded(&stage, &leadership, seconds(2));
        let mut write = Box::pin(client.call(creation("late")));
        assert!(poll_once(&mut write).await.is_none());
        leadership.stop();
        leadership.stopped();
        assert!(leadership.ended().await);
        stage.pass(60).await;
        assert_eq!(refusal(write.await), GIVEN_UP);
    });
    assert!(stage.cluster.list("v1/configmaps").unwrap().is_empty());
}

#[test]
fn a_term_that_is_lost_while_the_last_writes_go_on_gives_them_up() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let leadership = lead(&stage, executor, election("a")).await;
        let client = guarded(&stage, &leadership, Duration::ZERO);
        stage.cluster.fail_next(&format!("POST {MAPS}"), Fault::Silent).unwrap();
        let write = executor.spawn(async move { client.call(creation("silent")).await });
        stage.pass(1).await;
        leadership.stop();
        leadership.stopped();
        stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "other" } })).unwrap();
        assert!(!leadership.ended().await);
        assert_eq!(refusal(write.await), GIVEN_UP);
    });
    assert_eq!(stage.holder(), "other");
}

#[test]
fn a_candidate_whose_work_has_ended_does_not_rejoin_after_a_loss() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let candidate = election("a").when_lost(WhenLost::Rejoin).candidate(&stage.world).unwrap();
        stage.cluster.fail_next(&format!("POST {MAPS}"), Fault::Silent).unwrap();
        let ended = candidate.run(async |leadership| {
            let client = guarded(&stage, &leadership, Duration::ZERO);
            executor.spawn(async move { client.call(creation("silent")).await }).detach();
            stage.pass(1).await;
            stage.cluster.patch(LEASES, "web/it", json!({ "spec": { "holderIdentity": "other" } })).unwrap();
        });
        let ended = smol::future::or(async { Some(ended.await) }, async {
            stage.pass(600).await;
            None
        });
        assert_eq!(ended.await, Some(Ok(Some(()))), "it has no other work");
    });
    assert_eq!(stage.holder(), "other");
}

#[test]
fn a_client_of_two_leaderships_is_guarded_by_both() {
    let stage = Stage::new();
    play(&stage, async |executor| {
        let outer = lead(&stage, executor, election("a")).await;
        let shard = Election::new("shard").namespace("web").identity("a").watched(false);
        let inner = lead(&stage, executor, shard).await;
        let client = inner.guarded(&guarded(&stage, &outer, Duration::ZERO));
        assert!(client.call(creation("first")).await.is_ok());
        outer.stop();
        outer.stopped();
        assert!(outer.ended().await);
        assert_eq!(refusal(client.call(creation("second")).await), NOT_SENT);
        assert!(inner.token().is_some());
    });
}
