//! What a user explores of each program: a cluster, a scenario, and what is right.

use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::object::hashed_name;
use listwatch::testing::{ClientRequest, SimulatedCluster};
use listwatch::time::WallTime;
use listwatch::{Key, World};
use listwatch_explore::{Exploration, It, Outside};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io};

const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";
const DEPLOYMENTS: &str = "apps/v1/deployments";
const MAPS: &str = "v1/configmaps";
const FOLDERS: &str = "example.com/v1/folders";
const PODS: &str = "v1/pods";

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn create(cluster: &SimulatedCluster, api_version: &str, kind: &str, name: &str, rest: Value) {
    let mut object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "web" } });
    if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
        object.extend(rest);
    }
    cluster.create(object).unwrap();
}

fn foo(cluster: &SimulatedCluster, name: &str, deployment: &str, replicas: u32) {
    let spec = json!({ "spec": { "deploymentName": deployment, "replicas": replicas } });
    create(cluster, "samplecontroller.k8s.io/v1alpha1", "Foo", name, spec);
}

/// The sample controller: a Deployment is scaled and deleted by another client, and one is handed from Foo to Foo.
pub(crate) fn of_sample(program: impl Fn(World) -> Result<(), RunError> + Send + Sync + 'static) -> Exploration {
    let cluster = || {
        let cluster = SimulatedCluster::new();
        foo(&cluster, "a", "b", 2);
        foo(&cluster, "c", "d", 1);
        cluster
    };
    let scenario = async |it: It| -> Result<(), Box<dyn Error>> {
        it.settled().await;
        it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 3 } }))?;
        _ = it.patch(DEPLOYMENTS, "web/b", json!({ "status": { "availableReplicas": 2 } }));
        it.settled().await;
        _ = it.patch(DEPLOYMENTS, "web/b", json!({ "spec": { "replicas": 9 }, "status": { "availableReplicas": 3 } }));
        it.settled().await;
        _ = it.delete(DEPLOYMENTS, "web/d");
        it.settled().await;
        it.delete(FOOS, "web/c")?;
        it.settled().await;
        hand_over(&it)?;
        it.settled().await;
        _ = it.delete(DEPLOYMENTS, "web/g");
        it.settled().await;
        _ = it.patch(DEPLOYMENTS, "web/g", json!({ "spec": { "replicas": 9 } }));
        it.settled().await;
        Ok(())
    };
    let right = |it: &It| {
        let (foos, deployments) = (it.list(FOOS).unwrap_or_default(), it.list(DEPLOYMENTS).unwrap_or_default());
        ensure(deployments.len() == foos.len(), || format!("{} Deployments", deployments.len()))?;
        let is_kept = it.get(DEPLOYMENTS, "web/b").is_ok_and(|it| it["metadata"]["annotations"]["note"] == "keep");
        ensure(it.get(FOOS, "web/e").is_err() || is_kept, || "the Deployment that was handed over is another".into())?;
        foos.iter().try_for_each(|foo| {
            let uid = &foo["metadata"]["uid"];
            let mut owned = deployments.iter().filter(|it| it["metadata"]["ownerReferences"][0]["uid"] == *uid);
            let deployment = owned.next().ok_or("a Foo owns no Deployment")?;
            ensure(deployment["spec"]["replicas"] == foo["spec"]["replicas"], || format!("{deployment}"))?;
            ensure(available(deployment) == available(foo), || format!("{foo} and {deployment}"))
        })
    };
    let few = |it: &It| {
        let most = it.list(FOOS).unwrap_or_default().iter().map(available).max().unwrap_or_default();
        ensure(most <= 3, || format!("a Foo shows {most} available replicas, and no Deployment has had more than 3"))
    };
    // Whether a Deployment is told as available depends on whether it is there at that moment.
    let exploration = Exploration::of(program).cluster(cluster).scenario(scenario).may_vary("");
    exploration.always("as many are available as there are", few).in_the_end(right)
}

fn available(object: &Value) -> i64 {
    object["status"]["availableReplicas"].as_i64().unwrap_or(0)
}

/// Somebody gives the Deployment of a Foo to a new one, and the Foo gets another.
fn hand_over(it: &It) -> Result<(), Box<dyn Error>> {
    if it.get(DEPLOYMENTS, "web/b").is_err() {
        return Ok(()); // the program is down since its start
    }
    foo(it, "e", "b", 3);
    it.patch(FOOS, "web/a", json!({ "spec": { "deploymentName": "g" } }))?;
    let owner = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "name": "e",
        "uid": it.get(FOOS, "web/e")?["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true });
    let handed = json!({ "metadata": { "ownerReferences": [owner], "annotations": { "note": "keep" } } });
    it.patch(DEPLOYMENTS, "web/b", handed)?;
    Ok(())
}

/// A folder of the file system, which is removed with the run.
pub(crate) struct Root(pub(crate) PathBuf);

impl Default for Root {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let name = format!("explored-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// The directories of Folders: one stays, and one is deleted, which has the name of another one. Meanwhile their volume is
/// not there.
pub(crate) fn of_folders(
    program: impl Fn(World, &Path) -> Result<(), Box<dyn Error>> + Send + Sync + 'static,
) -> Exploration<Root> {
    let cluster = || {
        let cluster = SimulatedCluster::new().with_kind("example.com/v1", "Folder", "folders", true);
        create(&cluster, "example.com/v1", "Folder", "a", json!({}));
        let other = json!({ "name": "b", "namespace": "web", "finalizers": ["example.com/other"] });
        create(&cluster, "example.com/v1", "Folder", "b", json!({ "metadata": other }));
        create(&cluster, "example.com/v1", "Folder", "c", json!({ "metadata": { "name": "a", "namespace": "other" } }));
        cluster
    };
    let scenario = async |it: It<Root>| -> Result<(), Box<dyn Error>> {
        it.settled().await;
        it.delete(FOLDERS, "web/a")?;
        it.delete(FOLDERS, "web/b")?;
        let (volume, away) = (it.outside().0.join("web"), it.outside().0.join("away"));
        let has_moved = fs::rename(&volume, &away).and_then(|()| fs::write(&volume, "")).is_ok();
        it.sleep(Duration::from_secs(5)).await;
        if has_moved {
            fs::remove_file(&volume)?;
            fs::rename(&away, &volume)?;
        }
        it.settled().await;
        it.settled().await;
        Ok(())
    };
    let has = |it: &It<Root>, path: &str| it.outside().0.join(path).is_dir();
    let is_true = move |it: &It<Root>| {
        it.list(FOLDERS).unwrap_or_default().iter().try_for_each(|folder| {
            let metadata = &folder["metadata"];
            let path = format!("{}/{}", metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap());
            let is_ready = folder["status"]["conditions"][0]["status"] == "True";
            let is_whole = !is_ready || !metadata["deletionTimestamp"].is_null() || has(it, &path);
            ensure(is_whole, || format!("{path} is ready without a directory"))
        })
    };
    let is_timely = |it: &It<Root>| {
        it.list(FOLDERS).unwrap_or_default().iter().try_for_each(|folder| {
            let time = |value: &Value| value.as_str().and_then(|text| text.parse::<WallTime>().ok());
            let created = time(&folder["metadata"]["creationTimestamp"]);
            let changed = time(&folder["status"]["conditions"][0]["lastTransitionTime"]);
            let is_between = changed.is_none() || created <= changed && changed <= Some(it.date());
            ensure(is_between, || format!("a Folder of {created:?} was ready at {changed:?}"))
        })
    };
    let right = move |it: &It<Root>| {
        ensure(has(it, "other/a"), || "the directory of a Folder is gone".to_owned())?;
        ensure(!has(it, "web/a") && !has(it, "web/b"), || "the directory of a deleted Folder is left".to_owned())?;
        let left = it.get(FOLDERS, "web/b").map_err(|_| "the finalizer of another was taken".to_owned())?;
        ensure(left["metadata"]["finalizers"] == json!(["example.com/other"]), || format!("{left}"))
    };
    let program = move |world: World, root: &Outside<Root>| program(world, &root.0);
    Exploration::beside(Root::default, program)
        .cluster(cluster)
        .scenario(scenario)
        // One that is deleted while the program is down is never ready.
        .may_vary("example.com/v1/folders web/b status")
        .always("a Folder that is ready has a directory", is_true)
        .always("a Folder was ready after its creation, and not in the future", is_timely)
        .in_the_end(right)
}

/// The restarts of two Deployments, one of which asks for them.
pub(crate) fn of_restart(program: impl Fn(World) -> Result<(), RunError> + Send + Sync + 'static) -> Exploration {
    const ANNOTATION: &str = "example.com/configmaps";
    fn deployment(labels: Value) -> Value {
        let volumes = json!([{ "name": "x", "emptyDir": {} }, { "name": "y", "configMap": { "name": "c" } }]);
        let containers = json!([{ "name": "web", "image": "nginx" }]);
        let template = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": containers, "volumes": volumes } });
        json!({ "metadata": labels, "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": template } })
    }
    fn map(x: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c", "namespace": "web" }, "data": { "x": x } })
    }
    let cluster = || {
        let cluster = SimulatedCluster::new();
        cluster.create(map("1")).unwrap();
        let labels = json!({ "name": "web", "namespace": "web", "labels": { "restart-on-configmap-change": "true" } });
        create(&cluster, "apps/v1", "Deployment", "web", deployment(labels));
        create(&cluster, "apps/v1", "Deployment", "other", deployment(json!({ "name": "other", "namespace": "web" })));
        cluster
    };
    let scenario = async |it: It| -> Result<(), Box<dyn Error>> {
        it.settled().await;
        it.patch(MAPS, "web/c", json!({ "data": { "x": "2" } }))?;
        it.settled().await;
        it.patch(MAPS, "web/c", json!({ "metadata": { "annotations": { "note": "1" } } }))?;
        it.settled().await;
        it.delete(MAPS, "web/c")?;
        it.settled().await;
        it.create(map("3"))?;
        let foreign = json!({ "metadata": { "annotations": { "mesh": "on" } } });
        it.patch(DEPLOYMENTS, "web/web", json!({ "spec": { "template": foreign } }))?;
        it.settled().await;
        it.patch(MAPS, "web/c", json!({ "data": { "x": "4" } }))?;
        it.settled().await;
        Ok(())
    };
    let restarts = |it: &It| {
        let is_one = |request: &&ClientRequest| **request == "PATCH /apis/apps/v1/namespaces/web/deployments/web 200";
        it.requests().iter().filter(is_one).count()
    };
    let few = move |it: &It| ensure(restarts(it) <= 4, || format!("{} restarts for four versions", restarts(it)));
    let right = |it: &It| {
        let of = |name: &str| it.get(DEPLOYMENTS, name).unwrap()["spec"]["template"]["metadata"]["annotations"].clone();
        let data = BTreeMap::from([("x", "4")]);
        let hash = hashed_name("data", &[(data, BTreeMap::<&str, &str>::new())]).unwrap();
        let is_right = of("web/other").is_null() && of("web/web") == json!({ ANNOTATION: hash, "mesh": "on" });
        ensure(is_right, || format!("{} and {}", of("web/web"), of("web/other")))
    };
    Exploration::of(program).cluster(cluster).scenario(scenario).always("few restarts", few).in_the_end(right)
}

/// The last count, and when it was written.
#[derive(Default)]
pub(crate) struct Last(Mutex<(u64, u64, u64)>);

/// A counter of seconds, which runs for half a minute after its scenario.
pub(crate) fn of_counter(program: impl Fn(World) -> Result<(), RunError> + Send + Sync + 'static) -> Exploration<Last> {
    let cluster = || {
        let cluster = SimulatedCluster::new();
        create(&cluster, "v1", "ConfigMap", "counter", json!({}));
        cluster
    };
    let seconds = |it: &It<Last>| it.date().saturating_since(SimulatedCluster::ORIGIN).as_secs();
    let counts = move |it: &It<Last>| {
        let data = it.get(MAPS, "web/counter").unwrap()["data"].clone();
        let count: u64 = data["count"].as_str().and_then(|count| count.parse().ok()).unwrap_or_default();
        let now = seconds(it);
        let mut last = it.outside().0.lock().unwrap();
        let (before, since, _) = *last;
        if count != before {
            *last = (count, now, before);
        }
        ensure(count >= before, || format!("the count goes back from {before} to {count}"))?;
        // Where an answer is lost, the program counts once more; a plan has three disturbances at most.
        ensure(count <= now + 4, || format!("{count} after {now} s, and {before} at {since} s"))?;
        ensure(count == 0 || data["term"].is_string(), || "no leader has counted".to_owned())
    };
    let goes_on = move |it: &It<Last>| {
        let (count, since, _) = *it.outside().0.lock().unwrap();
        ensure(since + 5 >= seconds(it), || format!("nobody counts after {count} at {since} s"))
    };
    Exploration::beside(Last::default, move |world, _| program(world))
        .cluster(cluster)
        .lasting(Duration::from_secs(60))
        .may_vary("")
        .always("the count goes on by seconds", counts)
        .in_the_end(goes_on)
}

/// The pods that a process knows.
#[derive(Default)]
pub(crate) struct Known(Mutex<BTreeSet<String>>);

/// How a program begins, tells a pod, and ends.
type Follow = fn(World, &Tell<'_>, End) -> Result<(), Box<dyn Error>>;
type Tell<'a> = dyn Fn(&Key, bool) -> io::Result<()> + Sync + 'a;
type End = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A table of pods that follows them. It is the process's own, so each begins with an empty one.
pub(crate) fn of_pods(follow: Follow) -> Exploration<Known> {
    let pod = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
            "spec": { "containers": [{ "name": "web", "image": "nginx" }] }, "status": { "phase": "Running" } })
    };
    let cluster = move || {
        let cluster = SimulatedCluster::new();
        ["a", "b"].iter().for_each(|name| _ = cluster.create(pod(name)).unwrap());
        cluster
    };
    let scenario = move |it: It<Known>| async move {
        it.settled().await;
        it.create(pod("c"))?;
        it.delete(PODS, "default/b")?;
        it.settled().await;
        Ok::<(), Box<dyn Error>>(())
    };
    let right = |it: &It<Known>| {
        let pods = it.list(PODS).unwrap_or_default();
        let pods: BTreeSet<String> =
            pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).map(str::to_owned).collect();
        let known = it.outside().0.lock().unwrap();
        ensure(*known == pods, || format!("{known:?} are known, and {pods:?} are there"))
    };
    let program = move |world: World, outside: &Outside<Known>| {
        outside.0.lock().unwrap().clear();
        let tell = |key: &Key, is_there: bool| {
            let tell = |known: &Known| match is_there {
                true => known.0.lock().unwrap().insert(key.name().to_owned()),
                false => known.0.lock().unwrap().remove(key.name()),
            };
            outside.call(&format!("sync {key}"), tell).map(drop).map_err(io::Error::other)
        };
        // A program without a controller does not end with its world, so it ends with a controller beside it.
        let beside = Controller::new("beside", world.clone());
        let nodes = beside.informer_of::<Value>("v1/nodes");
        let ended = Arc::new(Mutex::new(Ok(())));
        let (end, noted) = (beside.reconciles(&nodes).calls(async |_, _| Ok(Outcome::Done)), Arc::clone(&ended));
        follow(world, &tell, Box::pin(async move { *noted.lock().unwrap() = end.future().await }))?;
        std::mem::replace(&mut *ended.lock().unwrap(), Ok(()))?;
        Ok::<(), Box<dyn Error>>(())
    };
    let exploration = Exploration::beside(Known::default, program).cluster(cluster).scenario(scenario);
    // A second replica has a table of its own.
    exploration.in_the_end(right).without("paused").without("paused-long")
}

/// The port of postgres-operator, as the modules of a path have it: a database whose owner is renamed twice, with a user that
/// changes and one that goes, and a database that goes with its user.
macro_rules! of_port {
    ($($ports:tt)*) => {{
        use base64::prelude::{BASE64_STANDARD, Engine};
        use listwatch_explore::{Exploration, It, Outside};
        use $($ports)*::postgres_operator::{Settings, operate};
        use $($ports)*::postgres_server::SimulatedServer;
        use $($ports)*::postgres_sql::{Server, Sql, SqlError};
        use serde_json::{Value, json};
        use std::sync::atomic::{AtomicU32, Ordering};

        const POSTGRES: &str = "db.movetokube.com/v1alpha1/postgres";
        const USERS: &str = "db.movetokube.com/v1alpha1/postgresusers";

        struct Beside {
            server: SimulatedServer,
            drawn: AtomicU32,
        }
        struct Disturbed(Outside<Beside>);
        impl Server for Disturbed {
            fn execute(&self, database: &str, sql: &Sql) -> Result<(), SqlError> {
                let name = match sql {
                    Sql::SetPassword(role, _) => format!("{database} SET PASSWORD {role}"),
                    sql => format!("{database} {sql}"),
                };
                let refused = |_| SqlError { code: "08006", message: "the connection is lost".into() };
                self.0.call(&name, |beside| beside.server.execute(database, sql)).map_err(refused)?
            }
        }
        let program = |world: listwatch::World, outside: &Outside<Beside>| {
            let drawn = outside.clone();
            let settings = Settings {
                host: "pg.example.com:5433".into(),
                user: "postgres".into(),
                default_database: "postgres".into(),
                uri_args: "sslmode=require".into(),
                instance: None,
                keep_secret_name: false,
                draw: Box::new(move |length| format!("{:0>length$}", drawn.drawn.fetch_add(1, Ordering::Relaxed))),
            };
            operate(world, settings, std::sync::Arc::new(Disturbed(outside.clone())))
        };
        let object = |kind: &str, name: &str, spec: Value| {
            json!({ "apiVersion": "db.movetokube.com/v1alpha1", "kind": kind,
                "metadata": { "name": name, "namespace": "web" }, "spec": spec })
        };
        let user = move |name: &str, database: &str| {
            object("PostgresUser", name, json!({ "role": name, "database": database, "secretName": "pg", "privileges": "WRITE" }))
        };
        let cluster = move || {
            let cluster = listwatch::testing::SimulatedCluster::new().with_kind_of::<$($ports)*::postgres_kinds::Postgres>();
            let users = [("app", "shop"), ("gone", "shop"), ("last", "old")];
            users.iter().for_each(|(name, database)| _ = cluster.create(user(name, database)).unwrap());
            let spec = json!({ "database": "shop", "dropOnDelete": true, "schemas": ["stock"] });
            cluster.create(object("Postgres", "shop", spec)).unwrap();
            let spec = json!({ "database": "old", "dropOnDelete": true });
            cluster.create(object("Postgres", "old", spec)).unwrap();
            cluster
        };
        let scenario = async |it: It<Beside>| -> Result<(), Box<dyn std::error::Error>> {
            it.settled().await;
            it.patch(USERS, "web/app", json!({ "spec": { "privileges": "READ" } }))?;
            it.patch(POSTGRES, "web/shop", json!({ "spec": { "masterRole": "keepers" } }))?;
            it.settled().await;
            it.delete(USERS, "web/gone")?;
            it.delete(POSTGRES, "web/old")?;
            it.patch(POSTGRES, "web/shop", json!({ "spec": { "masterRole": "owners" } }))?;
            it.settled().await;
            Ok(())
        };
        let right = |it: &It<Beside>| {
            let wrong = |why: String| -> Result<(), String> { Err(why) };
            let secret = it.get("v1/secrets", "web/pg-app").map_err(|error| error.to_string())?;
            let field = |name: &str| {
                let text = BASE64_STANDARD.decode(secret["data"][name].as_str().unwrap_or_default());
                text.ok().and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
            };
            let (role, contents) = (field("ROLE"), it.outside().server.contents());
            let mut expected = vec![role.clone(), "owners".to_owned(), "postgres".into(), "shop-reader".into(), "shop-writer".into()];
            expected.sort();
            let names: Vec<String> = contents.roles.keys().cloned().collect();
            if names != expected || contents.databases.len() != 2 {
                return wrong(format!("the roles are {names:?}, the databases {:?}", contents.databases.keys()));
            }
            let noted = it.get(USERS, "web/app").map_err(|error| error.to_string())?["status"].clone();
            if noted["succeeded"] != json!(true) || noted["postgresRole"] != json!(role) {
                return wrong(format!("noted is {noted}, and the role is {role}"));
            }
            let login = &contents.roles[&role];
            if login.password.as_deref() != Some(&*field("PASSWORD")) || !login.groups.contains("shop-reader") || login.groups.len() != 1 {
                return wrong(format!("the Secret does not log in, or the groups are {:?}", login.groups));
            }
            Ok(())
        };
        let outside = || Beside { server: SimulatedServer::new(), drawn: AtomicU32::new(0) };
        let exploration = Exploration::beside(outside, program).cluster(cluster).scenario(scenario).in_the_end(right);
        // The port leaves the election out, so no second replica may act beside it.
        exploration.may_vary("").without("paused").without("paused-long")
    }};
}
pub(crate) use of_port;
