//! Fleets: a controller for each of many clusters, which come and go.

use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest};
use listwatch::controller::{Controller, Fleet, MemberState, Outcome, Report, RunError, Running};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::testing::SimulatedCluster;
use listwatch::time::Instant;
use listwatch::transport::{TransportError, TransportErrorKind};
use listwatch::{Client, Clock, InformerHandle, World};
use listwatch_tests::silent::Silent;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const MAPS: &str = "v1/configmaps";
const SECRETS: &str = "v1/secrets";

/// The world of a cluster, by a clock that others share.
fn world(cluster: &SimulatedCluster, clock: &Clock) -> World {
    let time = clock.clone();
    let cluster = cluster.on_clock(move || time.now());
    let client = Client::new(cluster.client(), clock.clone());
    World::from_parts(clock.clone(), client, move |resource| Box::new(cluster.transport_of(resource)))
}

/// A cluster with a ConfigMap.
fn cluster() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    cluster
        .create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } }))
        .unwrap();
    cluster
}

fn patch(data: &Value) -> Value {
    json!({ "data": data })
}

/// What members did, and when.
type Seen = Arc<Mutex<Vec<(String, Instant)>>>;

/// A controller that notes when it reconciles a ConfigMap, and marks it.
fn marker(name: &str, world: World, seen: &Seen) -> Running<'static> {
    let (name, seen) = (name.to_owned(), Arc::clone(seen));
    let controller = Controller::new(&format!("marker of {name}"), world);
    let maps: InformerHandle<Value> = controller.informer_of(MAPS);
    controller.reconciles(&maps).on_report(|_, _| {}).calls(async move |cx, key| {
        seen.lock().unwrap().push((name.clone(), cx.clock().now()));
        if let Some(map) = maps.get(&key) {
            cx.change(&map, |map| map["data"]["by"] = json!(name)).await?;
        }
        Ok(Outcome::Done)
    })
}

/// A home cluster, whose Secrets name the members.
struct Stage {
    clock: Clock,
    home: SimulatedCluster,
    fleet: Fleet,
    /// The worlds that Secrets name.
    worlds: Arc<Mutex<BTreeMap<String, World>>>,
    seen: Seen,
    reports: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new() -> Self {
        Self {
            clock: Clock::simulated(),
            home: SimulatedCluster::new(),
            fleet: Fleet::new(),
            worlds: Arc::default(),
            seen: Seen::default(),
            reports: Arc::default(),
        }
    }

    fn secret(name: &str, version: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "Secret", "data": { "version": version },
            "metadata": { "name": name, "namespace": "fleet" } })
    }

    fn join(&self, name: &str, world: World) {
        self.worlds.lock().unwrap().insert(name.to_owned(), world);
        self.home.create(Self::secret(name, "MQ==")).unwrap();
    }

    /// The home controller, until the scenario ends.
    fn home(
        &self,
        election: Option<Election>,
        scenario: impl Future<Output = ()> + Send + 'static,
    ) -> Running<'static> {
        let controller = Controller::new("home", world(&self.home, &self.clock).until(scenario));
        let secrets: InformerHandle<Value> = controller.informer_of(SECRETS);
        let (fleet, worlds, reports) = (self.fleet.clone(), Arc::clone(&self.worlds), Arc::clone(&self.reports));
        let reconciler = controller.reconciles(&secrets).on_report(move |_, report| {
            if let Report::MemberEnded { .. } = report {
                reports.lock().unwrap().push(report.to_string());
            }
        });
        let reconciler = match election {
            Some(election) => reconciler.lead_by(election),
            None => reconciler,
        };
        reconciler.calls(async move |_cx, key| {
            let name = key.name();
            match secrets.get(&key) {
                None => _ = fleet.remove(name),
                Some(secret) => {
                    let version = secret["data"]["version"].as_str().unwrap_or_default().to_owned();
                    let known = worlds.lock().unwrap().get(name).cloned();
                    fleet.put(name, &version, || known.ok_or_else(|| RunError::World("no such cluster".into())))?;
                }
            }
            Ok(Outcome::Done)
        })
    }

    fn run(&self, scenario: impl Future<Output = ()> + Send + 'static) -> Result<(), RunError> {
        let seen = Arc::clone(&self.seen);
        self.fleet.run(self.home(None, scenario), move |name, world| marker(name, world, &seen))
    }

    /// When each reconcile of a member was.
    fn times_of(&self, member: &str) -> Vec<Instant> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(name, _)| name == member).map(|(_, at)| *at).collect()
    }
}

#[test]
fn members_come_change_and_go_while_the_fleet_runs() {
    let (stage, [east, west, other]) = (Stage::new(), [cluster(), cluster(), cluster()]);
    stage.join("east", world(&east, &stage.clock));
    let (home, clock, fleet, seen) =
        (stage.home.clone(), stage.clock.clone(), stage.fleet.clone(), Arc::clone(&stage.seen));
    let (worlds, [eastern, western, others]) = (Arc::clone(&stage.worlds), [east, west, other]);
    let count = move || seen.lock().unwrap().len();
    stage
        .run(async move {
            let settled = || clock.sleep(Duration::from_secs(5));
            settled().await;
            assert_eq!(eastern.get(MAPS, "web/a").unwrap()["data"]["by"], "east");
            worlds.lock().unwrap().insert("west".to_owned(), world(&western, &clock));
            home.create(Stage::secret("west", "MQ==")).unwrap();
            settled().await;
            assert_eq!(western.get(MAPS, "web/a").unwrap()["data"]["by"], "west");
            let names = || fleet.members().iter().map(|member| member.name.to_string()).collect::<Vec<_>>();
            assert_eq!(names(), ["east", "west"]);
            // The same version is the same member, and another one is another cluster.
            let before = count();
            home.patch(SECRETS, "fleet/west", json!({ "metadata": { "labels": { "seen": "yes" } } })).unwrap();
            settled().await;
            assert_eq!(count(), before);
            worlds.lock().unwrap().insert("west".to_owned(), world(&others, &clock));
            home.patch(SECRETS, "fleet/west", json!({ "data": { "version": "Mg==" } })).unwrap();
            settled().await;
            assert_eq!(others.get(MAPS, "web/a").unwrap()["data"]["by"], "west");
            home.delete(SECRETS, "fleet/west").unwrap();
            settled().await;
            assert_eq!(names(), ["east"]);
            let before = count();
            for gone in [&western, &others] {
                gone.patch(MAPS, "web/a", patch(&json!({ "by": "nobody" }))).unwrap();
            }
            settled().await;
            assert_eq!(count(), before, "a removed member reconciles nothing");
        })
        .unwrap();
    assert!(stage.fleet.members().is_empty() && stage.reports.lock().unwrap().is_empty());
}

#[test]
fn a_cluster_that_hangs_refuses_or_floods_delays_no_other() {
    let healthy = |sick: bool| {
        let (stage, clusters) = (Stage::new(), [(); 8].map(|()| cluster()));
        let clock = stage.clock.clone();
        for (number, cluster) in clusters.iter().enumerate() {
            stage.join(&format!("well-{number}"), world(cluster, &clock));
        }
        let flooding = cluster();
        if sick {
            let never =
                ApiFn::new(|_: &ApiRequest| Err(TransportError::new(TransportErrorKind::Refused, "nobody is there")));
            let hanging = World::from_parts(clock.clone(), Client::new(never, clock.clone()), |_| Box::new(Silent));
            stage.join("hanging", hanging);
            stage.join("refusing", world(&cluster().as_user("nobody", &[]), &clock));
            stage.join("flooding", world(&flooding, &clock));
        }
        let reports = Arc::clone(&stage.reports);
        stage
            .run(async move {
                for second in 0..600 {
                    for number in 0..20 {
                        let data = json!({ "n": format!("{second}.{number}") });
                        flooding.patch(MAPS, "web/a", patch(&data)).unwrap();
                    }
                    if second % 60 == 0 {
                        let data = json!({ "by": "nobody" });
                        clusters.iter().for_each(|it| _ = it.patch(MAPS, "web/a", patch(&data)).unwrap());
                    }
                    clock.sleep(Duration::from_secs(1)).await;
                }
            })
            .unwrap();
        let times: Vec<_> = (0..8).map(|number| stage.times_of(&format!("well-{number}"))).collect();
        let reports = reports.lock().unwrap().clone();
        (times, stage.times_of("flooding").len(), reports)
    };
    let ((alone, _, none), (beside, floods, reports)) = (healthy(false), healthy(true));
    assert!(alone.iter().all(|times| times.len() > 10) && none.is_empty(), "{none:?}");
    assert_eq!(alone, beside);
    assert!(floods > 500, "{floods}");
    let of = |name: &str| reports.iter().filter(|report| report.starts_with(&format!("member {name}: "))).count();
    // Its lists fail for two minutes before its controller ends; a refusal ends it at once.
    assert_eq!(of("hanging"), 4, "{reports:#?}");
    assert!((5..=9).contains(&of("refusing")), "{reports:#?}");
    assert!(reports.iter().any(|report| report.contains("refusing") && report.contains("403")), "{reports:#?}");
}

#[test]
fn a_thousand_clusters_are_reconciled_in_one_process() {
    let (stage, clusters) = (Stage::new(), (0..1000).map(|_| cluster()).collect::<Vec<_>>());
    for (number, cluster) in clusters.iter().enumerate() {
        stage.join(&format!("m-{number}"), world(cluster, &stage.clock));
    }
    let (clock, fleet) = (stage.clock.clone(), stage.fleet.clone());
    stage
        .run(async move {
            clock.sleep(Duration::from_secs(60)).await;
            let members = fleet.members();
            let running = members.iter().filter(|member| matches!(member.state, MemberState::Running(_)));
            assert_eq!((running.count(), members.len()), (1000, 1000));
        })
        .unwrap();
    for (number, cluster) in clusters.iter().enumerate() {
        assert_eq!(cluster.get(MAPS, "web/a").unwrap()["data"]["by"], format!("m-{number}"));
    }
    assert!(stage.fleet.members().is_empty());
}

/// A controller whose reconciles take ten seconds.
fn slow(world: World, running: &Arc<Mutex<(usize, usize, usize)>>) -> Running<'static> {
    let (controller, running) = (Controller::new("slow", world), Arc::clone(running));
    let maps: InformerHandle<MetadataOnly> = controller.informer_of(MAPS);
    controller.reconciles(&maps).on_report(|_, _| {}).calls(async move |cx, _key| {
        let begin = || {
            let mut it = running.lock().unwrap();
            it.0 += 1;
            it.1 = it.1.max(it.0);
        };
        begin();
        cx.clock().sleep(Duration::from_secs(10)).await;
        let mut it = running.lock().unwrap();
        it.0 -= 1;
        it.2 += 1;
        Ok(Outcome::Done)
    })
}

#[test]
fn a_member_that_comes_back_while_it_drains_has_one_controller_at_a_time() {
    let (stage, cluster) = (Stage::new(), cluster());
    let running = Arc::new(Mutex::new((0, 0, 0)));
    let (clock, fleet, of) = (stage.clock.clone(), stage.fleet.clone(), world(&cluster, &stage.clock));
    let scenario = async move {
        let put = |version: &str| fleet.put("a", version, || Ok::<_, RunError>(of.clone())).unwrap();
        for version in 0..5 {
            assert!(put(&version.to_string()) && !put(&version.to_string()));
            clock.sleep(Duration::from_secs(3)).await;
            assert!(fleet.remove("a") && !fleet.remove("a"));
            clock.sleep(Duration::from_secs(1)).await;
            assert!(fleet.members()[0].is_leaving);
        }
    };
    let home = stage.home(None, scenario);
    let notes = Arc::clone(&running);
    stage.fleet.run(home, move |_, world| slow(world, &notes)).unwrap();
    let (now, most, done) = *running.lock().unwrap();
    assert_eq!((now, most), (0, 1));
    assert!(done >= 2, "what was begun is finished: {done}");
}

#[test]
fn members_write_only_while_the_home_controller_leads() {
    let (stage, cluster) = (Stage::new(), cluster());
    stage.join("a", world(&cluster, &stage.clock));
    let (home, clock, member) = (stage.home.clone(), stage.clock.clone(), cluster);
    let lost_at = Arc::new(Mutex::new(None));
    let (lost, at) = (Arc::clone(&lost_at), stage.clock.clone());
    let scenario = async move {
        let leases = "coordination.k8s.io/v1/leases";
        for second in 0..60 {
            clock.sleep(Duration::from_secs(1)).await;
            member.patch(MAPS, "web/a", patch(&json!({ "by": "nobody", "n": second.to_string() }))).unwrap();
            if second == 30 {
                assert_eq!(member.get(MAPS, "web/a").unwrap()["data"]["n"], "30");
                home.patch(leases, "default/home", json!({ "spec": { "holderIdentity": "another" } })).unwrap();
                *lost.lock().unwrap() = Some(clock.now());
            }
        }
    };
    let seen = Arc::clone(&stage.seen);
    let election = Election::new("home").namespace("default");
    let home = stage.home(Some(election), scenario);
    let ended = stage.fleet.run(home, move |name, world| marker(name, world, &seen));
    assert!(matches!(ended, Err(RunError::LeaderElectionLost { .. })), "{ended:?}");
    let (lost, over) = (lost_at.lock().unwrap().unwrap(), at.now());
    assert!(over.saturating_since(lost) < Duration::from_secs(11), "{:?}", over.saturating_since(lost));
    assert!(!stage.times_of("a").is_empty() && stage.fleet.members().is_empty());
}

#[test]
fn a_controller_that_ends_is_made_anew_after_waits_that_grow() {
    let (stage, cluster) = (Stage::new(), cluster());
    stage.join("a", world(&cluster, &stage.clock));
    let (clock, seen, made) = (stage.clock.clone(), Arc::clone(&stage.seen), Arc::new(Mutex::new(Vec::new())));
    let (times, time) = (Arc::clone(&made), stage.clock.clone());
    let home = stage.home(None, async move { clock.sleep(Duration::from_secs(60)).await });
    let make = move |name: &str, world: World| {
        times.lock().unwrap().push(time.now());
        assert!(times.lock().unwrap().len() > 3, "not yet");
        marker(name, world, &seen)
    };
    stage.fleet.run(home, make).unwrap();
    let made = made.lock().unwrap();
    let waits: Vec<_> = made.windows(2).map(|pair| pair[1].saturating_since(pair[0]).as_secs_f64()).collect();
    assert!(
        waits.len() == 3
            && waits.iter().zip([1.0, 2.0, 4.0]).all(|(wait, least)| { (least..=1.5 * least).contains(wait) }),
        "{waits:?}"
    );
    let reports = stage.reports.lock().unwrap();
    assert!(reports.len() == 3 && reports[0].contains("panicked: not yet"), "{reports:?}");
    assert_eq!(cluster.get(MAPS, "web/a").unwrap()["data"]["by"], "a");
}

#[test]
fn namespaces_with_a_label_are_members_of_the_home_cluster() {
    const NAMESPACES: &str = "v1/namespaces";
    let (clock, cluster, fleet) = (Clock::simulated(), SimulatedCluster::new(), Fleet::new());
    for name in ["shop", "pay", "test"] {
        let labels = if name == "test" { json!({}) } else { json!({ "managed": "yes" }) };
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
        cluster.create(namespace).unwrap();
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": name } });
        cluster.create(map).unwrap();
    }
    let (inside, time) = (cluster.clone(), clock.clone());
    let scenario = async move {
        let by = |namespace: &str| inside.get(MAPS, &format!("{namespace}/a")).unwrap()["data"]["by"].clone();
        time.sleep(Duration::from_secs(5)).await;
        assert_eq!([by("shop"), by("pay"), by("test")], [json!("shop"), json!("pay"), Value::Null]);
        inside.patch(NAMESPACES, "pay", json!({ "metadata": { "labels": { "managed": null } } })).unwrap();
        inside.patch(NAMESPACES, "test", json!({ "metadata": { "labels": { "managed": "yes" } } })).unwrap();
        time.sleep(Duration::from_secs(5)).await;
        inside.patch(MAPS, "pay/a", patch(&json!({ "by": "nobody" }))).unwrap();
        time.sleep(Duration::from_secs(5)).await;
        assert_eq!([by("pay"), by("test")], ["nobody", "test"]);
    };
    let home = world(&cluster, &clock);
    let controller = Controller::new("home", home.clone().until(scenario));
    let namespaces: InformerHandle<MetadataOnly> =
        controller.informer_of(listwatch::Resource::named(NAMESPACES).unwrap().with_label_selector("managed=yes"));
    let members = fleet.clone();
    let controller = controller.reconciles(&namespaces).on_report(|_, _| {}).calls(async move |_cx, key| {
        if namespaces.contains(&key) {
            members.put(key.name(), "", || Ok::<_, RunError>(home.clone()))?;
        } else {
            members.remove(key.name());
        }
        Ok(Outcome::Done)
    });
    let labels = |name: &str, world: World| {
        let controller = Controller::new(name, world);
        let resource = listwatch::Resource::named(MAPS).unwrap().in_namespace(name);
        let (maps, name): (InformerHandle<Value>, _) = (controller.informer_of(resource), name.to_owned());
        controller.reconciles(&maps).on_report(|_, _| {}).calls(async move |cx, key| {
            let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
            cx.change(&map, |map| map["data"]["by"] = json!(name)).await?;
            Ok(Outcome::Done)
        })
    };
    fleet.run(controller, labels).unwrap();
}

#[test]
fn a_fleet_on_threads_ends_with_its_home_controller_and_runs_once() {
    let (clock, home, fleet) = (Clock::real(), SimulatedCluster::new(), Fleet::new());
    let clusters: Vec<_> = (0..20).map(|_| cluster()).collect();
    for (number, cluster) in clusters.iter().enumerate() {
        let world = || Ok::<_, RunError>(world(cluster, &clock));
        assert!(fleet.put(&format!("m-{number}"), "1", world).unwrap());
    }
    let seen = Seen::default();
    let home_of = || {
        let controller = Controller::new("home", world(&home, &clock));
        let secrets: InformerHandle<MetadataOnly> = controller.informer_of(SECRETS);
        controller.reconciles(&secrets).on_report(|_, _| {}).calls(async move |_cx, _key| Ok(Outcome::Done))
    };
    let running = home_of();
    let (handle, all) = (running.handle(), clusters);
    let stopping = std::thread::spawn(move || {
        let is_marked = |it: &SimulatedCluster| it.get(MAPS, "web/a").unwrap()["data"]["by"].is_string();
        listwatch_tests::wait::wait_until(|| all.iter().all(is_marked));
        handle.stop();
    });
    fleet.run(running, |name, world| marker(name, world, &seen)).unwrap();
    stopping.join().unwrap();
    assert!(fleet.members().is_empty());
    let late = fleet.put("late", "1", || Err::<World, _>(RunError::World("it is not to be made".into())));
    assert!(matches!(late, Ok(false)));
    let again = fleet.run(home_of(), |name, world| marker(name, world, &seen));
    assert!(matches!(again, Err(RunError::Config(_))), "{again:?}");
}
