//! A real API server that is killed and started again.

use crate::company::{Company, Count, Programs, Return, Side};
use crate::follow::now;
use listwatch_core::{Api, Patch, Resource};
use listwatch_tests::control_plane::ControlPlane;
use listwatch_transport_http::{ClusterOptions, HttpClient};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// How long everything is well before the server is killed.
const HEALTH: Duration = Duration::from_secs(10);
/// How long everything is well between two restarts in a row.
const BETWEEN: Duration = Duration::from_secs(2);

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
    returns: Vec<Return>,
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
        let mut act = Act { title, restarts: 0, returns: Vec::new() };
        for row in rows {
            let mut company = self.company();
            for _ in 0..*row {
                let away = away[act.restarts % away.len()];
                let returns = self.restart(&mut company, Duration::from_secs(away));
                eprintln!("{title}, away for {away} s: {}", words(&returns));
                act.restarts += 1;
                act.returns.extend(returns);
                pause(BETWEEN);
            }
        }
        act
    }

    /// Clients that have been well for a while. They are started by turns, so that neither kind is always first.
    fn company(&mut self) -> Company {
        let first = if self.companies.is_multiple_of(2) { Side::Ours } else { Side::ClientGo };
        self.companies += 1;
        let mut company = Company::start(&self.programs, first);
        let written = now();
        self.mark();
        company.told(self.number, written);
        pause(HEALTH);
        company
    }

    /// The server is killed, and after a while started again.
    fn restart(&mut self, company: &mut Company, away: Duration) -> Vec<Return> {
        company.count_anew();
        self.plane.kill_api_server();
        pause(away);
        self.plane.start_api_server();
        let ready = now();
        self.mark();
        company.told(self.number, ready)
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

/// The times of one side in order.
fn times(returns: &[Return], side: Side) -> Vec<f64> {
    let mut times: Vec<f64> = returns.iter().filter(|it| it.side == side).map(|it| it.time.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn count(returns: &[Return], side: Side) -> Count {
    returns.iter().filter(|it| it.side == side).fold(Count::default(), |sum, it| Count {
        answered: sum.answered + it.count.answered,
        refused: sum.refused + it.count.refused,
        failed: sum.failed + it.count.failed,
    })
}

fn words(returns: &[Return]) -> String {
    let side = |side| {
        let times: Vec<String> = times(returns, side).iter().map(|time| format!("{time:.1}")).collect();
        format!("{} s, {:?}", times.join(" "), count(returns, side))
    };
    format!("ours {}; client-go {}", side(Side::Ours), side(Side::ClientGo))
}

fn print_times(acts: &[Act]) {
    println!(
        "| seconds from \"ready\" to a change told | listwatch p50 | p90 | worst | client-go p50 | p90 | worst | sum of ours to its |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for act in acts {
        print_time(&format!("{} {}", act.restarts, act.title), &act.returns);
    }
    let all: Vec<Return> = acts.iter().flat_map(|act| act.returns.iter().copied()).collect();
    print_time("all", &all);
    println!();
}

fn print_time(title: &str, returns: &[Return]) {
    let sides = [Side::Ours, Side::ClientGo].map(|side| times(returns, side));
    let cells = sides.iter().map(|times| {
        let at = |percent: usize| times[percent * (times.len() - 1) / 100];
        format!("{:.1} | {:.1} | {:.1}", at(50), at(90), at(100))
    });
    let [ours, theirs] = sides.each_ref().map(|times| times.iter().sum::<f64>());
    println!("| {title} | {} | {:.2} |", cells.collect::<Vec<_>>().join(" | "), ours / theirs);
}

fn print_requests(acts: &[Act]) {
    println!(
        "| requests of a client, a restart | listwatch answered | refused | failed | client-go answered | refused | failed |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for act in acts {
        let cells = [Side::Ours, Side::ClientGo].map(|side| {
            let clients = times(&act.returns, side).len() as f64;
            let Count { answered, refused, failed } = count(&act.returns, side);
            [answered, refused, failed].map(|sum| format!("{:.1}", sum as f64 / clients)).join(" | ")
        });
        println!("| {} {} | {} |", act.restarts, act.title, cells.join(" | "));
    }
    println!();
}
