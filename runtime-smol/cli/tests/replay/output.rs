//! The output for people.

use crate::command::{Run, bundled, replay};
use crate::notifications::client_go;
use listwatch::text::Counted;
use listwatch_tests::scratch::Scratch;
use serde_json::Value;

/// A terminal's width.
const WIDTH: usize = 100;

/// The lines of the summary under one name.
pub(crate) fn subject<'a>(summary: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = summary.lines().map(|line| (line.get(2..14).unwrap_or("").trim(), line.get(15..).unwrap_or("")));
    let first = lines.by_ref().find(|(subject, _)| *subject == name).map(|(_, line)| line);
    first.into_iter().chain(lines.take_while(|(subject, _)| subject.is_empty()).map(|(_, line)| line)).collect()
}

/// The number in front of `word` in a line such as `1 added, 2 deleted`.
fn number(line: &str, word: &str) -> usize {
    let part = line.split(", ").find_map(|part| part.strip_suffix(word));
    part.and_then(|part| part.trim().parse().ok()).unwrap_or_else(|| panic!("no number of {word} in {line:?}"))
}

#[test]
fn the_summary_of_a_capture_counts_what_client_go_counted() {
    let summary = replay(bundled("gap.jsonl.gz"), "--verbose").output();
    let expected = client_go("gap");
    let count = |field: &str, value: Value| expected.all().filter(|event| event[field] == value).count();
    let events = subject(&summary, "events")[0];
    assert_eq!(number(events, "added"), count("event", "add".into()));
    assert_eq!(number(events, "updated") + number(events, "recreated"), count("event", "update".into()));
    assert_eq!(number(events, "deleted"), count("final_state_unknown", false.into()));
    assert_eq!(number(events, "vanished"), count("final_state_unknown", true.into()));
    let queue = subject(&summary, "work queue")[0];
    let (added, folded) = (number(queue, "keys added"), number(queue, "adds folded into a waiting key"));
    assert_eq!(added + folded, expected.all().count());
    let workers = subject(&summary, "workers")[0];
    assert_eq!((number(workers, "reconciles"), number(workers, "retries")), (added, 0));
    let objects = expected.store["store"].as_array().unwrap().len();
    assert_eq!(subject(&summary, "cache"), [format!("{objects} objects")]);
}

#[test]
fn the_summary_says_what_became_of_the_requests_and_why_the_reflector_began_again() {
    let gap = replay(bundled("gap.jsonl.gz"), "--verbose").output();
    let requests = ["8 answered (4 list, 4 watch)", "0 refused", "1 left over (1 list)"];
    assert_eq!(subject(&gap, "requests"), requests);
    assert_eq!(subject(&gap, "relists"), ["1 after 410 Expired in the watch", "1 after 410 Expired on a page"]);
    assert_eq!(subject(&gap, "rewatches"), ["1 after connection broken in the watch"]);

    let chaos = replay(bundled("chaos.jsonl.gz"), "--verbose").output();
    assert_eq!(subject(&chaos, "requests")[1], "1 refused (1 watch)");
    let rewatches = ["1 after connection broken in the watch", "1 after connection refused in the watch"];
    assert_eq!(subject(&chaos, "rewatches"), rewatches);

    let protocol = replay(bundled("protocol.jsonl.gz"), "--verbose").output();
    // Those of all resources, each of which the summary names.
    assert_eq!(subject(&protocol, "requests")[0], "10 answered (6 list, 2 watch, 2 watch-list)");
    assert_eq!(subject(&protocol, "resources").len(), 8);
    assert_eq!(subject(&protocol, "requests")[3], "4 not played (neither list nor watch)");
}

#[test]
fn the_summary_tells_throughput_and_peak_memory_and_fits_a_terminal() {
    for capture in ["gap", "chaos", "pods-rollout", "protocol"] {
        let path = bundled(&format!("{capture}.jsonl.gz"));
        let summary = replay(&path, "--verbose").output();
        let (title, rest) = summary.split_once('\n').unwrap();
        assert_eq!(title, format!("{}: played to its end", path.display()));
        assert!(rest.lines().all(|line| line.chars().count() <= WIDTH), "{rest}");
        assert!(subject(rest, "throughput")[0].contains(" events/s, "), "{rest}");
        assert!(subject(rest, "peak memory")[0].ends_with(if cfg!(target_os = "linux") { " MB" } else { "system" }));
    }
}

#[test]
fn the_summary_tells_when_it_was_and_the_objects_that_changed_most() {
    let summary = replay(bundled("pods-rollout.jsonl.gz"), "").output();
    assert_eq!(subject(&summary, "time"), ["40.119 s"], "{summary}");
    let most = subject(&summary, "most changed");
    let counts: Vec<usize> = most.iter().map(|line| number(line.split_once(": ").unwrap().1, "changes")).collect();
    assert_eq!(counts.len(), 5, "{summary}");
    assert!(counts.is_sorted_by(|one, next| one >= next) && counts[0] > 3, "{summary}");
    for machine in ["status", "work queue", "workers", "throughput", "peak memory", "loops"] {
        assert!(subject(&summary, machine).is_empty(), "{machine}: {summary}");
    }
}

#[test]
fn the_summary_tells_objects_that_go_back_and_forth_as_loops() {
    let state = |version: u32, text: &str| {
        format!(
            r#"{{"type":"{}","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","namespace":"d","uid":"u","resourceVersion":"{version}"}},"data":{{"k":"{text}"}}}}}}"#,
            if version == 1 { "ADDED" } else { "MODIFIED" }
        )
    };
    let events: Vec<String> = (1..=24).map(|version| state(version, ["on", "off"][version as usize % 2])).collect();
    let file = Scratch::new(events.join("\n"));
    let summary = replay(&file, "").output();
    assert_eq!(subject(&summary, "loops").len(), 1, "{summary}");
    assert!(subject(&summary, "loops")[0].starts_with("d/a: 1"), "{summary}");
    let events: Vec<String> = (1..=24).map(|version| state(version, &version.to_string())).collect();
    let file = Scratch::new(events.join("\n"));
    assert!(subject(&replay(&file, "").output(), "loops").is_empty());
}

#[test]
fn the_summary_counts_the_values_of_each_index() {
    let path = bundled("chaos.jsonl.gz");
    let summary = replay(&path, "--index label:app --index namespace").output();
    let store = replay(&path, "--print store --format json").output();
    let store: Value = serde_json::from_str(&store).unwrap();
    let entries = store["store"].as_array().unwrap().iter();
    let namespaces: std::collections::BTreeSet<_> =
        entries.map(|entry| entry.as_str().unwrap().split_once('/').unwrap().0).collect();
    assert_eq!(subject(&summary, "indexes")[1], format!("namespace, {} values", namespaces.len()));
    assert_eq!(subject(&summary, "indexes")[0], "label:app, 6 values");
    assert!(subject(&replay(&path, "").output(), "indexes").is_empty());
}

#[test]
fn the_store_is_one_line_of_json_and_nothing_else() {
    let output = replay(bundled("chaos.jsonl.gz"), "--print store --format json").output();
    assert_eq!(output.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap(), client_go("chaos").store);
}

/// The rows of a table as `key version`.
fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let row = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    lines.map(row).map(|row| format!("{}/{} {}", row[0], row[1], row[2])).collect()
}

#[test]
fn the_store_is_a_sorted_table_with_a_header() {
    let output = replay(bundled("chaos.jsonl.gz"), "--print store").output();
    let mut lines = output.lines();
    let header = lines.next().unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["NAMESPACE", "NAME", "VERSION"]);
    let rows = rows(lines);
    assert!(rows.is_sorted());
    assert_eq!(serde_json::json!({ "store": rows }), client_go("chaos").store);
    assert_aligned(&output, ["NAME", "VERSION"]);
}

/// Fails where a line of a table does not begin a column where the header does, or is too wide.
#[track_caller]
fn assert_aligned<const N: usize>(table: &str, columns: [&str; N]) {
    let columns = columns.map(|name| table.lines().next().and_then(|header| header.rfind(name)).unwrap());
    for line in table.lines() {
        let begins = |at: usize| line[at - 1..].starts_with(' ') && !line[at..].starts_with(' ');
        assert!(line.len() <= WIDTH && columns.into_iter().all(begins), "{line}");
    }
}

#[test]
fn events_are_a_table_with_a_header_and_the_store_below_it() {
    let output = replay(bundled("gap.jsonl.gz"), "--print events").output();
    let (events, store) = output.split_once("\n\n").unwrap();
    let mut lines = events.lines();
    assert_eq!(lines.next().unwrap().split_whitespace().collect::<Vec<_>>(), ["EVENT", "KEY", "VERSION"]);
    assert_aligned(events, ["KEY", "VERSION"]);
    let expected = client_go("gap");
    assert_eq!(lines.clone().count(), expected.all().count());
    let vanished = expected.all().filter(|event| event["final_state_unknown"] == true).count();
    assert_eq!(lines.filter(|line| line.starts_with("vanished ")).count(), vanished);
    assert_eq!(serde_json::json!({ "store": rows(store.lines().skip(1)) }), expected.store);
}

/// A list of `bad` objects without a name, and a good one.
fn with_bad_objects(bad: usize) -> Run {
    let items = r#"{"metadata":{},"kind":"Pod"},"#.repeat(bad);
    let good = r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"}}"#;
    let list = format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"9"}},"items":[{items}{good}]}}"#);
    replay(Scratch::new(list), "")
}

#[test]
fn objects_that_cannot_be_decoded_are_told_ten_times_and_then_counted_one_without_a_plural() {
    for (bad, lines) in [(1, 1), (10, 10), (11, 11), (250, 11)] {
        let run = with_bad_objects(bad);
        assert_eq!((run.status, run.stderr.lines().count()), (Some(0), lines), "{}", run.stderr);
        assert!(
            subject(&run.stdout, "undecodable")[0].starts_with(&Counted(bad, "object ", "objects ").to_string()),
            "{}",
            run.stdout
        );
        assert_eq!(subject(&run.stdout, "cache"), ["1 object"]);
        let rest = run.stderr.lines().nth(10).map(|line| {
            line.ends_with(&format!(": {} could not be decoded", Counted(bad - 10, "more object", "more objects")))
        });
        assert_eq!(rest, (bad > 10).then_some(true), "{}", run.stderr);
    }
    assert_eq!(subject(&with_bad_objects(0).output(), "undecodable"), [""; 0]);
}

#[test]
fn a_replay_prints_its_objects_in_the_forms_of_kubectl() {
    let capture = bundled("pods-rollout.jsonl.gz");
    let store = "--print store --format json";
    let changes = Scratch::new(replay(&capture, "-o json").output());
    assert_eq!(replay(&changes, store).output(), replay(&capture, store).output());
    let first = |options: &str| replay(&capture, options).output().lines().next().unwrap_or_default().to_owned();
    assert!(first("-o name").starts_with("pod/"), "{}", first("-o name"));
    assert!(first("-o yaml") == "type: ADDED" || first("-o yaml") == "---", "{}", first("-o yaml"));
    for output in ["table", "wide"] {
        let told = replay(&capture, &format!("-o {output}")).output();
        assert!(told.lines().next().is_some_and(|head| head.contains("NAMESPACE")) && told.contains("+spec"), "{told}");
    }
    let lines = |options: &str| replay(&capture, options).output().lines().count();
    assert!(lines("-o name --print store") < lines("-o name"));
}

#[test]
fn a_replay_prints_the_dates_of_the_recording_and_ages_at_them() {
    let capture = bundled("pods-rollout.jsonl.gz");
    let table = replay(&capture, "-o table").output();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let times: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert!(times.is_sorted() && times[0] == "2026-11-20T10:41:54Z", "{}", times[0]);
    assert!(times.last() == Some(&"2026-11-20T10:42:19Z"), "{times:?}");
    assert!(rows.iter().all(|row| row[4].ends_with('s')), "{table}");
    let store = replay(&capture, "-o table --print store").output();
    assert!(store.lines().skip(1).all(|row| row.ends_with('s')), "{store}");
    let json = replay(&capture, "-o json").output();
    let printed =
        json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["time"].as_str().unwrap().to_owned());
    assert_eq!(printed.collect::<Vec<_>>(), times);
}
