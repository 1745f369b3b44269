//! What becomes of occurrences: in thousands of worlds in which everything goes wrong, and beside client-go, of which
//! `tests/peers/client-go/recorder` has the same ones.
//!
//! ```sh
//! cargo test -p listwatch-tests --test suite simulation::recorder                 # 1,000 seeds
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite simulation::recorder    # one of them again
//! ```

use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, CallAction};
use listwatch_core::recorder::{EventRecorder, ObjectReference, Occurrence, RecorderConfig};
use listwatch_core::time::WallTime;
use listwatch_tests::sim::{RecorderRun, Seeds, event_count, read_event};
use std::collections::BTreeMap;
use std::time::Duration;

/// What happens to the objects of a controller.
struct Input {
    name: &'static str,
    occurrences: usize,
    every: Duration,
    objects: usize,
    reasons: usize,
    /// Each occurrence has a note of its own.
    notes: bool,
    /// The object changes before each occurrence.
    versions: bool,
}

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 1_000;

#[test]
fn each_occurrence_is_written_or_counted_as_lost_whatever_goes_wrong() {
    Seeds::of_env("SIM_SEEDS", SEEDS).check("recorder", SEEDS, |seed| RecorderRun::new(seed).finish());
}

const SECOND: Duration = Duration::from_secs(1);

const INPUTS: [Input; 6] = [
    input("one reason, 10,000 times, each second", 10_000, SECOND, 1, 1),
    Input { notes: true, ..input("the same, with a note of its own each time", 10_000, SECOND, 1, 1) },
    Input { notes: true, versions: true, ..input("the same, and the object changes each time", 10_000, SECOND, 1, 1) },
    input("a hundred reasons in a second", 100, Duration::from_millis(10), 1, 100),
    input("a hundred reasons, one each minute", 100, Duration::from_secs(60), 1, 100),
    input("a thousand objects in a second", 1000, Duration::from_millis(1), 1000, 1),
];

const fn input(name: &'static str, occurrences: usize, every: Duration, objects: usize, reasons: usize) -> Input {
    Input { name, occurrences, every, objects, reasons, notes: false, versions: false }
}

/// Events, requests, and the occurrences that the Events count.
type Figures = [u64; 3];

#[test]
fn a_server_gets_no_more_events_and_requests_than_of_either_recorder_of_client_go() {
    for input in INPUTS {
        let ours = record(&input);
        let theirs = ["tools/record", "tools/events"].map(|recorder| client_go(input.name, recorder));
        let [record, events] = theirs;
        println!("| {} | {} | {} | {} |", input.name, told(ours), told(record), told(events));
        let [most_events, most_requests] = [0, 1].map(|figure| record[figure].max(events[figure]));
        assert!(ours[0] <= most_events && ours[1] <= most_requests, "{}: {ours:?}, {theirs:?}", input.name);
        // What a spam filter drops is counted by nobody in client-go. Of one series, nothing is lost.
        assert!(ours[2] >= record[2], "{}: {ours:?}, {theirs:?}", input.name);
        assert!(input.reasons > 1 || ours[2] == input.occurrences as u64, "{}: {ours:?}", input.name);
    }
}

fn told([events, requests, counted]: Figures) -> String {
    format!("{events} / {requests} / {counted}")
}

fn client_go(input: &str, recorder: &str) -> Figures {
    let key = format!("{input}\t{recorder}\t");
    let figures = include_str!("../../peers/client-go/recorder/figures.tsv");
    let line = figures.lines().find_map(|line| line.strip_prefix(&key)).unwrap();
    let mut figures = line.split('\t').map(|figure| figure.parse().unwrap());
    [(); 3].map(|()| figures.next().unwrap())
}

/// Records the occurrences, and lets an hour pass.
fn record(input: &Input) -> Figures {
    let mut server = Server::default();
    let mut recorder = EventRecorder::new(RecorderConfig::new("foo", "foo-0")).unwrap();
    for number in 0..input.occurrences {
        let at = Instant::ZERO + input.every * u32::try_from(number).unwrap();
        server.serve(&mut recorder, at);
        let pod = ObjectReference::new("v1", "Pod", Some("web"), &format!("pod-{}", number % input.objects));
        let pod = pod.uid("u-1").resource_version(&if input.versions { number.to_string() } else { "1".into() });
        let occurrence = Occurrence::warning(pod, &format!("Reason{}", number % input.reasons)).action("Trying");
        let note = if input.notes { format!("attempt {number} failed") } else { "it failed".into() };
        recorder.record(at, WallTime::UNIX_EPOCH, occurrence.note(&note));
        server.answer(&mut recorder, at);
    }
    let end = Instant::ZERO + input.every * u32::try_from(input.occurrences).unwrap() + Duration::from_secs(3600);
    server.serve(&mut recorder, end);
    server.figures()
}

/// An API server that answers at once.
#[derive(Default)]
struct Server {
    /// Each Event's count.
    events: BTreeMap<String, u64>,
    requests: u64,
}

impl Server {
    /// Lets time pass.
    fn serve(&mut self, recorder: &mut EventRecorder, until: Instant) {
        while let Some(at) = recorder.poll_timeout().filter(|at| *at <= until) {
            recorder.handle_timeout(at);
            self.answer(recorder, at);
        }
    }

    fn answer(&mut self, recorder: &mut EventRecorder, now: Instant) {
        while let Some(CallAction::Open { id, request }) = recorder.poll_action(now) {
            self.requests += 1;
            self.keep(&request);
            recorder.handle_answer(now, id, Ok(ApiResponse::new(200, *b"{}")));
        }
    }

    fn keep(&mut self, request: &ApiRequest) {
        let (name, body) = read_event(request);
        self.events.insert(name, event_count(&body));
    }

    fn figures(&self) -> Figures {
        [self.events.len() as u64, self.requests, self.events.values().sum()]
    }
}
