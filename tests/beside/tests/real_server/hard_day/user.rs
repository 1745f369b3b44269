//! What the users of the cluster do: they create, scale and delete Foos. Another client changes Deployments.

use super::{DEPLOYMENTS, FOOS, MAPS, NAMESPACE};
use crate::real_server::plane::Plane;
use crate::real_server::sample_controller::stage::foo;
use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiCall, ApiClient, ApiError, DeleteOptions, Patch};
use listwatch_core::object::Uid;
use listwatch_tests::sim::Dice;
use listwatch_transport_http::HttpClient;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many Foos there are at most.
const MOST_FOOS: u64 = 80;
/// How many ConfigMaps there are at most.
const MOST_MAPS: u64 = 300;
/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A client that makes changes, and asks again for none of them.
pub(super) struct User<'c> {
    foos: Api<Value>,
    deployments: Api<Value>,
    maps: Api<Value>,
    client: &'c HttpClient,
    /// How many changes were made.
    pub(super) made: u64,
}

pub(super) fn resource(name: &str) -> Resource {
    Resource::named(name).unwrap().in_namespace(NAMESPACE)
}

impl<'c> User<'c> {
    pub(super) fn new(client: &'c HttpClient) -> Self {
        let [foos, deployments, maps] = [FOOS, DEPLOYMENTS, MAPS].map(|name| Api::new(&resource(name)));
        Self { foos, deployments, maps, client, made: 0 }
    }

    /// Creates what there is at first.
    pub(super) fn fill(&mut self) {
        (0..MOST_FOOS).for_each(|number| self.create_foo(number, 1 + number % 10));
        (0..MOST_MAPS).for_each(|number| self.create_map(number, 0));
    }

    /// Makes some change, or not: there may be no server, or no such object.
    pub(super) fn act(&mut self, dice: &mut Dice) {
        let (number, replicas) = (dice.below(MOST_FOOS), 1 + dice.below(10));
        let name = name(number);
        match dice.below(20) {
            0..4 => self.create_foo(number, replicas),
            4..8 => self.send(self.foos.patch(&name, &Patch::Merge(&scaled(replicas)))),
            8..10 => self.send(self.foos.delete(&name, &DeleteOptions::default())),
            10..12 => self.send(self.deployments.patch(&name, &Patch::Merge(&scaled(100 + replicas)))),
            12..14 => {
                let of_pods =
                    ["replicas", "readyReplicas", "availableReplicas"].map(|field| (field.to_owned(), replicas.into()));
                let status = json!({ "status": Value::Object(of_pods.into_iter().collect()) });
                self.send(self.deployments.status().patch(&name, &Patch::Merge(&status)));
            }
            _ => self.change_map(dice),
        }
    }

    fn create_foo(&mut self, number: u64, replicas: u64) {
        let name = name(number);
        self.send(self.foos.create(&foo(&name, &name, replicas.try_into().unwrap())));
    }

    fn create_map(&mut self, number: u64, value: u64) {
        let map = json!({ "metadata": { "name": format!("map-{number:03}") }, "data": { "value": value.to_string() } });
        self.send(self.maps.create(&map));
    }

    fn change_map(&mut self, dice: &mut Dice) {
        let (number, value) = (dice.below(MOST_MAPS), dice.throw());
        let name = format!("map-{number:03}");
        match dice.below(4) {
            0 => self.create_map(number, value),
            1 => self.send(self.maps.delete(&name, &DeleteOptions::default())),
            _ => self.send(self.maps.patch(&name, &Patch::Merge(&json!({ "data": { "value": value.to_string() } })))),
        }
    }

    fn send<T>(&mut self, call: ApiCall<T>) {
        self.made += u64::from(call.with_timeout(TIMEOUT).send(self.client).is_ok());
    }
}

fn name(number: u64) -> String {
    format!("foo-{number:03}")
}

fn scaled(replicas: u64) -> Value {
    json!({ "spec": { "replicas": replicas } })
}

/// Deletes the Deployments whose Foo is gone, as the garbage collector does. The Foos are listed later, so an owner that is
/// not among them was deleted.
pub(super) fn collect(client: &impl ApiClient) -> Result<(), ApiError> {
    let [foos, deployments] = [FOOS, DEPLOYMENTS].map(|name| Api::<Value>::new(&resource(name)));
    let owned = deployments.list().send(client)?.items;
    let foos = foos.list().send(client)?.items;
    let owners: BTreeSet<_> = foos.iter().filter_map(|foo| foo["metadata"]["uid"].as_str()).collect();
    for orphan in owned.iter().filter(|it| owner_of(it).is_none_or(|owner| !owners.contains(owner))) {
        let (name, uid) = (orphan["metadata"]["name"].as_str().unwrap(), orphan["metadata"]["uid"].as_str().unwrap());
        match deployments.delete(name, &DeleteOptions::default().with_uid(Uid::from(uid))).send(client) {
            Err(error) if !error.is_not_found() && !error.is_conflict() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn owner_of(deployment: &Value) -> Option<&str> {
    deployment["metadata"]["ownerReferences"][0]["uid"].as_str()
}

/// What is wrong: a Foo without its Deployment, with other replicas, another owner, or a status that does not follow; a
/// Deployment too many.
pub(super) fn wrongs(plane: &Plane) -> Result<Vec<String>, ApiError> {
    let (foos, deployments) = (plane.objects(&resource(FOOS))?, plane.objects(&resource(DEPLOYMENTS))?);
    let by_name = |objects: Vec<Value>| -> BTreeMap<String, Value> {
        objects.into_iter().map(|it| (it["metadata"]["name"].as_str().unwrap().to_owned(), it)).collect()
    };
    let mut deployments = by_name(deployments);
    let mut wrongs = Vec::new();
    for (name, foo) in by_name(foos) {
        let Some(deployment) = deployments.remove(&name) else {
            wrongs.push(format!("{name} has no Deployment"));
            continue;
        };
        let pairs = [
            ("owner", foo["metadata"]["uid"].as_str() == owner_of(&deployment)),
            ("replicas", foo["spec"]["replicas"] == deployment["spec"]["replicas"]),
            ("status", foo["status"]["availableReplicas"] == deployment["status"]["availableReplicas"]),
        ];
        let others = pairs.into_iter().filter(|(_, is_right)| !is_right);
        wrongs.extend(others.map(|(what, _)| format!("{name}: another {what}: {foo} {deployment}")));
    }
    wrongs.extend(deployments.into_keys().map(|name| format!("the Deployment {name} has no Foo")));
    Ok(wrongs)
}
