//! The capacities that a replay suggests: what is pasted holds the recording, and what it says was needed is exact.

// What the command prints is pasted, so it is as it was printed.
#[expect(unreachable_pub, reason = "a program that is pasted into has it as a part of its interface")]
#[rustfmt::skip]
mod pods_rollout;

use crate::command::{bundled, command, replay, run};
use crate::inert::{HOSTILE, assert_none, trouble};
use core::task::{Context, Waker};
use listwatch::file::{Chunks, Pace, Playback, PlaybackConfig};
use listwatch_core::cache::{Cache, FixedIndexer};
use listwatch_core::decode::{Decode, ProjectedJson};
use listwatch_core::informer::{DriverIn, EventOf, InformerIn, Pumped};
use listwatch_core::projection::{Projected, Projection, Text};
use listwatch_core::reflector::FailureClass;
use listwatch_core::storage::{Fixed, Indexed, Mem};
use listwatch_core::{InformerConfig, Instant, Resource, projection};
use listwatch_tests::scratch::{Scratch, gunzip};
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::Path;

const SUGGEST: &str = "--suggest-capacities --field spec.nodeName --field status.conditions[type=Ready].status \
                       --index namespace --index label:app";

/// What did not fit while such an informer followed a capture, and the size of its cache at the end.
fn followed<D: Decode<Object: Debug>, C: Cache<D::Object>, M: Mem>(
    capture: &Path,
    informer: impl FnOnce(Resource, InformerConfig) -> InformerIn<D, C, M>,
) -> (Vec<String>, usize) {
    let config = PlaybackConfig::new().pace(Pace::Immediate).chunks(Chunks::AtMost(pods_rollout::ROOM));
    let playback = Playback::with_config(capture, config).unwrap();
    let mut config = InformerConfig::default();
    (config.reflector.watch_timeout, config.reflector.answer_timeout) = (None, None);
    let resource = playback.resource().unwrap().clone();
    let mut driver = DriverIn::new(informer(resource, config), playback);
    let (mut misfits, mut now) = (Vec::new(), Instant::ZERO);
    driver.informer_mut().start(now);
    loop {
        let pumped = driver.pump(now, &mut Context::from_waker(Waker::noop()));
        while let Some(event) = driver.informer_mut().poll_event() {
            match event {
                EventOf::Undecodable(error) => misfits.push(format!("{:?}", error.error)),
                EventOf::Failed(report) if report.failure.class() == FailureClass::DoesNotFit => {
                    misfits.push(report.failure.to_string());
                }
                _ => {}
            }
        }
        if pumped == Pumped::Waiting {
            if driver.transport().is_complete() {
                break;
            }
            now = driver.poll_timeout().unwrap();
        }
    }
    let objects = driver.informer().cache().read(|cache| cache.iter().count());
    (misfits, objects)
}

#[test]
fn the_printed_program_holds_the_recording() {
    let printed = replay(bundled("pods-rollout.jsonl.gz"), SUGGEST).output();
    assert_eq!(printed, include_str!("capacities/pods_rollout.rs"));

    let mut cache = pods_rollout::Cache::new();
    assert!(pods_rollout::add_indexes(&mut cache).is_some());
    let held = followed(&bundled("pods-rollout.jsonl.gz"), |resource, config| {
        pods_rollout::Informer::with_decoder(resource, config, pods_rollout::Decoder::new(), cache)
    });
    assert_eq!(held, (Vec::new(), 45));
}

projection! {
    struct Needed {
        node: Text<6> = "spec.nodeName",
        ready: Text<4> = "status.conditions[type=Ready].status",
        app: Text<6> = "metadata.labels.app",
    }
}

projection! {
    struct Short {
        node: Text<5> = "spec.nodeName",
        ready: Text<4> = "status.conditions[type=Ready].status",
        app: Text<6> = "metadata.labels.app",
    }
}

trait App: Projection + Debug {
    fn app(&self) -> &str;
}

impl App for Needed {
    fn app(&self) -> &str {
        &self.app
    }
}

impl App for Short {
    fn app(&self) -> &str {
        &self.app
    }
}

/// What of the capture did not fit these capacities.
fn misfits<
    P: App,
    const OBJECTS: usize,
    const KEY: usize,
    const POSTINGS: usize,
    const VALUES: usize,
    const VALUE: usize,
>() -> Vec<String> {
    let mut cache = FixedIndexer::<Projected<P, KEY>, OBJECTS, Indexed<2, POSTINGS, VALUES, VALUE>>::new();
    let namespace = cache.try_add_index(|object, emit| object.namespace().into_iter().for_each(emit));
    assert!(namespace.is_ok());
    let app = cache.try_add_index(|object, emit| {
        Some(object.value.app()).filter(|app| !app.is_empty()).into_iter().for_each(emit);
    });
    assert!(app.is_ok());
    let decoder = ProjectedJson::<P, KEY, { pods_rollout::ROOM }>::new();
    followed::<_, _, Fixed<1>>(&bundled("pods-rollout.jsonl.gz"), |resource, config| {
        InformerIn::with_decoder(resource, config, decoder, cache)
    })
    .0
}

#[test]
fn each_needed_capacity_is_the_least_that_holds_the_recording() {
    let printed = replay(bundled("pods-rollout.jsonl.gz"), SUGGEST).output();
    let needed = [("OBJECTS", 81), ("KEY", 30), ("POSTINGS", 162), ("VALUES", 9), ("VALUE", 6)];
    for (name, needed) in needed {
        assert!(printed.contains(&format!("The recording needed {needed}.\npub const {name}:")), "{name}: {printed}");
    }
    for (field, needed) in [("node_name", 6), ("ready_status", 4), ("app", 6)] {
        let line = format!("/// The recording needed {needed} bytes.\n        pub {field}: Text<8>");
        assert!(printed.contains(&line), "{field}: {printed}");
    }
    assert_eq!(misfits::<Needed, 81, 30, 162, 9, 6>(), Vec::<String>::new());
    for (name, misfits) in [
        ("objects", misfits::<Needed, 80, 30, 162, 9, 6>()),
        ("keys", misfits::<Needed, 81, 29, 162, 9, 6>()),
        ("postings", misfits::<Needed, 81, 30, 161, 9, 6>()),
        ("values", misfits::<Needed, 81, 30, 162, 8, 6>()),
        ("bytes of values", misfits::<Needed, 81, 30, 162, 9, 5>()),
        ("bytes of a field", misfits::<Short, 81, 30, 162, 9, 6>()),
    ] {
        assert!(!misfits.is_empty(), "one less of {name} holds the recording, too");
    }
}

/// What the recording needed of a capacity.
fn needed(printed: &str, name: &str) -> usize {
    let (before, _) = printed.split_once(&format!(".\npub const {name}: usize")).unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn objects_of_a_list_that_takes_the_place_of_others_need_room_beside_them() {
    let printed = replay(bundled("chaos.jsonl.gz"), "--suggest-capacities").output();
    let objects = needed(&printed, "OBJECTS");
    assert_eq!((objects, needed(&printed, "POSTINGS"), needed(&printed, "VALUES")), (84, 84, 3));
    assert_eq!(chaos_in::<84>(), Vec::<String>::new());
    assert!(!chaos_in::<83>().is_empty());
}

/// What of the capture did not fit so many objects.
fn chaos_in<const OBJECTS: usize>() -> Vec<String> {
    let cache = FixedIndexer::<Projected<(), 30>, OBJECTS>::new();
    let informer = |resource, config| InformerIn::with_decoder(resource, config, ProjectedJson::new(), cache);
    followed::<ProjectedJson<(), 30>, _, Fixed<1>>(&bundled("chaos.jsonl.gz"), informer).0
}

/// A list of these objects, as `kubectl get -o json` saves it.
fn list(objects: &[Value]) -> Scratch {
    Scratch::new(json!({ "kind": "List", "metadata": { "resourceVersion": "9" }, "items": objects }).to_string())
}

fn pod(name: &str, rest: Value) -> Value {
    let mut pod = json!({ "metadata": { "name": name, "namespace": "web", "uid": name, "resourceVersion": "4" } });
    let fields = rest.as_object().unwrap().clone();
    pod.as_object_mut().unwrap().extend(fields);
    pod
}

#[test]
fn each_field_has_the_type_that_holds_all_of_its_values() {
    let file = list(&[
        pod("a", json!({ "spec": { "n": -4, "m": 7, "on": true, "text": "größe", "none": null } })),
        pod("b", json!({ "spec": { "n": 3, "text": "" } })),
    ]);
    let fields = ["n", "m", "on", "text"].map(|field| format!("--field spec.{field}")).join(" ");
    let printed = replay(&file, &format!("--suggest-capacities {fields} --index field:spec.text")).output();
    for line in
        ["pub n: i64 = \"spec.n\"", "pub m: u32 = \"spec.m\"", "pub on: bool = \"spec.on\"", "pub text: Text<16>"]
    {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    assert_eq!((needed(&printed, "POSTINGS"), needed(&printed, "VALUE")), (1, 7));
}

#[test]
fn a_field_that_no_type_holds_is_told_in_one_line() {
    let file = list(&[pod("a", json!({ "spec": { "mixed": 4, "n": 1.5, "deep": {} } })), {
        pod("b", json!({ "spec": { "mixed": "x" } }))
    }]);
    for (options, why) in [
        ("--field spec.mixed", "`spec.mixed` has values of several types"),
        ("--field spec.n", "`spec.n` has a value that is no text"),
        ("--field spec.deep", "`spec.deep` has a value that is no text"),
        ("--field spec.typo", "`spec.typo` is in no object"),
        ("--field metadata.uid --index field:spec.typo", "`spec.typo` is in no object"),
    ] {
        let run = replay(&file, &format!("--suggest-capacities {options}"));
        assert!(run.error(2).contains(why), "{options}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    let number = list(&[pod("a", json!({ "spec": { "n": 4 } }))]);
    let run = replay(&number, "--suggest-capacities --index field:spec.n");
    assert!(run.error(2).contains("there is no index by it"), "{}", run.stderr);
}

#[test]
fn what_no_fixed_memory_holds_is_told_in_one_line() {
    let mut long = pod("a", json!({}));
    long["metadata"]["resourceVersion"] = json!("9".repeat(21));
    let run = replay(list(&[long]), "--suggest-capacities");
    assert!(run.error(1).ends_with("it has 21 bytes in a version, and 20 are the most"), "{}", run.stderr);
}

#[test]
fn wrong_arguments_are_told_in_one_line() {
    for (options, why) in [
        ("--field spec.nodeName", "missing argument: --suggest-capacities"),
        ("--index field:spec.nodeName", "needs --suggest-capacities"),
        ("--suggest-capacities --print events", "cannot be used with"),
        ("--suggest-capacities --field spec..a", "a name of the path is empty"),
        ("--suggest-capacities --index label:a'b", "the name of a label has no quotes"),
    ] {
        let run = replay(bundled("gap.jsonl.gz"), options);
        assert!(run.error(2).contains(why), "{options}: {}", run.stderr);
    }
    let many: String = (0..19).map(|field| format!(" --field spec.f{field}")).collect();
    let run = replay(bundled("gap.jsonl.gz"), &format!("--suggest-capacities{many}"));
    assert!(run.error(2).contains("18 fields at the most"), "{}", run.stderr);
}

#[test]
fn of_a_recording_that_breaks_off_the_capacities_are_for_what_is_there() {
    let text = gunzip(&bundled("pods-rollout.jsonl.gz"));
    let lines: Vec<&str> = text.lines().collect();
    let whole = replay(Scratch::new(lines.join("\n")), "--suggest-capacities").output();
    let half = replay(Scratch::new(lines[..lines.len() / 2].join("\n")), "--suggest-capacities").output();
    assert!(needed(&half, "OBJECTS") < needed(&whole, "OBJECTS"), "{half}");
    let run = replay(Scratch::new("nothing"), "--suggest-capacities");
    assert!(!run.error(1).is_empty() && run.stdout.is_empty(), "{run:?}");
}

#[test]
fn the_resource_that_is_named_is_measured() {
    let file = crate::replay::resources::capture(&crate::replay::resources::THREE);
    let printed = replay(&file, "--suggest-capacities --resource v1/nodes").output();
    assert!(printed.starts_with("//! An informer in fixed memory for what was recorded of /api/v1/nodes in "));
    let run = replay(&file, "--suggest-capacities --resource v1/secrets");
    assert!(run.error(2).contains("was not recorded"), "{}", run.stderr);
}

#[test]
fn no_text_of_a_recording_or_path_reaches_the_code_raw() {
    let file = Scratch::path(HOSTILE);
    let labels = json!({ HOSTILE: HOSTILE });
    let object =
        json!({ "metadata": { "name": HOSTILE, "namespace": HOSTILE, "uid": HOSTILE[..8], "labels": labels } });
    let items = [object, pod("a", json!({ "spec": { HOSTILE: "x" } }))];
    let content = json!({ "kind": HOSTILE, "metadata": { "resourceVersion": "9" }, "items": items }).to_string();
    std::fs::write(&file, content).unwrap();
    let path = file.as_ref().to_str().unwrap();
    let label = format!("label:{HOSTILE}");
    let (member, quoted) = (format!("spec['{HOSTILE}']"), format!("metadata.labels['{HOSTILE}']"));
    let cases: [&[&str]; 5] = [
        &["replay", path, "--suggest-capacities"],
        &["replay", path, "--suggest-capacities", "--field", &member],
        &["replay", path, "--suggest-capacities", "--field", &quoted],
        &["replay", path, "--suggest-capacities", "--index", &label],
        &["replay", path, "--suggest-capacities", "--field", "\u{1b}[2J\u{202e}x"],
    ];
    assert_none(cases.iter().filter_map(|arguments| trouble(&run(command(*arguments)), &format!("{arguments:?}"))));
}
