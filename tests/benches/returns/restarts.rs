//! A real API server that is killed and started again.

use crate::company::{Company, Count, EACH, Programs, Side};
use crate::follow::now;
use listwatch_core::Resource;
use listwatch_core::api::{Api, Patch};
use listwatch_tests::control_plane::ControlPlane;
use listwatch_transport_http::{ClusterOptions, HttpClient};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long everything is well before the server is killed.
const HEALTH: Duration = Duration::from_secs(10);
/// How long the server is well between two restarts in a row.
const BETWEEN: Duration = Duration::from_secs(5);

/// A real control plane, and an object in it that tells which restart it is.
struct Stage {
    plane: ControlPlane,
    client: HttpClient,
    programs: Programs,
    number: u64,
    companies: u64,
}

/// What is measured, and what came out.
struct Act {
    title: &'static str,
    restarts: usize,
    sides: [Outcome; 2],
}

/// What came out for the clients of one side.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// How long after a restart each client was back, in seconds.
    times: Vec<f64>,
    count: Count,
}

/// Measures, and prints two tables: return times, and requests. `SINGLE` and `ROWS` say how many restarts there are alone,
/// and how many in each row; `AWAY` for how many seconds nothing runs, one restart after the other; `OUTAGE` for how many
/// in an outage.
pub(crate) fn measure(peers: &Path) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("returns");
    let mut stage = Stage::new(ControlPlane::start(&folder).expect("it is built by Go"), peers);
    let (single, rows) = (setting("SINGLE", "10"), setting("ROWS", "2,4,4"));
    let (away, outage) = (setting("AWAY", "0,5,10,15,20"), setting("OUTAGE", "300"));
    let acts = [
        stage.act("restarts, one at a time", &vec![1; single[0] as usize], &away),
        stage.act("restarts in a row", &rows, &away),
        stage.act("outage", &[1], &outage),
    ];
    print_times(&acts);
    print_requests(&acts);
}

fn setting(name: &str, usual: &str) -> Vec<u64> {
    let said = std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    said.split(',').map(|number| number.parse().unwrap()).collect()
}

impl Stage {
    fn new(plane: ControlPlane, peers: &Path) -> Self {
        let namespace = "default".to_owned();
        let client = ClusterOptions::new().kubeconfig(plane.kubeconfig()).unwrap().client().unwrap();
        let programs = Programs { peers: peers.to_owned(), kubeconfig: plane.kubeconfig().to_owned(), namespace };
        let stage = Self { plane, client, programs, number: 0, companies: 0 };
        Api::<Value>::new(&stage.maps()).create(&json!({ "metadata": { "name": MARK } })).send(&stage.client).unwrap();
        stage
    }

    fn maps(&self) -> Resource {
        Resource::named("v1/configmaps").unwrap().in_namespace(&self.programs.namespace)
    }

    /// So many restarts in each row, each row before a company of its own, which is well at first.
    fn act(&mut self, title: &'static str, rows: &[u64], away: &[u64]) -> Act {
        let mut act = Act { title, restarts: 0, sides: Default::default() };
        for row in rows {
            let mut company = self.company();
            company.count_anew();
            let mut returns = Vec::new();
            for place in 0..*row {
                if place > 0 {
                    pause(BETWEEN);
                }
                returns.push(self.restart(Duration::from_secs(away[act.restarts % away.len()])));
                act.restarts += 1;
            }
            company.hear(self.number);
            let sides = Side::BOTH.map(|side| Outcome::of(&company, side, &returns));
            eprintln!("{title}: {sides:.1?}");
            act.sides.iter_mut().zip(sides).for_each(|(sum, side)| sum.add(side));
        }
        act
    }

    /// Clients that have been well for a while. They are started by turns, so that neither kind is always first.
    fn company(&mut self) -> Company {
        let first = if self.companies.is_multiple_of(2) { Side::Ours } else { Side::ClientGo };
        self.companies += 1;
        let mut company = Company::start(&self.programs, first);
        self.mark();
        company.hear(self.number);
        pause(HEALTH);
        company
    }

    /// The server is killed, and after a while started again. When it is ready, and the number that is told after it.
    fn restart(&mut self, away: Duration) -> (u64, Instant) {
        self.plane.kill_api_server();
        pause(away);
        self.plane.start_api_server();
        let ready = now();
        self.mark();
        (self.number, ready)
    }

    /// Changes the object. A connection that was open to the server before is of no use, so that it may take two.
    fn mark(&mut self) {
        self.number += 1;
        let data = json!({ "data": { "number": self.number.to_string() } });
        let api = Api::<Value>::new(&self.maps());
        let change = || api.patch(MARK, &Patch::Merge(&data)).send(&self.client);
        change()
            .or_else(|_| change())
            .unwrap_or_else(|error| panic!("a server that is ready does not answer: {error}"));
    }
}

/// What the object is called.
const MARK: &str = "mark";

#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

impl Outcome {
    /// What restarts came to, of which is known when each was over, and the number that was told after it.
    fn of(company: &Company, side: Side, restarts: &[(u64, Instant)]) -> Self {
        let times = restarts.iter().flat_map(|(number, ready)| company.times(side, *number, *ready));
        Self { times: times.map(|time| time.as_secs_f64()).collect(), count: company.count(side) }
    }

    fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.count = self.count.add(other.count);
    }

    /// Until so many of a hundred were back.
    fn percentile(&self, percent: usize) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times[percent * (times.len() - 1) / 100]
    }
}

fn print_times(acts: &[Act]) {
    println!(
        "| seconds from \"ready\" to a change told | listwatch p50 | p90 | worst | client-go p50 | p90 | worst | sum of ours to its |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut all: [Outcome; 2] = Default::default();
    for act in acts {
        print_time(&format!("{} {}", act.restarts, act.title), &act.sides);
        all.iter_mut().zip(&act.sides).for_each(|(sum, side)| sum.add(side.clone()));
    }
    print_time("all", &all);
    println!();
}

fn print_time(title: &str, sides: &[Outcome; 2]) {
    let cells = sides.each_ref().map(|side| [50, 90, 100].map(|at| format!("{:.1}", side.percentile(at))).join(" | "));
    let [ours, theirs] = sides.each_ref().map(|side| side.times.iter().sum::<f64>());
    println!("| {title} | {} | {:.2} |", cells.join(" | "), ours / theirs);
}

fn print_requests(acts: &[Act]) {
    println!(
        "| requests of a client, a restart | listwatch answered | refused | failed | client-go answered | refused | failed |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for act in acts {
        let clients = (EACH * act.restarts) as f64;
        let cells = act.sides.each_ref().map(|side| {
            let Count { answered, refused, failed } = side.count;
            [answered, refused, failed].map(|sum| format!("{:.1}", sum as f64 / clients)).join(" | ")
        });
        println!("| {} {} | {} |", act.restarts, act.title, cells.join(" | "));
    }
    println!();
}
