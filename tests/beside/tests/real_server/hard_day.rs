//! A hard day: three API servers behind a balancer that drops connections, rolling restarts, etcd killed and compacted, and
//! two replicas of the sample controller with an election.
//!
//! A replica and some informers live through all of it, each in a process of its own, whose memory, descriptors and threads
//! are measured. At quiet times their caches are compared with fresh lists, every Foo has to be right, and the logs of the
//! servers' writes have to show that a replica writes in its terms alone.
//!
//! `HARD_DAY_MINUTES` and `HARD_DAY_KILLS` say when it is over, whichever comes first.

mod chaos;
mod followers;
mod gauge;
mod process;
mod replica;
mod terms;
mod user;

use crate::real_server::plane::{Plane, plane_at, state_of};
use crate::real_server::sample_controller::stage::{MANIFESTS, SetAtEnd, wait_for};
use chaos::{Kills, Life};
use gauge::Gauge;
use listwatch_core::Resource;
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_tests::balancer::{Balancer, Door};
use listwatch_tests::control_plane::ControlPlane;
use listwatch_tests::sim::Dice;
use listwatch_tests::skipped;
use listwatch_transport_http::HttpClient;
use process::{Caches, Process};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use terms::Terms;
use user::{User, collect, resource, wrongs};

const SERVERS: usize = 3;
const NAMESPACE: &str = "hard-day";
const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";
const DEPLOYMENTS: &str = "apps/v1/deployments";
const MAPS: &str = "v1/configmaps";
/// How the identity of each replica begins.
const REPLICAS: &str = "hard-";
/// The replica that lives for the whole run.
const STEADY: &str = "hard-steady";

/// How long it lasts unless the environment says otherwise.
const SHORT: Duration = Duration::from_secs(45);
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How long things go wrong before the next quiet time.
const STORM: Duration = Duration::from_secs(150);
/// How long everything may take to be right after that.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time between two samples.
const EVERY: Duration = Duration::from_secs(30);
/// The most memory that an hour may add, in MB, and the least time of a slope.
const SLOPE: f64 = 1.0;
const LEAST_HOURS: f64 = 0.4;
/// The fewest quiet times of a trend.
const TREND: u32 = 6;
/// By how much the most descriptors or threads of the second half may be above those of the first.
const SLACK: u64 = 4;

/// When the run is over.
struct Limits {
    time: Duration,
    kills: u64,
}

/// The doors of all clients.
struct Doors {
    steady: Door,
    short: Door,
    followers: Door,
    admin: Door,
}

/// What the threads of the run share.
struct Stage {
    folder: PathBuf,
    doors: Doors,
    client: HttpClient,
    kills: Kills,
    lives: AtomicU64,
}

/// The processes that live for the whole run, and what they need.
struct Lasting {
    steady: Process,
    followers: Process,
    gauges: Mutex<[Gauge; 2]>,
    began: Instant,
}

impl Limits {
    fn of_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok().map(|number| number.parse().unwrap());
        let (minutes, kills) = (number("HARD_DAY_MINUTES"), number("HARD_DAY_KILLS"));
        let time = minutes.map(|minutes| Duration::from_secs(60 * minutes));
        let time = time.unwrap_or_else(|| if kills.is_some() { LONGEST } else { SHORT });
        Self { time, kills: kills.unwrap_or(u64::MAX) }
    }
}

#[expect(clippy::disallowed_methods, reason = "real servers keep real time")]
fn now() -> Instant {
    Instant::now()
}

/// Writes a kubeconfig of the administrator through this door.
fn write_kubeconfig(control: &ControlPlane, folder: &Path, name: &str, door: &Door) -> PathBuf {
    let text = std::fs::read_to_string(control.kubeconfig()).unwrap();
    let [ours, others] = [door.port(), control.ports()[0]].map(|port| format!("https://127.0.0.1:{port}"));
    let file = folder.join(format!("kubeconfig-{name}"));
    std::fs::write(&file, text.replace(&others, &ours)).unwrap();
    file
}

impl Stage {
    /// Starts the replica that is killed again and again.
    fn start_replica(&self) -> Life {
        let identity = format!("{REPLICAS}short-{}", self.lives.fetch_add(1, Ordering::Relaxed));
        let (kubeconfig, log) = (self.folder.join("kubeconfig-short"), self.folder.join("short.log"));
        let process = Process::start(replica::TEST, replica::REPLICA, &identity, &kubeconfig, &log);
        Life { identity, process }
    }
}

impl Lasting {
    fn start(stage: &Stage) -> Self {
        let identity = format!("{STEADY} steady");
        let start = |test, variable, value, name: &str| {
            let kubeconfig = stage.folder.join(format!("kubeconfig-{name}"));
            Process::start(test, variable, value, &kubeconfig, &stage.folder.join(format!("{name}.log")))
        };
        let steady = start(replica::TEST, replica::REPLICA, &identity, "steady");
        let followers = start(followers::TEST, followers::FOLLOWERS, "", "followers");
        let gauges = [Gauge::new("replica", steady.id()), Gauge::new("followers", followers.id())];
        Self { steady, followers, gauges: Mutex::new(gauges), began: now() }
    }

    fn measure(&self, is_quiet: bool) {
        let hours = self.began.elapsed().as_secs_f64() / 3600.0;
        self.gauges.lock().unwrap().iter_mut().for_each(|gauge| gauge.take(hours, is_quiet));
    }

    /// Waits until the caches have what the server has.
    fn check_caches(&mut self, plane: &Plane) {
        let mut last = String::new();
        let is_equal = wait_for(PATIENCE, || match self.differences(plane) {
            Ok(differences) => {
                last = differences;
                last.is_empty()
            }
            Err(error) => {
                last = error;
                false
            }
        });
        assert!(is_equal, "the caches are not what the server has: {last}");
    }

    fn differences(&mut self, plane: &Plane) -> Result<String, String> {
        let list = |name| plane.objects(&resource(name)).map(|it| state_of(&it)).map_err(|error| error.to_string());
        let [foos, deployments, maps] = [list(FOOS)?, list(DEPLOYMENTS)?, list(MAPS)?];
        let expected = |names: &[&str]| -> Caches {
            let state = |name: &str| match name {
                "foos" => foos.clone(),
                "deployments" => deployments.clone(),
                _ => maps.clone(),
            };
            names.iter().map(|name| ((*name).to_owned(), state(name))).collect()
        };
        let steady = difference("replica", &expected(&["foos", "deployments"]), &self.steady.caches()?);
        let all = expected(&["foos", "deployments", "maps", "paged"]);
        Ok(steady + &difference("followers", &all, &self.followers.caches()?))
    }
}

/// Where the caches of a process are not what the server has.
fn difference(process: &str, expected: &Caches, found: &Caches) -> String {
    let mut text = String::new();
    for (name, state) in expected {
        let found = found.get(name).cloned().unwrap_or_default();
        let missing: Vec<_> = state.iter().filter(|(key, it)| found.get(*key) != Some(*it)).take(3).collect();
        let more: Vec<_> = found.keys().filter(|key| !state.contains_key(*key)).take(3).collect();
        if !missing.is_empty() || !more.is_empty() {
            text += &format!("{name} of {process}: missing or another: {missing:?}, too many: {more:?}; ");
        }
    }
    text
}

/// Applies the manifests of the example, and lets every user do what the controller may, with a lease.
fn install(plane: &Plane) {
    let apply = |resource: &Resource, body: &str| {
        let mut create = ApiRequest::new(Method::Post, resource.path());
        create.content_type = Some("application/yaml");
        create.body = body.into();
        let answer = plane.client.send(&create).unwrap();
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    };
    let named = |name: &str| Resource::named(name).unwrap();
    apply(&named("apiextensions.k8s.io/v1/customresourcedefinitions"), MANIFESTS[0]);
    let role = MANIFESTS[1].split("\n---\n").find(|it| it.contains("kind: ClusterRole\n")).unwrap();
    apply(&named("rbac.authorization.k8s.io/v1/clusterroles"), role);
    let rules = json!([{
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "verbs": ["create", "get", "update", "list", "watch"],
    }]);
    let lease = json!({ "metadata": { "name": "lease" }, "rules": rules });
    plane.create(&named("rbac.authorization.k8s.io/v1/clusterroles"), &lease);
    for role in ["sample-controller", "lease"] {
        let of = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role });
        let all = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated" });
        let binding = json!({ "metadata": { "name": role }, "roleRef": of, "subjects": [all] });
        plane.create(&named("rbac.authorization.k8s.io/v1/clusterrolebindings"), &binding);
    }
    plane.create(&named("v1/namespaces"), &json!({ "metadata": { "name": NAMESPACE } }));
    assert!(wait_for(PATIENCE, || plane.has(&resource(FOOS))));
}

/// Things go wrong for a while.
fn storm(stage: &Stage, control: &mut ControlPlane, lasting: &Lasting, dice: &mut Dice, limits: &Limits) -> u64 {
    let is_over = AtomicBool::new(false);
    let mut dice = || Dice::new(dice.throw());
    let Stage { doors, kills, client, .. } = stage;
    let (of_servers, of_replicas, of_connections, mut of_user) = (dice(), dice(), dice(), dice());
    let connections = [&doors.steady, &doors.short, &doors.followers];
    thread::scope(|scope| {
        let over = SetAtEnd(&is_over);
        let servers = scope.spawn(|| chaos::of_servers(control, of_servers, kills, &is_over));
        let replicas = scope.spawn(|| chaos::of_replicas(stage, of_replicas, &is_over));
        scope.spawn(|| chaos::of_connections(&connections, of_connections, &is_over));
        let user = scope.spawn(|| {
            let mut user = User::new(client);
            let mut acts = 0_u64;
            while !wait_for(Duration::from_millis(40), || is_over.load(Ordering::Relaxed)) {
                user.act(&mut of_user);
                acts += 1;
                if acts.is_multiple_of(100) {
                    let _next_time = collect(client);
                }
            }
            user.made
        });
        // A thread that has panicked ends the storm, too.
        let (end, mut sampled) = (now() + STORM.min(limits.time), now());
        while now() < end && kills.all() < limits.kills && !(servers.is_finished() || replicas.is_finished()) {
            wait_for(Duration::from_millis(500), || false);
            if sampled.elapsed() >= EVERY {
                sampled = now();
                lasting.measure(false);
            }
        }
        drop(over);
        user.join().unwrap()
    })
}

/// Everything becomes right, and is compared.
fn calm(
    stage: &Stage,
    control: &mut ControlPlane,
    lasting: &mut Lasting,
    plane: &Plane,
    terms: &mut Terms,
) -> Duration {
    let Doors { steady, short, followers, admin } = &stage.doors;
    [steady, short, followers, admin].into_iter().for_each(Door::heal);
    chaos::heal(control, &stage.kills);
    let begun = now();
    let mut last = Vec::new();
    let is_right = wait_for(PATIENCE, || {
        let found = collect(&plane.client).and_then(|()| wrongs(plane));
        last = found.unwrap_or_else(|error| vec![error.to_string()]);
        last.is_empty() || lasting.steady.ended().is_some()
    });
    assert!(is_right && last.is_empty(), "{} Foos are wrong: {:#?}", last.len(), &last[..last.len().min(3)]);
    lasting.check_caches(plane);
    let took = begun.elapsed();
    terms.read();
    lasting.measure(true);
    took
}

#[test]
fn a_replica_and_informers_live_through_a_hard_day() {
    let limits = Limits::of_environment();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hard_day");
    let Some(mut control) = ControlPlane::start_servers(&folder, SERVERS) else { return };
    let balancer = Balancer::new(control.ports());
    let door = || balancer.door().unwrap();
    let doors = Doors { steady: door(), short: door(), followers: door(), admin: door() };
    let Doors { steady, short, followers, admin } = &doors;
    for (name, door) in [("steady", steady), ("short", short), ("followers", followers)] {
        write_kubeconfig(&control, &folder, name, door);
    }
    let plane = plane_at(write_kubeconfig(&control, &folder, "admin", admin));
    let client = plane.cluster.client().unwrap();
    let stage = Stage { folder, doors, client, kills: Kills::default(), lives: AtomicU64::new(0) };
    let mut terms = Terms::of((1..=SERVERS).map(|number| control.audit_log_of(number)));
    install(&plane);

    let seed = u64::from(std::process::id());
    let mut dice = Dice::new(seed);
    let mut user = User::new(&stage.client);
    user.fill();
    let mut made = user.made;
    let mut lasting = Lasting::start(&stage);
    calm(&stage, &mut control, &mut lasting, &plane, &mut terms);
    println!("seed {seed}, in {}", stage.folder.display());
    let (begun, mut slowest) = (now(), Duration::ZERO);
    let mut calms = 0;
    while begun.elapsed() < limits.time && stage.kills.all() < limits.kills {
        made += storm(&stage, &mut control, &lasting, &mut dice, &limits);
        let took = calm(&stage, &mut control, &mut lasting, &plane, &mut terms);
        (slowest, calms) = (slowest.max(took), calms + 1);
        let gauges = lasting.gauges.lock().unwrap().each_ref().map(Gauge::last).join("; ");
        println!("{:.1} min, right after {took:.1?}; {}; {gauges}", begun.elapsed().as_secs_f64() / 60.0, stage.kills);
    }
    tell(&stage, &lasting, &terms, begun.elapsed(), made, (calms, slowest));
    let gauges = lasting.gauges.lock().unwrap();
    if calms < TREND || gauges.iter().any(|gauge| gauge.hours() < LEAST_HOURS) {
        skipped::tell(format_args!(
            "NOT CHECKED: memory, descriptors and threads over {calms} quiet times; set HARD_DAY_MINUTES=60"
        ));
    }
    for gauge in gauges.iter() {
        let [first, second] = gauge.most();
        assert!(calms < TREND || (0..2).all(|it| second[it] <= first[it] + SLACK), "{gauge}");
        assert!(gauge.hours() < LEAST_HOURS || gauge.slope() < SLOPE, "{gauge}");
    }
    assert!(terms.outside.is_empty(), "writes outside of a term: {:#?}", terms.outside);
    for log in ["steady.log", "short.log", "followers.log"] {
        let reports = std::fs::read_to_string(stage.folder.join(log)).unwrap();
        assert!(!reports.contains("panicked"), "{log}: {reports}");
    }
}

/// The tables of the findings.
fn tell(stage: &Stage, lasting: &Lasting, terms: &Terms, time: Duration, made: u64, calms: (u32, Duration)) {
    let Stage { kills, doors: Doors { steady, short, followers, .. }, lives, .. } = stage;
    let [turns, compactions, fallen] = [&kills.turns, &kills.compactions, &kills.fallen].map(chaos::read);
    let [terminated, resigned] = [&kills.terminated, &kills.resigned].map(chaos::read);
    let [accepted, dropped] = [Door::accepted, Door::dropped]
        .map(|of| [steady, short, followers].map(|door| of(door).to_string()).join("; "));
    let (overtaken, unanswered, outside) = (terms.overtaken, terms.unanswered, terms.outside.len());
    println!("| | {:.1} minutes |", time.as_secs_f64() / 60.0);
    println!("|---|--:|");
    println!("| kills | {kills} |");
    println!("| compactions; servers that ended by themselves | {compactions}; {fallen} |");
    println!("| lives of the other replica; ended by SIGTERM; by themselves | {lives:?}; {terminated}; {resigned} |");
    println!("| connections of the replica, the other one and the followers | {accepted} |");
    println!("| of these, dropped by the balancer | {dropped} |");
    println!("| changes by users | {made} |");
    println!("| cut-offs that made the other replica lead; terms | {turns}; {:?} |", terms.led);
    println!("| writes of replicas; without an answer | {:?}; {unanswered} |", terms.writes);
    println!("| writes outside of a term; overtaken by the next term | {outside}; {overtaken} |");
    println!("| quiet times; the longest until all was right and equal | {}; {:.1?} |", calms.0, calms.1);
    println!();
    println!("| process | samples | first, KiB | last | most | slope, MB/h | descriptors | threads |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    lasting.gauges.lock().unwrap().iter().for_each(|gauge| println!("{gauge}"));
}
