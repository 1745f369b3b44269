//! A second member of a quorum is restarted before the first one is back.

use super::{Model, Step, ensure, living, object, serving};
use core::time::Duration;
use listwatch::api::{ApiError, DeleteOptions};
use listwatch::controller::{Context, Controller, Error, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{InformerHandle, Key, World};
use serde_json::{Value, json};

const SEARCHES: &str = "example.com/v1/searches";
const MEMBERS: &str = "example.com/v1/members";
const ALL: usize = 3;

pub(super) const MODEL: Model = Model {
    name: "second disruption",
    source: "opensearch-project/opensearch-k8s-operator 1471: the guard of the quorum counts ready members in a stale \
             cache after it has deleted one, and lets the next one be deleted",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step {
            what: "the user upgrades to version 2",
            take: |cluster| cluster.patch(SEARCHES, "web/search", json!({ "spec": { "version": 2 } })).map(drop),
        },
        Step { what: "the node starts the first member again", take: start_missing },
        Step { what: "the node starts the second member again", take: start_missing },
        Step { what: "the node starts the third member again", take: start_missing },
    ],
    always: |cluster| {
        let members = living(cluster, MEMBERS).len();
        ensure(members + 1 >= ALL, || format!("the quorum is lost: {members} of {ALL} members are left"))
    },
    in_the_end: |cluster| {
        let members = living(cluster, MEMBERS);
        let is_new = |member: &Value| member["spec"]["version"] == 2;
        ensure(members.len() == ALL && members.iter().all(is_new), || format!("members are {members:?}"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("search", world);
    let searches = controller.informer_of::<Value>(SEARCHES);
    let members = controller.informer_of::<Value>(MEMBERS);
    let reconciler = controller.reconciles(&searches).maps(&members, |_, keys| keys.add("web/search"));
    reconciler.run(async |cx, key| {
        let Some(search) = searches.get(&key) else { return Ok(Outcome::Done) };
        // The guard counts in the cache, and the server names the candidate.
        let ready = members.list_in("web").iter().filter(|member| !member.is_terminating()).count();
        let present = listed(&cx, &members, &key).await?;
        let Some(next) = candidate(&present, &search).filter(|_| ready == ALL) else { return Ok(Outcome::Done) };
        disrupt(&cx, &members, next).await?;
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("search", world);
    let searches = controller.informer_of::<Value>(SEARCHES);
    let members = controller.informer_of::<Value>(MEMBERS);
    let reconciler = controller.reconciles(&searches).maps(&members, |_, keys| keys.add("web/search"));
    reconciler.run(async |cx, key| {
        // One list of the server has the guard's members and the candidate, which is the same one for each replica.
        let Some(search) = cx.live().get(&searches, &key).await? else { return Ok(Outcome::Done) };
        let present = listed(&cx, &members, &key).await?;
        let ready = present.iter().filter(|member| member["metadata"]["deletionTimestamp"].is_null()).count();
        let Some(next) = candidate(&present, &search) else { return Ok(Outcome::Done) };
        if ready == ALL {
            disrupt(&cx, &members, next).await?;
        }
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    })
}

async fn listed(cx: &Context, members: &InformerHandle<Value>, key: &Key) -> Result<Vec<Value>, Error> {
    Ok(cx.call(members.api_for::<Value>(key).list()).await?.items)
}

/// The first member of another version.
fn candidate<'m>(members: &'m [Value], search: &Value) -> Option<&'m Value> {
    members.iter().find(|member| member["spec"]["version"] != search["spec"]["version"])
}

async fn disrupt(cx: &Context, members: &InformerHandle<Value>, member: &Value) -> Result<(), Error> {
    let [name, uid] = ["name", "uid"].map(|field| member["metadata"][field].as_str().unwrap_or_default());
    let api = members.api_for::<Value>(Key::new(Some("web"), name));
    match cx.call(api.delete(name, &DeleteOptions::default().with_uid(uid))).await {
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        deleted => Ok(deleted?),
    }
}

pub(crate) fn cluster() -> SimulatedCluster {
    let cluster = serving(&[("Search", "searches"), ("Member", "members")]);
    cluster.create(object("Search", "search", &json!({ "version": 1 }))).unwrap();
    start_missing(&cluster).unwrap();
    cluster
}

/// What the StatefulSet and the nodes do: a member that is gone comes back with the version that is wanted. They wait until
/// one is gone.
fn start_missing(cluster: &SimulatedCluster) -> Result<(), ApiError> {
    let spec = cluster.get(SEARCHES, "web/search")?["spec"].clone();
    let names = (0..ALL).map(|number| format!("search-{number}"));
    let missing: Vec<_> = names.filter(|name| cluster.get(MEMBERS, &format!("web/{name}")).is_err()).collect();
    if missing.is_empty() {
        return Err(ApiError::Unreadable("each member is there".to_owned()));
    }
    missing.iter().try_for_each(|name| cluster.create(object("Member", name, &spec)).map(drop))
}
