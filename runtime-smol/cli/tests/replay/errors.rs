//! Recordings that cannot be played: one line says where and what to do.

use crate::command::{Run, bundled, replay};
use crate::notifications::{Notifications, client_go};
use crate::replay::output::subject;
use crate::zipped::{breaking_off, gzip};
use listwatch_tests::scratch::{Scratch, gunzip};
use std::path::Path;

const EVENTS: &str = "--print events --format json";

/// The message of a run that failed, behind the file's name.
#[track_caller]
fn complaint(run: &Run, file: impl AsRef<Path>) -> &str {
    let (error, file) = (run.error(1), file.as_ref().display().to_string());
    let message = error.strip_prefix(&file).unwrap_or_else(|| panic!("it does not begin with FILE: {error}"));
    assert!(message.starts_with(':') && message.contains("; "), "it does not say what to do: {message}");
    message
}

/// The line that the message of a failed run names.
#[track_caller]
fn line(run: &Run, file: impl AsRef<Path>) -> usize {
    let message = complaint(run, file);
    let line = message.split(':').nth(1).and_then(|line| line.parse().ok());
    line.unwrap_or_else(|| panic!("no line: {message}"))
}

#[test]
fn a_file_that_is_not_there_or_no_file_is_named() {
    let empty = Scratch::path("");
    std::fs::create_dir(&empty).unwrap();
    for path in [Path::new("/nonexistent/capture.jsonl"), empty.as_ref()] {
        let run = replay(path, "");
        complaint(&run, path);
        assert_eq!(run.stdout, "");
    }
    std::fs::remove_dir(&empty).unwrap();
}

#[test]
fn a_file_with_nothing_to_play_is_named() {
    let version_only = concat!(
        r#"{"t":0,"id":1,"request":{"method":"GET","path":"/version","headers":{}}}"#,
        "\n",
        r#"{"t":1,"id":1,"response":{"status":200,"headers":{}}}"#,
        "\n",
        r#"{"t":1,"id":1,"data":"{}"}"#,
        "\n",
        r#"{"t":1,"id":1,"end":"eof"}"#,
        "\n"
    );
    let unknown_version = format!("{{\"capture\":3}}\n{version_only}");
    let yaml = "apiVersion: v1\nitems: []\n";
    for (content, says) in [
        ("", "empty"),
        (version_only, "neither lists nor watches"),
        (&*unknown_version, "version 3"),
        (yaml, "no JSON"),
        (r#"{"kind":"Pod","metadata":{"name":"a"}}"#, "single object"),
    ] {
        for bytes in [content.as_bytes().to_vec(), gzip(content)] {
            let file = Scratch::new(bytes);
            for options in ["", EVENTS] {
                let run = replay(&file, options);
                assert!(complaint(&run, &file).contains(says), "{}", run.stderr);
                assert_eq!(run.stdout, "");
            }
        }
    }
    let file = Scratch::new(unknown_version);
    assert_eq!(line(&replay(&file, "--skip-bad-lines"), &file), 1);
}

#[test]
fn damaged_zipped_data_is_named() {
    let garbage = [&[0x1f, 0x8b][..], b"\xff\x00 this is no gzip data"].concat();
    let magic_alone = [0x1f, 0x8b, 8].to_vec();
    for bytes in [garbage, magic_alone] {
        let file = Scratch::new(bytes);
        let run = replay(&file, "");
        assert!(complaint(&run, &file).contains("gzip data"), "{}", run.stderr);
    }
}

#[test]
fn zipped_data_that_breaks_off_is_played_up_to_there() {
    let whole = std::fs::read(bundled("pods-rollout.jsonl.gz")).unwrap();
    let file = Scratch::new(&whole[..whole.len() / 2]);
    let run = replay(&file, EVENTS);
    assert!(line(&run, &file) > 1);
    Notifications::read(&run.stdout).assert_beginning_of(&client_go("pods-rollout"));
}

#[test]
fn zipped_data_cut_behind_a_whole_line_is_reported() {
    let (lines, middle) = capture();
    let begin = |count: usize| {
        let bytes = breaking_off(lines[..count].join("\n") + "\n");
        let cut = format!("the gzip data breaks off at byte {}; copy the file again, unless ", bytes.len());
        (Scratch::new(bytes), cut)
    };
    let (file, cut) = begin(middle);
    let name = file.as_ref().display();
    for options in ["", EVENTS] {
        let run = replay(&file, options);
        let note = run.error(0);
        assert!(
            note.starts_with(&format!("{name}: {cut}")) && note.ends_with("; the recording was played up to there")
        );
        if options.is_empty() {
            assert_eq!(run.stdout.lines().next(), Some(&*format!("{name}: played up to where its data breaks off")));
        }
    }
    let (nothing_listed, cut) = begin(4);
    let run = replay(&nothing_listed, "");
    let complaint = complaint(&run, &nothing_listed);
    assert!(complaint.starts_with(": no list in it is complete (") && complaint.contains(&cut), "{complaint}");
}

/// The lines of a capture, and the number of one in the middle of its last watch.
fn capture() -> (Vec<String>, usize) {
    let lines: Vec<String> = gunzip(&bundled("chaos.jsonl.gz")).lines().map(str::to_owned).collect();
    let middle = lines.len() * 2 / 3;
    (lines, middle)
}

/// Every record before the bad line is played, and no other: as if the capture ended there.
#[test]
fn a_garbled_line_is_named_when_all_before_it_was_played() {
    let (mut lines, bad) = capture();
    let before = Scratch::new(lines[..bad - 1].join("\n"));
    lines[bad - 1] = lines[bad - 1].replace("\"id\":", "\"id\"");
    for bytes in [lines.join("\n").into_bytes(), gzip(lines.join("\n"))] {
        let file = Scratch::new(bytes);
        let run = replay(&file, EVENTS);
        assert_eq!(line(&run, &file), bad);
        let told = Notifications::read(&run.stdout);
        told.assert_same(&Notifications::read(&replay(&before, EVENTS).output()), "the lines before");
        told.assert_beginning_of(&client_go("chaos"));
        let summary = replay(&file, "");
        assert_eq!(line(&summary, &file), bad);
        let title = format!("{}: not played to its end", file.as_ref().display());
        assert_eq!(summary.stdout.lines().next(), Some(&*title));
    }
}

#[test]
fn a_capture_that_breaks_off_in_its_last_line_is_played_up_to_there() {
    let (lines, _) = capture();
    let mut text = lines.join("\n").into_bytes();
    text.truncate(text.len() - 7);
    for bytes in [gzip(&text), text] {
        let file = Scratch::new(bytes);
        let run = replay(&file, EVENTS);
        assert_eq!(line(&run, &file), lines.len());
        Notifications::read(&run.stdout).assert_beginning_of(&client_go("chaos"));
    }
}

#[test]
fn bad_lines_are_skipped_and_counted_where_that_is_asked_for() {
    let (mut lines, middle) = capture();
    lines.insert(middle, r#"{"t":1,"id":"#.into());
    lines.insert(3, "garbage".into());
    lines.push(r#"{"t":9,"id":"x"}"#.into());
    let file = Scratch::new(lines.join("\n"));
    assert_eq!(line(&replay(&file, ""), &file), 4);
    let told = Notifications::read(&replay(&file, &format!("{EVENTS} --skip-bad-lines")).output());
    told.assert_same(&client_go("chaos"), "skipping");
    assert_eq!(subject(&replay(&file, "--skip-bad-lines").output(), "bad lines"), ["3 skipped"]);
    assert!(subject(&replay(bundled("chaos.jsonl.gz"), "--skip-bad-lines").output(), "bad lines").is_empty());
}

/// No event is printed, although the file is not empty.
#[test]
fn a_playback_in_vain_is_an_error() {
    let watch_alone = r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods?watch=1","headers":{}}}"#;
    let refused = [
        r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods","headers":{}}}"#,
        r#"{"t":1,"id":1,"response":{"status":403,"headers":{}}}"#,
        r#"{"t":1,"id":1,"end":"eof"}"#,
    ];
    let broken_off = r#"{"kind":"List","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":"#;
    let one_page =
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"x"},"items":[{"metadata":{"name":"a"}}]}"#;
    for content in [watch_alone, &refused.join("\n"), broken_off, one_page] {
        let file = Scratch::new(content);
        let run = replay(&file, EVENTS);
        complaint(&run, &file);
        assert_eq!(run.stdout, "{\"store\":[]}\n");
    }
    let file = Scratch::new(refused.join("\n"));
    let message = ": no list in it is complete (403 in the list); record or save it again from the beginning";
    assert_eq!(complaint(&replay(&file, ""), &file), message);
}

#[test]
fn a_log_of_tables_of_which_nothing_is_decoded_is_an_error() {
    let row = r#"{"cells":["a"],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"a"}}}"#;
    let table = format!(r#"{{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{{}},"rows":[{row}]}}"#);
    let file = Scratch::new(format!("{{\"type\":\"ADDED\",\"object\":{table}}}\n").repeat(2));
    for options in ["", "--suggest-capacities"] {
        let run = replay(&file, options);
        let complaint = run.stderr.lines().last().unwrap_or_default();
        assert!(complaint.contains(": 2 objects in it, of which none can be decoded ("), "{options}: {}", run.stderr);
        assert_eq!(run.status, Some(1), "{options}");
    }
}

#[test]
fn a_log_of_several_watches_goes_on_behind_each_error() {
    let event = |kind: &str, name: &str, version: u64| {
        let metadata = format!(r#"{{"name":"{name}","namespace":"d","resourceVersion":"{version}"}}"#);
        format!(r#"{{"type":"{kind}","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata}}}}}"#) + "\n"
    };
    let error = |code: u16| {
        let status =
            format!(r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","code":{code}}}"#);
        format!(r#"{{"type":"ERROR","object":{status}}}"#) + "\n"
    };
    let log = [
        event("ADDED", "a", 10),
        event("ADDED", "gone", 11),
        event("DELETED", "gone", 12),
        error(410),
        event("ADDED", "b", 20),
        error(500),
        event("MODIFIED", "b", 21),
        error(410),
    ];
    let file = Scratch::new(log.concat());
    let store = replay(&file, "--print store --format json").output();
    for (name, is_there) in [("d/a", true), ("d/b", true), ("gone", false)] {
        assert_eq!(store.contains(name), is_there, "{name}: {store}");
    }
    let summary = replay(&file, "--verbose").output();
    assert_eq!(subject(&summary, "cache"), ["2 objects"]);
    assert_eq!(subject(&summary, "requests")[2], "0 left over");
}
