use super::*;
use crate::memory::weight;
use crate::object::{key_of, version_of};
use listwatch_core::Key;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

fn capture(name: &str) -> History {
    let path = format!("{}/../tests/data/captures/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    History::from_file(path).unwrap()
}

/// The steps in few words: `@time` and, of each change, its kind, its object and its version.
fn told(history: &mut History) -> Vec<String> {
    told_of(history)
}

fn told_of(steps: impl Iterator<Item = HistoryStep>) -> Vec<String> {
    steps.map(|step| format!("@{} {}", step.at.as_millis(), shown(&step.change))).collect()
}

fn shown(change: &HistoryChange) -> String {
    let named = |object: &Value| format!("{} {}", key_of(object).unwrap(), version_of(object));
    match change {
        HistoryChange::Added(object) => format!("added {}", named(object)),
        HistoryChange::Modified(object) => format!("modified {}", named(object)),
        HistoryChange::Deleted(object) => format!("deleted {}", named(object)),
        HistoryChange::Reached(version) => format!("reached {version}"),
        HistoryChange::Relisted { changed, gone, version } => {
            let changed: Vec<String> = changed.iter().map(named).collect();
            let gone: Vec<&str> = gone.iter().map(Key::as_str).collect();
            format!("relisted {} -{} at {version}", changed.join(", "), gone.join(", "))
        }
    }
}

/// The history of a file with some content, which goes with it.
struct Saved {
    history: History,
    path: PathBuf,
}

impl Drop for Saved {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).unwrap();
    }
}

/// A file with this content, which no other test has.
fn saved(content: &str) -> PathBuf {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("listwatch-history-{}-{number}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

fn of(content: &str) -> Result<Saved, CaptureError> {
    let path = saved(content);
    match History::from_file(&path) {
        Ok(history) => Ok(Saved { history, path }),
        Err(error) => {
            std::fs::remove_file(&path).unwrap();
            Err(error)
        }
    }
}

/// The steps of a file with this content.
fn told_by(content: &str) -> Vec<String> {
    told(&mut of(content).unwrap().history)
}

/// A capture, of which each exchange has its lines at one time.
#[derive(Default)]
struct Tape {
    lines: String,
    exchanges: u64,
}

impl Tape {
    fn exchange(self, at: u64, target: &str, body: &str) -> Self {
        self.exchange_as(at, target, "application/json", body)
    }

    fn exchange_as(mut self, at: u64, target: &str, accept: &str, body: &str) -> Self {
        self.exchanges += 1;
        let mut record = |what: Value| {
            let mut line = serde_json::json!({ "t": at, "id": self.exchanges });
            line.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
            writeln!(self.lines, "{line}").unwrap();
        };
        let headers = serde_json::json!({ "Accept": accept });
        record(serde_json::json!({ "request": { "method": "GET", "path": target, "headers": headers } }));
        record(serde_json::json!({ "response": { "status": 200, "headers": {} } }));
        record(serde_json::json!({ "data": body }));
        record(serde_json::json!({ "end": "eof" }));
        self
    }

    fn told(self) -> Vec<String> {
        told_by(&self.lines)
    }
}

fn object(name: &str, version: u64) -> Value {
    serde_json::json!({ "metadata": { "name": name, "namespace": "web", "resourceVersion": version.to_string() } })
}

fn list(version: u64, items: &[Value]) -> String {
    let metadata = serde_json::json!({ "resourceVersion": version.to_string() });
    serde_json::json!({ "kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items }).to_string()
}

fn event(kind: &str, mut object: Value) -> String {
    object["kind"] = "Pod".into();
    object["apiVersion"] = "v1".into();
    format!("{}\n", serde_json::json!({ "type": kind, "object": object }))
}

#[test]
fn a_capture_is_its_first_list_and_then_what_its_watches_told() {
    let mut history = capture("pods-rollout");
    assert_eq!((history.origin().as_millis(), history.end().as_millis()), (72, 40_140));
    let resource = Arc::clone(history.resources().next().unwrap());
    assert_eq!((resource.collection.as_str(), resource.kind.as_deref()), ("v1/pods", Some("Pod")));
    let first = history.next().unwrap();
    let HistoryChange::Relisted { changed, gone, version: 724 } = first.change else { panic!("{first:?}") };
    assert_eq!((changed.len(), gone.len()), (60, 0));
    assert!(changed.iter().all(|pod| pod["kind"] == "Pod" && pod["apiVersion"] == "v1"));
    let steps = told(&mut history);
    let count = |kind: &str| steps.iter().filter(|step| step.split(' ').nth(1) == Some(kind)).count();
    // The last list is as the watches told, so it is no gap.
    assert_eq!((count("added"), count("modified"), count("deleted"), count("relisted")), (125, 530, 140, 0));
    assert_eq!(steps.last().unwrap(), "@40140 reached 2447");
    assert_eq!(history.error(), None);
}

#[test]
fn a_list_after_a_lost_watch_is_a_gap_and_a_page_that_expired_no_list() {
    for (name, first, gap) in [("chaos", 2462, (5673, 2766)), ("gap", 5542, (14_115, 5670))] {
        let mut history = capture(name);
        let HistoryChange::Relisted { version, .. } = history.next().unwrap().change else { panic!("{name}") };
        assert_eq!(version, first, "{name}");
        let gaps: Vec<HistoryStep> =
            history.filter(|step| matches!(step.change, HistoryChange::Relisted { .. })).collect();
        let [HistoryStep { at, change: HistoryChange::Relisted { version, gone, .. }, .. }] = &gaps[..] else {
            panic!("{name}: {gaps:?}")
        };
        assert_eq!(((at.as_millis(), *version), gone.is_empty()), (gap, name == "chaos"), "{name}");
    }
}

#[test]
fn the_pages_of_a_list_belong_together_and_a_newer_list_drops_pages_without_an_end() {
    let page = |token: &str, items: &[Value]| {
        let metadata = serde_json::json!({ "resourceVersion": "9", "continue": token });
        serde_json::json!({ "kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items }).to_string()
    };
    let tape = Tape::default()
        .exchange(1, "/api/v1/pods?limit=1", &page("x", &[object("lost", 3)]))
        .exchange(2, "/api/v1/pods?limit=1", &page("y", &[object("a", 4)]))
        .exchange(3, "/api/v1/pods?limit=1&continue=x", &page("", &[object("lost-too", 5)]))
        .exchange(4, "/api/v1/pods?limit=1", &page("z", &[object("a", 4)]))
        .exchange(5, "/api/v1/pods?limit=1&continue=z", &page("", &[object("b", 6)]));
    assert_eq!(tape.told(), ["@5 relisted web/a 4, web/b 6 - at 9"]);
}

#[test]
fn the_first_state_of_each_resource_is_there_from_the_beginning() {
    let deployments =
        r#"{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"50"},"items":[]}"#;
    let tape = Tape::default()
        .exchange(5, "/api/v1/pods", &list(9, &[object("a", 4)]))
        .exchange(6, "/api/v1/pods?watch=1&resourceVersion=9", &event("MODIFIED", object("a", 11)))
        .exchange(70, "/apis/apps/v1/deployments", deployments);
    let mut saved = of(&tape.lines).unwrap();
    let steps = told(&mut saved.history);
    assert_eq!(steps, ["@5 relisted web/a 4 - at 9", "@5 reached 50", "@6 modified web/a 11"]);
    let resources = saved.history.resources().map(|resource| (resource.collection.as_str(), resource.kind.as_deref()));
    assert_eq!(resources.collect::<Vec<_>>(), [("v1/pods", Some("Pod")), ("apps/v1/deployments", None)]);
}

#[test]
fn what_a_second_watch_tells_again_is_told_once() {
    let tape = Tape::default()
        .exchange(1, "/api/v1/pods", &list(9, &[object("a", 4)]))
        .exchange(2, "/api/v1/pods?watch=1&resourceVersion=9", &event("MODIFIED", object("a", 11)))
        .exchange(3, "/api/v1/pods?watch=1&resourceVersion=9", &event("MODIFIED", object("a", 11)))
        .exchange(4, "/api/v1/pods", &list(10, &[object("a", 4)]))
        .exchange(5, "/api/v1/pods", &list(12, &[object("a", 11)]));
    assert_eq!(tape.told(), ["@1 relisted web/a 4 - at 9", "@2 modified web/a 11", "@5 reached 12"]);
}

#[test]
fn a_watch_of_a_part_is_left_out_if_all_was_watched_and_an_object_is_gone_when_no_part_shows_it() {
    let whole = |all: bool| {
        let tape = Tape::default()
            .exchange(1, "/api/v1/namespaces/web/pods?labelSelector=x", &list(9, &[object("a", 4)]))
            .exchange(2, "/api/v1/namespaces/web/pods?labelSelector=y", &list(9, &[object("a", 4)]))
            .exchange(3, "/api/v1/namespaces/web/pods?watch=1&labelSelector=x", &event("DELETED", object("a", 11)))
            .exchange(4, "/api/v1/namespaces/web/pods?watch=1&labelSelector=y", &event("DELETED", object("a", 12)));
        let tape = if all { tape.exchange(5, "/api/v1/pods?watch=1&resourceVersion=20", "") } else { tape };
        tape.told()
    };
    assert_eq!(whole(false), ["@1 relisted web/a 4 - at 9", "@1 reached 9", "@4 deleted web/a 12"]);
    assert_eq!(whole(true), ["@5 reached 20"]);
}

#[test]
fn a_watch_list_is_a_state_once_its_initial_events_have_ended() {
    let end = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let events = [
        event("ADDED", object("a", 4)),
        event("BOOKMARK", serde_json::from_str(end).unwrap()),
        event("ADDED", object("b", 10)),
    ];
    let tape = Tape::default().exchange(1, "/api/v1/pods?watch=1&sendInitialEvents=true", &events.concat());
    let told = ["@1 relisted web/a 4 - at 9", "@1 added web/b 10"];
    assert_eq!(tape.told(), told);
    // As a recorder writes lines of servers.
    let begun = r#"{"t":1,"id":1,"request":{"method":"GET","path":"/api/v1/pods?watch=1&sendInitialEvents=true"}}
{"t":1,"id":1,"response":{"status":200}}"#;
    let lines = events.map(|event| {
        let event: Value = serde_json::from_str(&event).unwrap();
        format!(r#"{{"t":1,"id":1,"line":{{"type":{},"object":{}}}}}"#, event["type"], event["object"])
    });
    assert_eq!(told_by(&[begun, &lines.join("\n"), ""].join("\n")), told);
}

#[test]
fn metadata_alone_is_told_from_whole_objects_and_left_out_beside_them() {
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let tape = || Tape::default().exchange_as(1, "/api/v1/pods", accept, &list(9, &[object("a", 4)]));
    let metadata = of(&tape().lines).unwrap();
    let resource = Arc::clone(metadata.history.resources().next().unwrap());
    assert_eq!((resource.metadata_only, resource.kind.as_deref()), (true, None));
    assert_eq!(tape().told(), ["@1 relisted web/a 4 - at 9"]);
    let both = tape().exchange(2, "/api/v1/namespaces/web/pods", &list(8, &[object("b", 4)]));
    assert!(!of(&both.lines).unwrap().history.resources().next().unwrap().metadata_only);
    assert_eq!(both.told(), ["@2 relisted web/b 4 - at 8"]);
}

#[test]
fn a_saved_list_is_one_state_of_each_of_its_kinds() {
    let pod = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"web","resourceVersion":"7"}}"#;
    let policy =
        r#"{"kind":"NetworkPolicy","apiVersion":"networking.k8s.io/v1","metadata":{"name":"b","resourceVersion":"8"}}"#;
    let saved =
        format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":""}},"items":[{pod},{policy}]}}"#);
    let names: Vec<String> =
        of(&saved).unwrap().history.resources().map(|resource| resource.collection.clone()).collect();
    assert_eq!(names, ["v1/pods", "networking.k8s.io/v1/networkpolicies"]);
    assert_eq!(told_by(&saved), ["@0 relisted web/a 7 - at 8", "@0 relisted b 8 - at 8"]);
}

#[test]
fn a_watch_log_begins_with_its_leading_additions_and_has_an_event_a_second() {
    let log = [
        event("ADDED", object("a", 4)),
        event("ADDED", object("b", 3)),
        event("MODIFIED", object("a", 5)),
        event("DELETED", object("b", 6)),
    ];
    let first = "@0 relisted web/a 4, web/b 3 - at 4";
    assert_eq!(told_by(&log.concat()), [first, "@1000 modified web/a 5", "@2000 deleted web/b 6"]);
}

const EXPIRED: &str = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";

#[test]
fn additions_of_what_is_there_list_a_kind_anew_and_what_they_leave_out_is_gone() {
    let added = |name: &str, version: u64| event("ADDED", object(name, version));
    let first = [added("a", 4), added("b", 9)].concat();
    let told = |rest: &[String]| told_by(&(first.clone() + &rest.concat()))[1..].to_vec();
    let gone = ["@1000 relisted  -web/a at 9"];
    assert_eq!(told(&[added("b", 9)]), gone, "the run of additions goes on with another list");
    assert_eq!(told(&[EXPIRED.to_owned(), added("b", 9)]), ["@2000 relisted  -web/a at 9"]);
    assert_eq!(
        told(&[EXPIRED.to_owned(), EXPIRED.to_owned(), added("b", 12)]),
        ["@3000 relisted web/b 12 -web/a at 12"]
    );
    let bookmark = event("BOOKMARK", serde_json::json!({ "metadata": { "resourceVersion": "10" } }));
    assert_eq!(told(&[EXPIRED.to_owned(), bookmark, added("b", 9)]).last().unwrap(), "@3000 relisted  -web/a at 10");
    // A new object comes before the one that is told again.
    let with_new = [EXPIRED.to_owned(), added("aa", 10), added("b", 9), event("MODIFIED", object("b", 11))];
    assert_eq!(told(&with_new), ["@2000 relisted web/aa 10 -web/a at 10", "@3000 modified web/b 11"]);
}

#[test]
fn events_of_two_watches_that_write_to_one_file_delete_nothing_and_count_once() {
    let event = |kind: &str, name: &str, version: u64| event(kind, object(name, version));
    let first: String = ["a", "b", "c", "d"].map(|name| event("ADDED", name, 4)).concat();
    let told = |log: &str| {
        let mut saved = of(log).unwrap();
        (told(&mut saved.history)[1..].to_vec(), saved.history.told_twice())
    };
    // Each tells its changes behind the other.
    let both = |kind, name, version| event(kind, name, version).repeat(2);
    let log = [&*first, &both("MODIFIED", "a", 10), &both("ADDED", "e", 11), &both("DELETED", "b", 12)].concat();
    let expected = ["@1000 modified web/a 10", "@3000 added web/e 11", "@5000 deleted web/b 12"];
    assert_eq!(told(&log), (expected.map(str::to_owned).to_vec(), 3));
    // One is behind.
    let late = [event("MODIFIED", "a", 10), event("DELETED", "b", 12), event("MODIFIED", "a", 13)].concat();
    let (told_once, twice) = told(&[&*first, &late, &late].concat());
    assert_eq!((told_once.len(), twice), (3, 3), "{told_once:?}");
    // One of a part begins anew, and tells one of four objects.
    let restarted = [&*first, &event("MODIFIED", "a", 10), &event("ADDED", "c", 4)].concat();
    assert_eq!(told(&restarted), (vec!["@1000 modified web/a 10".to_owned()], 1));
    // One behind the other, they tell three of four.
    let second: String = ["a", "b", "c"].map(|name| event("ADDED", name, 4)).concat();
    assert_eq!(told(&(first + &second)), (vec!["@1000 relisted  -web/d at 4".to_owned()], 0));
}

#[test]
fn additions_of_what_is_not_there_leave_all_others_there() {
    let log = [
        EXPIRED.to_owned(),
        event("ADDED", object("a", 10)),
        EXPIRED.to_owned(),
        event("ADDED", object("b", 20)),
        event("MODIFIED", object("b", 21)),
    ];
    assert_eq!(told_by(&log.concat()), ["@2000 added web/a 10", "@4000 added web/b 20", "@5000 modified web/b 21"]);
    // Another object of the same name was added while nothing watched.
    let with_uid = |uid: &str, version: u64| {
        let mut object = object("a", version);
        object["metadata"]["uid"] = uid.into();
        event("ADDED", object)
    };
    let log = [with_uid("1", 4), event("ADDED", object("b", 5)), with_uid("2", 7)];
    assert_eq!(told_by(&log.concat())[1..], ["@1000 modified web/a 7"]);
    assert_eq!(told_by(&[with_uid("1", 4), event("ADDED", object("b", 5)), with_uid("1", 7)].concat()).len(), 2);
}

#[test]
fn events_of_a_log_that_are_out_of_order_are_told() {
    let log =
        [("ADDED", "a", 9), ("ADDED", "b", 4), ("MODIFIED", "b", 20), ("MODIFIED", "a", 15), ("DELETED", "a", 16)];
    let log: String = log.map(|(kind, name, version)| event(kind, object(name, version))).concat();
    assert_eq!(told_by(&log)[1..], ["@1000 modified web/b 20", "@2000 modified web/a 15", "@3000 deleted web/a 16"]);
}

#[test]
fn lists_one_behind_the_other_are_told_by_their_differences() {
    let lists =
        [list(9, &[object("a", 4)]), list(12, &[object("a", 4), object("b", 11)]), list(15, &[object("b", 14)])];
    let expected =
        ["@0 relisted web/a 4 - at 4", "@1000 relisted web/b 11 - at 11", "@2000 relisted web/b 14 -web/a at 14"];
    for log in [lists.concat(), lists.join("\r\n"), lists.join("\n\u{feff}")] {
        assert_eq!(told_by(&log), expected);
    }
    let empty = [list(9, &[object("a", 4)]), r#"{"kind":"List","apiVersion":"v1","items":[]}"#.to_owned()];
    assert_eq!(told_by(&empty.concat()), [expected[0], "@1000 relisted  -web/a at 4"]);
}

#[test]
fn pages_in_a_log_are_one_list_and_a_page_without_the_next_one_is_a_fault() {
    let page =
        list(9, &[object("a", 4)]).replace(r#"{"resourceVersion":"9"}"#, r#"{"resourceVersion":"9","continue":"x"}"#);
    let pages = page.clone() + &list(9, &[object("b", 5)]);
    assert_eq!(told_by(&pages), ["@0 relisted web/a 4, web/b 5 - at 5"]);
    for content in [page.clone(), pages + &page] {
        let fault = match of(&content) {
            Ok(saved) => saved.history.error().unwrap().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(fault.contains(": this is one page of a list, whose `continue` leads"), "{fault}");
    }
}

#[test]
fn objects_one_behind_the_other_are_their_states() {
    let pod = |name: &str, version: u64| {
        let mut pod = object(name, version);
        (pod["kind"], pod["apiVersion"]) = ("Pod".into(), "v1".into());
        serde_json::to_string_pretty(&pod).unwrap() + "\n"
    };
    let log = pod("a", 5) + &pod("b", 3) + &pod("a", 6);
    assert_eq!(told_by(&log), ["@0 relisted web/a 5, web/b 3 - at 5", "@1000 modified web/a 6"]);
    assert!(of(&pod("a", 5)).err().unwrap().to_string().contains("this is a single object of kind \"Pod\""));
}

#[test]
fn the_fields_of_an_object_do_not_make_it_an_event_of_a_watch() {
    let of_type = |kind: &str, version: u64, fields: Value| {
        let mut object = object("a", version);
        (object["kind"], object["apiVersion"]) = (kind.into(), "v1".into());
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    let objects = [
        of_type("Secret", 5, serde_json::json!({ "type": "Opaque", "data": { "type": "ADDED", "object": "eA==" } })),
        // kubectl sorts the fields of an Event, so that this one is the first.
        of_type("Event", 6, serde_json::json!({ "action": "Binding", "type": "Normal", "reason": "Scheduled" })),
        of_type("PersistentVolume", 7, serde_json::json!({ "spec": { "type": "x", "object": {} } })),
        of_type("Service", 8, serde_json::json!({ "spec": { "type": "ClusterIP" } })),
        of_type(
            "Policy",
            9,
            serde_json::json!({ "type": "DELETED", "object": { "kind": "Pod" }, "event": "", "key": "", "rv": "" }),
        ),
        of_type("Rule", 10, serde_json::json!({ "object": { "items": [] } })),
    ];
    for first in 0..objects.len() {
        let prints: [fn(&Value) -> String; 2] = [|object| format!("{object}\n"), |object| format!("{object:#}\n")];
        for print in prints {
            let mut log: Vec<String> = objects.iter().map(print).collect();
            log.rotate_left(first);
            let mut saved = of(&log.concat()).unwrap();
            let told = told(&mut saved.history).concat();
            assert!(saved.history.error().is_none(), "{:?}", saved.history.error());
            for version in 5..11 {
                assert!(told.contains(&format!("web/a {version}")), "version {version}: {told}");
            }
            let mut gone = objects[first].clone();
            gone["metadata"]["resourceVersion"] = "20".into();
            let mixed = log.concat() + &serde_json::json!({ "type": "DELETED", "object": gone }).to_string();
            assert!(told_by(&mixed).concat().contains("deleted web/a"), "{mixed}");
        }
    }
}

#[test]
fn a_log_of_notifications_tells_the_keys_and_versions_of_objects() {
    let log = r#"{"event":"add","initial":true,"key":"web/a","rv":"4"}
{"event":"update","key":"web/a","old_rv":"4","rv":"5"}
{"event":"delete","final_state_unknown":false,"key":"web/a","rv":"6"}
{"store":[]}
"#;
    assert_eq!(told_by(log), ["@0 relisted web/a 4 - at 4", "@1000 modified web/a 5", "@2000 deleted web/a 6"]);
}

#[test]
fn a_recording_began_at_the_newest_date_in_it_whatever_the_order_of_its_objects() {
    let dated = |kind: &str, version: &str, date: &str| {
        serde_json::json!({ "kind": kind, "apiVersion": version, "metadata": { "name": "a", "resourceVersion": "4" },
            "status": { "conditions": [{ "lastTransitionTime": date }] } })
    };
    let (pod, deployment) =
        (dated("Pod", "v1", "2020-10-05T00:00:00Z"), dated("Deployment", "apps/v1", "2020-10-01T00:00:00Z"));
    let list =
        |items: [&Value; 2]| serde_json::json!({ "kind": "List", "apiVersion": "v1", "items": items }).to_string();
    for file in [list([&pod, &deployment]), list([&deployment, &pod]), format!("{pod}{deployment}")] {
        assert_eq!(of(&file).unwrap().history.began().unwrap().to_string(), "2020-10-05T00:00:00Z", "{file}");
    }
    let undated = of(&event("ADDED", object("a", 4))).unwrap();
    let saved: WallTime = undated.path.metadata().unwrap().modified().unwrap().into();
    assert_eq!(undated.history.began(), Some(saved));
    let started = Tape::default().exchange(5, "/api/v1/pods", &list([&pod, &deployment]));
    assert_eq!(of(&started.lines).unwrap().history.began().unwrap().as_unix_millis() % 1000, 995);
}

#[test]
fn metadata_alone_is_of_the_resource_that_a_caller_names() {
    let log = event("ADDED", object("a", 4)).replace(r#""apiVersion":"v1""#, r#""apiVersion":"meta.k8s.io/v1""#);
    let path = saved(&log.replace(r#""kind":"Pod""#, r#""kind":"PartialObjectMetadata""#));
    let history = History::of_resource(&path, &Resource::new("/api/v1/pods")).unwrap();
    std::fs::remove_file(path).unwrap();
    let resource = Arc::clone(history.resources().next().unwrap());
    assert_eq!((resource.collection.as_str(), resource.metadata_only), ("v1/pods", true));
}

#[test]
fn a_text_in_utf_16_is_read_as_one_in_utf_8() {
    let log = event("ADDED", object("a", 4)) + &event("MODIFIED", object("\u{1f40b}", 5));
    for is_big in [false, true] {
        let units = "\u{feff}".encode_utf16().chain(log.encode_utf16());
        let bytes: Vec<u8> =
            units.flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect();
        let path = saved("");
        std::fs::write(&path, bytes).unwrap();
        let told = told(&mut History::from_file(&path).unwrap());
        std::fs::remove_file(path).unwrap();
        assert_eq!(told, ["@0 relisted web/a 4, web/\u{1f40b} 5 - at 5"]);
    }
}

#[test]
fn a_capture_that_was_cut_is_told_up_to_the_cut_and_says_so() {
    let tape = Tape::default().exchange(1, "/api/v1/pods", &list(9, &[object("a", 4)])).exchange(
        2,
        "/api/v1/pods?watch=1&resourceVersion=9",
        &event("MODIFIED", object("a", 11)),
    );
    let cut = format!("{}{{\"t\":7,\"id\"", tape.lines);
    let fault = of(&cut).unwrap().history.error().unwrap().to_string();
    assert!(fault.contains(":9: the line breaks off"), "{fault}");
    assert_eq!(told_by(&cut), ["@1 relisted web/a 4 - at 9", "@2 modified web/a 11"]);
    let nothing = of("{\"t\":7,\"id\":1,\"request\":{\"method\":\"GET\",\"path\":\"/version\"}}\n").err().unwrap();
    assert_eq!(nothing.kind(), CaptureErrorKind::NothingToPlay);
}

#[test]
fn a_line_that_comes_centuries_later_is_an_error() {
    let tape = Tape::default().exchange(1, "/api/v1/pods", &list(9, &[object("a", 4)])).exchange(
        u64::MAX,
        "/api/v1/pods?watch=1&resourceVersion=9",
        "",
    );
    let saved = of(&tape.lines).unwrap();
    let fault = saved.history.error().unwrap().to_string();
    assert!(
        fault
            .ends_with(":5: not a record of a capture: \"t\" is more than a hundred years; correct or delete the line"),
        "{fault}"
    );
}

/// The fault of a history that begins with a list, behind this first line, and goes on with these lines.
fn fault_behind_a_list(first: &str, lines: &[&str]) -> String {
    let list = Tape::default().exchange(1, "/api/v1/pods", &list(9, &[object("a", 4)])).lines;
    match of(&format!("{first}\n{list}{}\n", lines.join("\n"))) {
        Ok(saved) => saved.history.error().map(ToString::to_string).unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_capture_of_an_unknown_version_is_an_error() {
    let fault = fault_behind_a_list(r#"{"capture":3}"#, &[]);
    assert!(fault.contains(":1: version 3 of the capture format is unknown here; use a release"), "{fault}");
}

#[test]
fn a_second_first_line_is_an_error() {
    let fault = fault_behind_a_list(r#"{"capture":1}"#, &[r#"{"capture":1,"started":"1999-01-01T00:00:00Z"}"#]);
    assert!(fault.contains(":6: the version of the capture belongs in the first line"), "{fault}");
}

#[test]
fn records_without_an_open_request_are_errors() {
    for (line, expected) in [
        (r#"{"t":1,"id":9,"data":"x"}"#, ":6: a record for request 9, which is not open"),
        (r#"{"t":1,"id":1,"end":"eof"}"#, ":6: a record for request 1, which is not open"),
    ] {
        let fault = fault_behind_a_list(r#"{"capture":1}"#, &[line]);
        assert!(fault.contains(expected), "{fault}");
    }
}

#[test]
fn more_than_65536_open_requests_are_an_error() {
    let open = |id: u64| format!(r#"{{"t":1,"id":{id},"request":{{"method":"GET","path":"/api/v1/pods?watch=1"}}}}"#);
    let lines: Vec<String> = (2..=(1 << 16) + 2).map(open).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let fault = fault_behind_a_list(r#"{"capture":1}"#, &lines);
    assert!(fault.contains(":65542: more than 65536 requests are open at once"), "{fault}");
}

#[test]
fn versions_that_no_server_has_are_errors() {
    let largest = i64::MAX.cast_unsigned();
    let told = |version: u64| Tape::default().exchange(1, "/api/v1/pods", &list(version, &[])).lines;
    assert_eq!(told_by(&told(largest)), [format!("@1 reached {largest}")]);
    for lines in [
        told(largest + 1),
        Tape::default().exchange(1, "/api/v1/pods", &list(9, &[object("a", u64::MAX)])).lines,
        told(9).replace("\\\"9\\\"", "\\\"99999999999999999999\\\""),
    ] {
        let fault = of(&lines).err().unwrap().to_string();
        assert!(fault.contains(":4: a resourceVersion is above 9223372036854775807, the largest"), "{fault}");
    }
    let log = event("ADDED", object("a", 4)) + &event("MODIFIED", object("a", u64::MAX));
    let fault = of(&log).unwrap().history.error().unwrap().to_string();
    assert!(fault.contains(": a resourceVersion is above"), "{fault}");
    let saved = of(&list(9, &[object("a", u64::MAX)])).err().unwrap().to_string();
    assert!(saved.contains(": a resourceVersion is above"), "{saved}");
}

#[test]
fn an_object_longer_than_the_limit_is_an_error() {
    let mut large = object("a", 4);
    large["spec"] = "x".repeat(8 << 20).into();
    let too_long = |lines: &str| {
        let fault = match of(lines) {
            Ok(saved) => saved.history.error().map(ToString::to_string).unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        assert!(fault.contains("the object is longer than the limit of 8388608 bytes"), "{fault}");
        fault
    };
    let body = list(9, std::slice::from_ref(&large));
    assert!(too_long(&Tape::default().exchange(1, "/api/v1/pods", &body).lines).contains(":3: "));
    let events = event("MODIFIED", large);
    assert!(too_long(&Tape::default().exchange(1, "/api/v1/pods?watch=1", &events).lines).contains(":3: "));
    too_long(&body);
    too_long(&events);
}

#[test]
fn lists_that_take_more_than_4_gib_are_an_error() {
    let memory = Memory::at_most(MOST_STATE);
    let numbers = format!("{}0", "0,".repeat((1 << 22) - 1));
    assert_eq!(weight(&serde_json::from_str(&format!("[{numbers}]")).unwrap()) >> 27, 1);
    assert!(memory.take(4 << 30).is_ok());
    let fault = memory.take(1).unwrap_err();
    assert_eq!(fault.message, "the lists up to here take more than 4294967296 bytes of memory; record fewer resources");
}

/// The fault of a history that may take this many bytes, read to its end.
fn fault_within(most: u64, content: &str) -> Option<String> {
    fault_of_reading(most, content, |history| history.for_each(drop))
}

fn fault_of_reading(most: u64, content: &str, read: impl FnOnce(&mut History)) -> Option<String> {
    let path = saved(content);
    let history = History::within(&path, None, most);
    let fault = history.map_or_else(Some, |mut history| {
        read(&mut history);
        history.error().cloned()
    });
    std::fs::remove_file(&path).unwrap();
    fault.map(|fault| fault.to_string())
}

#[test]
fn the_first_state_of_a_watch_log_takes_limited_memory() {
    let log: String = (0..200).map(|number| event("ADDED", object(&format!("o{number}"), number + 1))).collect();
    assert_eq!(fault_within(1 << 20, &log), None);
    let fault = fault_within(1 << 14, &log).unwrap();
    assert!(fault.contains(": the lists up to here take more than 16384 bytes of memory"), "{fault}");
}

#[test]
fn pages_that_overlap_are_counted_once() {
    let page = |token: &str| {
        let metadata = serde_json::json!({ "resourceVersion": "9", "continue": token });
        let items = [object("a", 4)];
        serde_json::json!({ "kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items }).to_string()
    };
    // Two lists begin, and then each ends its first page.
    let lines: Vec<String> = (0..50)
        .map(|number| {
            let tape = |id: u64| {
                let (body, path) = (Value::from(page("x")), "/api/v1/pods?limit=1");
                [
                    format!(r#"{{"t":1,"id":{id},"request":{{"method":"GET","path":"{path}"}}}}"#),
                    format!(r#"{{"t":1,"id":{id},"response":{{"status":200,"headers":{{}}}}}}"#),
                    format!(r#"{{"t":1,"id":{id},"data":{body}}}"#),
                    format!(r#"{{"t":1,"id":{id},"end":"eof"}}"#),
                ]
            };
            let (one, other) = (tape(2 * number), tape(2 * number + 1));
            [&one[..3], &other[..3], &one[3..], &other[3..]].concat().join("\n")
        })
        .collect();
    let whole = Tape { exchanges: 1000, ..Tape::default() }.exchange(2, "/api/v1/pods", &list(9, &[object("a", 4)]));
    assert_eq!(fault_within(1 << 13, &format!("{}\n{}", lines.join("\n"), whole.lines)), None);
}

#[test]
fn the_keys_of_a_history_take_limited_memory() {
    let events: String = (0..200).map(|number| event("ADDED", object(&format!("o{number}"), number + 10))).collect();
    let tape = Tape::default().exchange(1, "/api/v1/pods", &list(9, &[])).exchange(
        2,
        "/api/v1/pods?watch=1&resourceVersion=9",
        &events,
    );
    assert_eq!(fault_within(1 << 20, &tape.lines), None);
    let fault = fault_within(1 << 13, &tape.lines);
    assert!(fault.as_ref().is_some_and(|fault| fault.contains("take more than 8192 bytes")), "{fault:?}");
}

#[test]
fn the_scopes_of_a_history_take_limited_memory() {
    let tape = (0..200_u64).fold(Tape::default(), |tape, number| {
        tape.exchange(number, &format!("/api/v1/pods?labelSelector=a{number}"), &list(9, &[]))
    });
    assert_eq!(fault_within(1 << 20, &tape.lines), None);
    let fault = fault_within(1 << 13, &tape.lines);
    assert!(fault.as_ref().is_some_and(|fault| fault.contains("take more than 8192 bytes")), "{fault:?}");
}

#[test]
fn items_without_a_name_are_not_kept() {
    let items = vec![serde_json::json!({}); 10_000];
    let tape = Tape::default().exchange(1, "/api/v1/pods", &list(9, &items));
    assert_eq!(fault_within(1 << 18, &tape.lines), None);
    assert_eq!(fault_within(1 << 18, &list(9, &items)), None);
}

#[test]
fn what_a_page_adds_to_its_items_takes_limited_memory() {
    let items: Vec<String> = (0..100).map(|number| object(&format!("o{number}"), 4).to_string()).collect();
    let (items, kind) = (items.join(","), "x".repeat(1 << 14));
    let page = format!(r#"{{"metadata":{{"resourceVersion":"9"}},"items":[{items}],"kind":"{kind}List"}}"#);
    let whole = |page: &str| Tape::default().exchange(1, "/api/v1/pods?limit=100", page).lines;
    assert_eq!(fault_within(1 << 20, &whole(&page.replace(&kind, "Pod"))), None);
    let fault = fault_within(1 << 20, &whole(&page));
    assert!(fault.as_ref().is_some_and(|fault| fault.contains("take more than 1048576 bytes")), "{fault:?}");
}

/// A watch that tells of objects which take ten times as much memory as their text.
fn told_of_arrays(name: impl Fn(u64) -> String, kind: impl Fn(u64) -> &'static str) -> String {
    let told = |number: u64| {
        let mut object = object(&name(number), number + 10);
        object["spec"] = serde_json::json!(vec![[0; 0]; 1024]);
        event(kind(number), object)
    };
    let events: String = (0..100).map(told).collect();
    let watch = "/api/v1/pods?watch=1&resourceVersion=9";
    Tape::default().exchange(1, "/api/v1/pods", &list(9, &[])).exchange(2, watch, &events).lines
}

#[test]
fn objects_that_watches_tell_of_take_limited_memory() {
    let different = told_of_arrays(|number| format!("o{number}"), |_| "ADDED");
    let skip = |history: &mut History| {
        let mut steps = history.skip_to(Duration::from_secs(1));
        let Some(HistoryChange::Relisted { changed, .. }) = steps.pop().map(|step| step.change) else { panic!() };
        let names: Vec<String> = changed.iter().map(|object| key_of(object).unwrap().name().to_owned()).collect();
        assert!((10..50).contains(&names.len()), "{names:?}");
        assert!(names.iter().enumerate().all(|(at, name)| *name == format!("o{at}")), "{names:?}");
        assert!(history.next().is_none());
    };
    let expected = "take more than 1048576 bytes";
    let played = fault_within(1 << 20, &different);
    assert!(played.as_ref().is_some_and(|fault| fault.contains(expected)), "{played:?}");
    let skipped = fault_of_reading(1 << 20, &different, skip);
    assert!(skipped.as_ref().is_some_and(|fault| fault.contains(expected)), "{skipped:?}");
}

#[test]
fn the_list_of_a_first_state_counts_once_when_read_again() {
    let objects: Vec<Value> = (0..100).map(|number| object(&format!("o{number}"), 4)).collect();
    let size: u64 = objects.iter().map(weight).sum();
    let tape = Tape::default().exchange(1, "/api/v1/pods", &list(9, &objects));
    assert_eq!(fault_within(size + size / 2, &tape.lines), None);
}

#[test]
fn objects_that_were_replaced_or_deleted_give_their_memory_back() {
    let replaced = told_of_arrays(|_| "a".to_owned(), |_| "MODIFIED");
    let gone = told_of_arrays(|number| format!("o{}", number / 2), |number| ["ADDED", "DELETED"][number as usize % 2]);
    for tape in [replaced, gone] {
        assert_eq!(fault_within(1 << 18, &tape), None);
        let skip = |history: &mut History| drop(history.skip_to(Duration::from_secs(1)));
        assert_eq!(fault_of_reading(1 << 18, &tape, skip), None);
    }
}

#[test]
fn a_watch_of_metadata_stays_beside_a_single_list_of_whole_objects() {
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let watch = "/api/v1/pods?watch=1&resourceVersion=9";
    let metadata = Tape::default().exchange_as(1, "/api/v1/pods", accept, &list(9, &[object("a", 4)])).exchange_as(
        2,
        watch,
        accept,
        &event("MODIFIED", object("a", 11)),
    );
    let told = ["@1 relisted web/a 4 - at 9", "@2 modified web/a 11"];
    let with_list = metadata.exchange(3, "/api/v1/namespaces/web/pods", &list(10, &[object("a", 4)]));
    let history = of(&with_list.lines).unwrap();
    assert!(history.history.resources().all(|resource| resource.metadata_only));
    drop(history);
    assert_eq!(told_by(&with_list.lines), told);
    let watched = with_list.exchange(4, &watch.replace("=9", "=12"), &event("MODIFIED", object("a", 13)));
    assert!(told_by(&watched.lines).iter().all(|step| !step.contains("web/a 11")));
}

#[test]
fn a_bad_line_of_a_history_comes_without_advice_to_skip_it() {
    let tape = Tape::default().exchange(1, "/api/v1/pods", &list(9, &[object("a", 4)]));
    let log = event("ADDED", object("a", 4)) + &event("MODIFIED", object("a", 5));
    for content in [format!("{}{{\"t\"\n", tape.lines), format!("{log}{{\"type\"\n")] {
        let fault = of(&content).unwrap().history.error().unwrap().to_string();
        assert!(!fault.contains("skip"), "{fault}");
    }
}

/// The objects that are there after these steps, by key, with their versions.
fn state_after(steps: impl Iterator<Item = HistoryStep>) -> Vec<String> {
    let mut objects = std::collections::BTreeMap::new();
    for HistoryStep { resource, change, .. } in steps {
        let name = resource.collection.clone();
        let place = |object: &Value| (name.clone(), key_of(object).unwrap());
        match change {
            HistoryChange::Added(object) | HistoryChange::Modified(object) => {
                objects.insert(place(&object), object);
            }
            HistoryChange::Deleted(object) => {
                assert!(objects.remove(&place(&object)).is_some(), "{} was there", key_of(&object).unwrap());
            }
            HistoryChange::Reached(_) => {}
            HistoryChange::Relisted { changed, gone, .. } => {
                for key in gone {
                    assert!(objects.remove(&(name.clone(), key.clone())).is_some(), "{key} was there");
                }
                objects.extend(changed.into_iter().map(|object| (place(&object), object)));
            }
        }
    }
    objects.into_iter().map(|((name, key), object)| format!("{name} {key} {object}")).collect()
}

#[test]
fn what_is_skipped_leads_to_the_same_state() {
    for name in ["pods-rollout", "chaos", "gap", "protocol"] {
        let whole = capture(name);
        let (origin, end) = (whole.origin(), whole.end());
        for quarters in [1, 2, 4] {
            let time = origin + (end - origin) * quarters / 4;
            let expected = state_after(capture(name).take_while(|step| step.at <= time));
            for taken in [0, 7] {
                let mut history = capture(name);
                let mut steps: Vec<HistoryStep> = history.by_ref().take(taken).collect();
                if steps.last().is_some_and(|last| last.at > time) {
                    continue;
                }
                steps.extend(history.skip_to(time));
                assert_eq!(state_after(steps.into_iter()), expected, "{name}, {quarters}, behind {taken}");
                let rest = told_of(capture(name).skip_while(|step| step.at <= time));
                assert_eq!(told_of(history), rest, "{name}, {quarters}, behind {taken}");
            }
        }
    }
}

#[test]
fn an_object_that_comes_and_goes_while_skipped_is_not_told() {
    let tape = Tape::default().exchange(0, "/api/v1/pods", &list(1, &[object("a", 1), object("b", 1)])).exchange(
        10,
        "/api/v1/pods?watch=1&resourceVersion=1",
        &[
            event("ADDED", object("c", 2)),
            event("DELETED", object("a", 3)),
            event("MODIFIED", object("b", 4)),
            event("DELETED", object("c", 5)),
        ]
        .concat(),
    );
    let mut saved = of(&tape.lines).unwrap();
    let steps = saved.history.skip_to(Duration::from_secs(1));
    assert_eq!(
        steps.iter().map(|step| shown(&step.change)).collect::<Vec<_>>(),
        ["relisted web/a 1, web/b 1 - at 1", "relisted web/b 4 -web/a at 5"]
    );
}

#[test]
fn objects_that_a_list_no_longer_shows_go_in_order() {
    let names: Vec<String> = (0..50).map(|n| format!("{n:02}")).collect();
    let objects: Vec<Value> = names.iter().map(|name| object(name, 1)).collect();
    let tape =
        Tape::default().exchange(0, "/api/v1/pods", &list(1, &objects)).exchange(9, "/api/v1/pods", &list(2, &[]));
    let mut saved = of(&tape.lines).unwrap();
    let Some(HistoryChange::Relisted { gone, .. }) = saved.history.nth(1).map(|step| step.change) else { panic!() };
    assert_eq!(gone.iter().map(Key::name).collect::<Vec<_>>(), names);
}

/// A tape whose watch tells of states that are no values.
fn with_unreadable_states() -> Tape {
    let raw = |kind: &str, name: &str, version: u64, spec: &str| {
        let meta = format!(r#"{{"name":"{name}","namespace":"web","resourceVersion":"{version}"}}"#);
        format!(r#"{{"type":"{kind}","object":{{"kind":"Pod","apiVersion":"v1","metadata":{meta},"spec":{spec}}}}}"#)
            + "\n"
    };
    let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    let events = [
        raw("MODIFIED", "a", 6, "1"),
        raw("MODIFIED", "a", 7, "1e999"),
        raw("DELETED", "b", 8, r#""\ud800""#),
        raw("ADDED", "c", 9, &deep),
        raw("MODIFIED", "d", 10, "1e999"),
        raw("MODIFIED", "d", 11, "2"),
    ];
    Tape::default().exchange(0, "/api/v1/pods", &list(5, &["a", "b", "d"].map(|name| object(name, 1)))).exchange(
        9,
        "/api/v1/pods?watch=1&resourceVersion=5",
        &events.concat(),
    )
}

#[test]
fn an_unreadable_deletion_is_told_and_unreadable_states_are_counted() {
    let mut saved = of(&with_unreadable_states().lines).unwrap();
    let steps = told(&mut saved.history);
    assert_eq!(steps[1..], ["@9 modified web/a 6", "@9 deleted web/b 8", "@9 modified web/d 11"]);
    let unreadable = saved.history.unreadable().unwrap().to_string();
    let first =
        "3 states of objects cannot be read and are left out; the first is web/a at version 7: number out of range";
    assert!(unreadable.starts_with(first), "{unreadable}");
}

#[test]
fn an_old_state_does_not_replace_an_unreadable_one_that_is_skipped() {
    let mut saved = of(&with_unreadable_states().lines).unwrap();
    let steps = saved.history.skip_to(Duration::from_secs(1));
    assert_eq!(shown(&steps[1].change), "relisted web/d 11 -web/a, web/b at 11");
    assert_eq!(saved.history.unreadable().unwrap().count, 2);
}

#[test]
fn an_event_that_says_its_kind_twice_stays_in_its_resource() {
    let event = |rest: &str| {
        let metadata = r#""metadata":{"name":"a","resourceVersion":"1"}"#;
        format!(r#"{{"type":"ADDED","object":{{"apiVersion":"v1","kind":"Pod",{metadata}{rest}}}}}"#) + "\n"
    };
    let log =
        event("") + &event("").replace("ADDED", "BOOKMARK") + &event(r#","kind":"Pod""#).replace("\"1\"", "\"2\"");
    let mut saved = of(&log).unwrap();
    let steps = told(&mut saved.history);
    assert_eq!(saved.history.resources().map(|it| it.collection.as_str()).collect::<Vec<_>>(), ["v1/pods"]);
    assert_eq!(steps.last().unwrap(), "@2000 modified a 2");
}

#[test]
fn unreadable_items_of_a_list_are_counted_and_the_first_is_named() {
    let item =
        |name: &str, spec: &str| format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"4"}},"spec":{spec}}}"#);
    let items = [item("a", "1"), item("b", "1e999"), item("c", "1e999")].join(",");
    let list =
        format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9"}},"items":[{items}]}}"#);
    let kubectl = list
        .replace("PodList", "List")
        .replace(r#"{"metadata":{"name""#, r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name""#);
    for file in [Tape::default().exchange(1, "/api/v1/pods", &list).lines, kubectl] {
        let mut saved = of(&file).unwrap();
        assert_eq!(told(&mut saved.history).len(), 1);
        let unreadable = saved.history.unreadable().unwrap();
        assert_eq!(unreadable.count, 2);
        assert!(unreadable.first.starts_with("b at version 4: number out of range"), "{unreadable}");
    }
}

#[test]
fn a_log_of_metadata_names_no_resource_and_is_refused() {
    let log = event("ADDED", object("a", 4)).replace(r#""apiVersion":"v1""#, r#""apiVersion":"meta.k8s.io/v1""#);
    let log = log.replace(r#""kind":"Pod""#, r#""kind":"PartialObjectMetadata""#);
    let error = of(&log).err().unwrap();
    assert_eq!(error.kind(), CaptureErrorKind::Unrecognized);
    assert!(
        error
            .to_string()
            .ends_with(": a PartialObjectMetadata names no resource; save whole objects, as with `-o json`")
    );
}
