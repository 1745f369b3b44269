//! Recordings, played.

use crate::playback::support::{
    Ending, Played, Player, bundled, data, end, exchange, file, request, response, text, unsealed,
};
use flate2::read::GzDecoder;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher, Resource};
use listwatch_transport_file::{CaptureError, CaptureErrorKind, Playback, PlaybackConfig, Recorder, RecorderConfig};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";

/// A path where no file is.
pub(crate) fn no_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _was_not_there = std::fs::remove_file(&path);
    path
}

pub(crate) fn recorder<L: ListerWatcher>(path: &Path, transport: L) -> Recorder<L> {
    Recorder::create(path, &Resource::new(PODS), transport, RecorderConfig::new()).unwrap()
}

/// The requests of the capture `name` in their order, without those for something else.
fn targets(name: &str) -> Vec<String> {
    let mut lines = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(bundled(name)).unwrap()).read_to_string(&mut lines).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let paths = records.filter_map(|record| Some(record["request"]["path"].as_str()?.to_owned()));
    paths.filter(|path| path.contains("/pods?") || path.contains("/configmaps")).collect()
}

/// When the parts came, kept within `slack` milliseconds of truth: times are written in whole ones.
fn assert_alike(recorded: &Played, played: &Played, slack: u64, what: &str) {
    assert_eq!(recorded.head, played.head, "{what}");
    assert!(recorded.body == played.body, "{what}");
    let chunks = |played: &Played| played.chunks.iter().map(|(len, _)| *len).collect::<Vec<_>>();
    assert_eq!(chunks(recorded), chunks(played), "{what}");
    assert!(recorded.took.abs_diff(played.took) <= slack, "{what}");
    match (&recorded.ending, &played.ending) {
        (Ending::Failed(recorded), Ending::Failed(played)) => assert_eq!(recorded.kind, played.kind, "{what}"),
        (recorded, played) => assert_eq!(recorded, played, "{what}"),
    }
}

#[test]
fn a_recording_of_a_capture_plays_as_the_capture() {
    for (name, file) in [("pods-rollout", "copy.jsonl"), ("chaos", "copy.jsonl.gz"), ("gap", "copy2.jsonl.gz")] {
        let path = no_file(file);
        let mut original = Player::of(recorder(&path, Playback::from_file(bundled(name)).unwrap()));
        let targets = targets(name);
        let recorded: Vec<Played> = targets.iter().map(|target| original.ask(target)).collect();
        original.playback.finish().unwrap();
        let mut copy = Player::new(&path);
        for (target, recorded) in targets.iter().zip(&recorded) {
            assert_alike(recorded, &copy.ask(target), 1, &format!("{name} {target}"));
        }
        assert_eq!(copy.playback.error(), None);
        assert!(recorded.len() > 4 && recorded.iter().any(|played| !played.chunks.is_empty()));
    }
}

#[test]
fn every_kind_of_failure_is_recorded_as_what_it_is() {
    let refused = [request(0, 1, PODS), end(1, 1, "connection refused: nobody there")];
    let broken = [request(2, 2, PODS), response(3, 2), end(4, 2, "timed out: 30 s")];
    let tls = [request(5, 3, PODS), end(6, 3, "TLS failed: unknown issuer")];
    let credentials = [request(7, 4, PODS), end(8, 4, "credentials cannot be used: user `me`")];
    let path = no_file("failures.jsonl");
    let lines = [&refused[..], &broken[..], &tls[..], &credentials[..]].concat();
    let mut original = Player::of(recorder(&path, Playback::from_file(file(text(&lines))).unwrap()));
    let recorded: Vec<Played> = (0..4).map(|_| original.ask(PODS)).collect();
    drop(original);
    let kind = |played: &Played| match &played.ending {
        Ending::Failed(error) => error.kind,
        other => panic!("{other:?}"),
    };
    use TransportErrorKind::{Credentials, Refused, Timeout, Tls};
    assert_eq!(recorded.iter().map(kind).collect::<Vec<_>>(), [Refused, Timeout, Tls, Credentials]);
    let mut copy = Player::new(&path);
    recorded.iter().for_each(|recorded| assert_alike(recorded, &copy.ask(PODS), 0, PODS));
}

#[test]
fn what_is_recorded_can_be_played_before_the_recording_ends() {
    for name in ["killed.jsonl", "killed.jsonl.gz"] {
        let path = no_file(name);
        let lines = [exchange(0, 1, PODS, "first").to_vec(), exchange(5_000, 2, PODS, "second").to_vec()].concat();
        let mut original = Player::of(recorder(&path, Playback::from_file(file(text(&lines))).unwrap()));
        assert_eq!(original.ask(PODS).text(), "first");
        original.now = original.now + Duration::from_secs(5);
        // Nothing more comes, and the process ends without a word.
        original.open("/api/v1/nodes");
        assert_eq!(original.poll(&mut [0; 9]), Incoming::Idle { until: None });
        std::mem::forget(original);
        assert_eq!(Player::new(&path).ask(PODS).text(), "first", "{name}");
    }
}

#[test]
fn a_compressed_recording_that_is_killed_within_a_second_holds_its_answers() {
    let path = no_file("killed-at-once.jsonl.gz");
    let lines = exchange(0, 1, PODS, "first").to_vec();
    let mut original = Player::of(recorder(&path, Playback::from_file(file(text(&lines))).unwrap()));
    assert_eq!(original.ask(PODS).text(), "first");
    assert!(original.now.saturating_since(Instant::ZERO) < Duration::from_secs(1));
    original.open("/api/v1/nodes");
    assert_eq!(original.poll(&mut [0; 9]), Incoming::Idle { until: None });
    std::mem::forget(original);
    let mut copy = Player::new(&path);
    assert_eq!(copy.ask(PODS).text(), "first");
    copy.open("/api/v1/nodes");
    let _ = copy.poll(&mut [0; 9]);
    assert_eq!(copy.playback.error(), None);
}

#[test]
fn only_harmless_headers_are_recorded_and_only_the_owner_can_read() {
    let path = no_file("headers.jsonl");
    let head = r#"{"t":1,"id":1,"response":{"status":429,"headers":{"content-type":"text/plain; charset=x","retry-after":"7","set-cookie":"secret"}}}"#;
    let lines = [request(0, 1, PODS), head.to_owned(), end(2, 1, "eof")];
    let mut original = Player::of(recorder(&path, Playback::from_file(file(text(&lines))).unwrap()));
    original.ask(PODS);
    original.playback.finish().unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    let expected = [
        r#"{"capture":2}"#,
        r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/pods","headers":{"accept":"application/json"}}}"#,
        r#"{"t":1,"id":1,"response":{"status":429,"headers":{"content-type":"text/plain","retry-after":"7"}}}"#,
        r#"{"t":2,"id":1,"end":"eof"}"#,
    ];
    assert_eq!(unsealed(&written), expected);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
}

/// A recorder of a watch that brings "early", and then nothing.
fn watched(path: &Path) -> Player<Recorder<Playback>> {
    let lines = [
        request(0, 1, WATCH),
        response(1, 1),
        data(2, 1, "early"),
        data(99_000, 1, "much later"),
        request(99_000, 2, WATCH),
        response(99_001, 2),
        data(99_002, 2, "again"),
    ];
    let mut original = Player::of(recorder(path, Playback::from_file(file(text(&lines))).unwrap()));
    original.open(WATCH);
    let mut buf = [0; 64];
    while !matches!(original.poll(&mut buf), Incoming::Data { .. }) {
        original.now = original.now + Duration::from_millis(1);
    }
    original
}

/// It ends as cut by the client, after as long as it was waited for.
#[test]
fn a_request_given_up_is_told_from_one_that_broke_off() {
    let path = no_file("given-up.jsonl");
    let mut original = watched(&path);
    original.now = original.now + Duration::from_secs(40);
    original.playback.abort(RequestId(1));
    original.ask(WATCH);
    original.playback.finish().unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(unsealed(&written)[4], r#"{"t":40002,"id":1,"end":"cut","by":"client"}"#, "{written}");

    let mut copy = Player::new(&path);
    let given_up = copy.ask(WATCH);
    let Ending::Failed(error) = &given_up.ending else { panic!("{given_up:?}") };
    assert_eq!(error.to_string(), "timed out: recorded: aborted by the client");
    assert_eq!((given_up.text(), given_up.took), ("early", 40_002), "as long as it was waited for");
    assert_eq!(copy.ask(WATCH).text(), "again");
}

/// No client is left to go on.
#[test]
fn a_request_that_is_given_up_at_the_end_is_where_the_recording_ends() {
    let path = no_file("stopped.jsonl");
    let mut original = watched(&path);
    original.playback.abort(RequestId(1));
    original.playback.finish().unwrap();
    let mut copy = Player::new(&path);
    let stopped = copy.ask(WATCH);
    assert_eq!((stopped.text(), &stopped.ending), ("early", &Ending::Over));
    assert_eq!(copy.playback.error(), None);
    assert!(unsealed(&std::fs::read_to_string(&path).unwrap()).last().unwrap().ends_with("\"by\":\"client\"}"));
}

#[test]
fn what_is_given_up_after_its_end_or_before_it_began_has_one_end_or_none() {
    let path = no_file("over.jsonl");
    let lines = exchange(0, 1, PODS, "all");
    let mut original = Player::of(recorder(&path, Playback::from_file(file(text(&lines))).unwrap()));
    original.ask(PODS);
    original.playback.abort(RequestId(1));
    original.open(PODS);
    original.playback.abort(RequestId(2));
    original.playback.finish().unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.matches("\"end\"").count(), 1, "{written}");
    assert_eq!(Player::new(&path).ask(PODS).text(), "all");
}

#[test]
fn metadata_that_were_recorded_do_not_pass_for_whole_objects() {
    let path = no_file("metadata.jsonl");
    let original = Playback::from_file(file(text(&exchange(0, 1, PODS, "metadata")))).unwrap();
    let mut original = Player::of(recorder(&path, original));
    let metadata = Request { resource: Resource::new(PODS).metadata_only(), ..Request::parse(PODS) };
    original.ask_for(&metadata);
    original.playback.finish().unwrap();

    let mut copy = Player::new(&path);
    assert_eq!(copy.playback.resource(), Some(&metadata.resource));
    assert_eq!(copy.ask(PODS).ending, Ending::Over);
    let error = copy.playback.error().unwrap();
    assert_eq!((error.kind(), error.line()), (CaptureErrorKind::MetadataOnly, Some(2)));
    assert!(error.to_string().contains("request metadata only, or record again"), "{error}");
    assert_eq!(Player::new(&path).ask_for(&metadata).text(), "metadata");
}

#[test]
fn whole_objects_that_were_recorded_too_are_found_behind_metadata() {
    let path = no_file("both.jsonl");
    let both = text(&exchange(0, 1, PODS, "metadata")) + &text(&exchange(1, 2, PODS, "whole"));
    let mut original = Player::of(recorder(&path, Playback::from_file(file(both)).unwrap()));
    original.ask_for(&Request { resource: Resource::new(PODS).metadata_only(), ..Request::parse(PODS) });
    original.ask(PODS);
    original.playback.finish().unwrap();

    let mut copy = Player::new(&path);
    assert_eq!(copy.ask(PODS).text(), "whole");
    assert_eq!(copy.ask(PODS).ending, Ending::Over);
}

#[test]
fn a_recording_bears_its_date() {
    let path = no_file("dated.jsonl");
    let started = std::time::UNIX_EPOCH + Duration::from_secs(1_795_171_312);
    let config = RecorderConfig::new().started(started);
    let nothing = Playback::from_file(bundled("gap")).unwrap();
    Recorder::create(&path, &Resource::new(PODS), nothing, config).unwrap().finish().unwrap();
    let written = unsealed(&std::fs::read_to_string(&path).unwrap());
    assert_eq!(written, ["{\"capture\":2,\"started\":\"2026-11-20T10:41:52Z\"}"]);
}

#[test]
fn a_recording_may_be_dated_before_1970_or_after_9999() {
    use std::time::UNIX_EPOCH;
    for (started, first_line) in [
        (UNIX_EPOCH - Duration::from_secs(1), "{\"capture\":2,\"started\":\"1969-12-31T23:59:59Z\"}"),
        (UNIX_EPOCH + Duration::from_secs(1 << 40), "{\"capture\":2}"),
    ] {
        let path = no_file("out-of-range.jsonl");
        let config = RecorderConfig::new().started(started);
        let transport = Playback::from_file(bundled("chaos")).unwrap();
        Recorder::create(&path, &Resource::new(PODS), transport, config).unwrap().finish().unwrap();
        assert_eq!(unsealed(&std::fs::read_to_string(&path).unwrap()), [first_line]);
    }
}

#[test]
fn secrets_are_recorded_only_on_request() {
    let create = |config| {
        let path = no_file("secrets.jsonl");
        let nothing = Playback::from_file(bundled("gap")).unwrap();
        let created = Recorder::create(&path, &Resource::new("/api/v1/namespaces/a/secrets"), nothing, config);
        (created.err().map(|error| error.kind()), path.exists())
    };
    assert_eq!(create(RecorderConfig::new()), (Some(CaptureErrorKind::Secrets), false));
    assert_eq!(create(RecorderConfig::new().include_secrets(true)), (None, true));
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let path = file("precious");
    let error = refused(&path);
    assert_eq!(
        error.to_string(),
        format!("{}: the file exists already; delete it, or give another name", path.display())
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let in_no_folder = refused("/no/such/folder/x.jsonl".as_ref()).to_string();
    assert!(
        in_no_folder.ends_with(": cannot be made: there is no folder /no/such/folder; make it first"),
        "{in_no_folder}"
    );
    let folder = refused(env!("CARGO_TARGET_TMPDIR").as_ref()).to_string();
    assert!(folder.ends_with(": this is there already, and is no file; give another name"), "{folder}");
}

fn refused(path: &Path) -> CaptureError {
    let nothing = Playback::with_config(bundled("gap"), PlaybackConfig::new()).unwrap();
    Recorder::create(path, &Resource::new(PODS), nothing, RecorderConfig::new()).unwrap_err()
}

#[cfg(unix)]
#[test]
fn a_recording_does_not_follow_a_link() {
    let path = no_file("link.jsonl");
    std::os::unix::fs::symlink("elsewhere", &path).unwrap();
    assert!(refused(&path).to_string().contains("exists already"));
}

#[test]
fn a_recording_is_compressed_by_its_name() {
    let path = no_file("small.jsonl.gz");
    let mut original = Player::of(recorder(&path, Playback::from_file(bundled("pods-rollout")).unwrap()));
    original.ask("/api/v1/pods?limit=50");
    original.playback.finish().unwrap();
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    assert!(text.len() as u64 > 3 * path.metadata().unwrap().len());
    assert!(unsealed(&text).last().unwrap().ends_with("\"end\":\"eof\"}"));
}

#[test]
fn the_last_events_of_a_compressed_recording_do_not_wait_for_the_next_ones() {
    let path = no_file("last.jsonl.gz");
    let lines = [
        request(0, 1, "/api/v1/pods?watch=1"),
        response(0, 1),
        data(1_500, 1, "early"),
        data(1_700, 1, "last"),
        data(99_000, 1, "much later"),
    ];
    let mut original = Player::of(recorder(&path, Playback::from_file(file(text(&lines))).unwrap()));
    original.open("/api/v1/pods?watch=1");
    let mut buf = [0; 64];
    loop {
        match original.poll(&mut buf) {
            Incoming::Data { len, .. } if &buf[..len] == b"much later" => break,
            Incoming::Idle { until: Some(until) } if until.saturating_since(original.now).as_secs() > 30 => break,
            Incoming::Idle { until: Some(until) } => original.now = until,
            _ => {}
        }
    }
    std::mem::forget(original);
    assert_eq!(Player::new(&path).ask("/api/v1/pods?watch=1").text(), "earlylast");
}
