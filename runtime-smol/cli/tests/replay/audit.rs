//! Audit logs, as every command reads them.

use crate::command::{Run, command, replay, run};
use crate::inert::{HOSTILE, assert_none, trouble};
use crate::notifications::Notifications;
use crate::serve::serving::Serving;
use crate::zipped::gzip;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EVENTS: &str = "--print events --format json";

/// A write of the ConfigMap `a`, at a second.
fn write(second: u32, verb: &str, code: u32, response: Value) -> Value {
    let collection = "/api/v1/namespaces/d/configmaps";
    let path = if verb == "create" { collection.to_owned() } else { format!("{collection}/a") };
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": second.to_string(),
        "stage": "ResponseComplete", "requestURI": path, "verb": verb, "user": { "username": "jane" },
        "responseStatus": { "code": code }, "responseObject": response,
        "requestReceivedTimestamp": format!("2026-11-22T02:00:{second:02}Z"),
        "stageTimestamp": format!("2026-11-22T02:00:{second:02}Z"),
    })
}

fn map(version: &str) -> Value {
    json!({ "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "name": "a", "namespace": "d", "uid": "1", "resourceVersion": version } })
}

fn writes() -> [String; 3] {
    let deleted = json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" });
    let writes =
        [write(1, "create", 201, map("10")), write(2, "update", 200, map("12")), write(4, "delete", 200, deleted)];
    writes.map(|write| format!("{write}\n"))
}

/// The notifications, each as its event and its version.
#[track_caller]
fn told(run: Run, line: &str) -> Vec<String> {
    assert_eq!((run.status, &*run.stderr), (Some(0), &*format!("listwatch: {line}\n")));
    let told = Notifications::read(&run.stdout);
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    told.all().map(|event| text(event, "event") + " " + &text(event, "rv")).collect()
}

const LINE: &str = "audit log: 3 writes of 1 user and 0 reads from 2026-11-22T02:00:01Z to 2026-11-22T02:00:04Z";
const TOLD: [&str; 3] = ["add 10", "update 12", "delete 13"];

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("listwatch-audit-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), content).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _is_left = std::fs::remove_dir_all(&self.0);
    }
}

/// A replay whose temporary files are in this folder, of which none may be left.
#[track_caller]
fn replayed_in(folder: &Folder, file: &Path) -> Run {
    let mut replay = command(["replay"]);
    replay.arg(file).args(EVENTS.split_whitespace()).env("TMPDIR", &folder.0);
    let run = run(replay);
    assert_eq!(folder.0.read_dir().unwrap().count(), 0, "a file is left");
    run
}

#[test]
fn an_audit_log_is_replayed_as_what_its_answers_tell() {
    for (number, bytes) in [writes().concat().into_bytes(), gzip(writes().concat())].into_iter().enumerate() {
        let (file, folder) = (Scratch::new(bytes), Folder::new(&format!("empty-{number}")));
        assert_eq!(told(replayed_in(&folder, file.as_ref()), LINE), TOLD);
    }
}

#[test]
fn a_folder_of_rotated_logs_is_one_log_by_their_dates() {
    let (folder, [create, update, delete]) = (Folder::new("rotated"), writes());
    folder.write("audit.log", delete);
    folder.write("audit-2.log", create);
    folder.write("audit-1.log.gz", gzip(update));
    assert_eq!(told(replay(&folder.0, EVENTS), LINE), TOLD);
    folder.write("notes.txt", "x");
    let run = replay(&folder.0, EVENTS);
    assert!(run.stderr.ends_with("1 file of the folder is no audit log, and left out\n"), "{}", run.stderr);
    assert_eq!(run.status, Some(0));
    // As a rotation leaves it.
    folder.write("audit-3.log", r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1","sta"#);
    let run = replay(&folder.0, EVENTS);
    assert!(run.stderr.ends_with("2 files of the folder are no audit logs, and left out\n"), "{}", run.stderr);
}

#[test]
fn a_log_whose_newest_event_comes_first_is_refused_with_a_way_out() {
    let [create, update, delete] = writes();
    let (folder, log) = (Folder::new("reversed"), [delete, update, create].concat());
    folder.write("audit.log", &log);
    for file in [folder.0.join("audit.log"), folder.0.clone()] {
        assert!(
            replay(&file, EVENTS)
                .error(1)
                .contains("audit.log: the newest event of this audit log comes first; reverse")
        );
    }
}

#[test]
fn an_audit_log_is_served_at_its_dates() {
    let file = Scratch::new(writes().concat());
    let mut served = Serving::file(&file, "--at 02:00:03");
    assert!(served.greeting[1].contains("2026-11-22T02:00:03Z"), "{:?}", served.greeting);
    assert!(served.complaint().ends_with(LINE));
    let map = served.get("/api/v1/namespaces/d/configmaps/a");
    assert_eq!((map.status, &map.body["metadata"]["resourceVersion"]), (200, &json!("12")));
    // A command that is killed leaves its temporary file.
    assert_eq!(served.end_by("-TERM"), Some(0));
}

#[test]
fn what_a_log_lacks_is_said_in_one_line() {
    let bare = |level: &str| {
        let mut event = write(3, "update", 200, Value::Null);
        event["level"] = level.into();
        event["auditID"] = level.into();
        event.to_string()
    };
    let refused = write(5, "update", 409, Value::Null);
    let log = [
        writes().concat(),
        bare("Metadata"),
        "\n".into(),
        bare("Request"),
        "\n{\"kind\":\n".into(),
        refused.to_string(),
    ];
    let file = Scratch::new(log.concat());
    let run = replay(&file, EVENTS);
    let line = run.error(0);
    let lacks =
        "; failed: 1; left out: lines that cannot be read: 1; no body: level Metadata: 1; no body: level Request: 1; ";
    assert!(line.contains(lacks) && line.contains(":6: the line breaks off at"), "{line}");
    // Without an answer's body, there is no state.
    let metadata = Scratch::new(bare("Metadata") + "\n");
    let run = replay(&metadata, "");
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("no body: level Metadata: 1") && run.stderr.lines().count() == 2, "{}", run.stderr);
}

#[test]
fn text_of_an_audit_log_never_reaches_the_terminal_raw() {
    let mut object = map("11");
    object["metadata"]["name"] = HOSTILE.into();
    let mut user = write(2, "patch", 200, object);
    user["user"]["username"] = HOSTILE.into();
    let mut broken = write(3, "patch", 200, json!({}));
    (broken["verb"], broken["stage"]) = (HOSTILE.into(), 7.into());
    let file = Scratch::new(writes()[0].clone() + &format!("{user}\n{broken}\n"));
    let outputs = ["--print events", "--print store", "-o json"];
    assert_none(outputs.iter().filter_map(|output| trouble(&replay(&file, output), output)));
}

#[test]
fn a_log_that_cannot_be_read_on_is_one_error() {
    let mut cut = gzip(writes().concat());
    cut.truncate(cut.len() - 12);
    let (file, folder) = (Scratch::new(cut), Folder::new("cut"));
    let error = replayed_in(&folder, file.as_ref());
    assert!(error.error(1).contains("the gzip data breaks off"), "{error:?}");
}
