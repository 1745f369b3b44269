//! `--against`: the writes of builds of a controller, beside each other and beside their tape.

use crate::command::{Run, command, run};
use crate::inert::{HOSTILE, assert_none, trouble};
use listwatch::api::Api;
use listwatch::controller::{Controller, Outcome, REPLAY_WRITES, RunError};
use listwatch::file::{Playback, RecorderConfig, Tape};
use listwatch::http::Cluster;
use listwatch::testing::SimulatedCluster;
use listwatch::{Key, Resource, World};
use listwatch_tests::maps::{ConfigMap, Secret, config_map, secret};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Copies the text of each map once, and keeps a copy in a Secret of the same name.
fn copies(world: World, change: impl Fn(&str) -> Option<String> + Sync) -> Result<(), RunError> {
    let controller = Controller::new("copies", world);
    let (maps, secrets) = (controller.informer::<ConfigMap>(), controller.informer::<Secret>());
    controller.reads(&secrets).reconciles(&maps).workers(4).on_report(|_, _| {}).run(async |cx, key: Key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        if map.data["copy"].is_string() {
            return Ok(Outcome::Done);
        }
        let text = map.data["text"].as_str().unwrap_or_default();
        let Some(copy) = change(text) else { return Ok(Outcome::Done) };
        cx.change(&map, |map| map.data["copy"] = json!(copy)).await?;
        if let Some(secret) = secrets.get(&key) {
            cx.change(&secret, |secret| secret.data = json!({ "copy": copy })).await?;
        }
        Ok(Outcome::Done)
    })
}

fn as_recorded(text: &str) -> Option<String> {
    Some(format!("hunter-{text}"))
}

/// A tape of the controller, as `as_recorded` copies, over maps with these texts.
fn tape(texts: &[&str]) -> Scratch {
    let tape = Scratch::path(".jsonl");
    record(tape.as_ref(), texts, |config| config);
    tape
}

fn record(tape: &Path, texts: &[&str], settings: impl Fn(RecorderConfig) -> RecorderConfig) {
    let cluster = SimulatedCluster::new();
    for (number, text) in texts.iter().enumerate() {
        let name = format!("m{number}");
        cluster.create(config_map(&name, &json!({ "text": text }))).unwrap();
        if number == 0 {
            cluster.create(secret(&name)).unwrap();
        }
    }
    let world = World::from(cluster).lasting(Duration::from_secs(5));
    let config = settings(world.recorder_config().include_secrets(true));
    let world = world.recorded(&Tape::create(tape, config).unwrap());
    copies(world, as_recorded).unwrap();
}

/// In a child of the command, this is one of the programs: its name and its tape are the last arguments.
#[test]
fn program() {
    let Some(writes) = std::env::var_os(REPLAY_WRITES) else { return };
    let arguments: Vec<_> = std::env::args().collect();
    let [.., name, tape] = &arguments[..] else { panic!("{arguments:?}") };
    let replay = |tape: &str, change: &(dyn Fn(&str) -> Option<String> + Sync)| {
        copies(Playback::from_file(tape).unwrap().into(), change)
    };
    let ended = match &**name {
        "recorded" => replay(tape, &as_recorded),
        "changed" => replay(tape, &|text| as_recorded(if text == "b" { "c" } else { text })),
        "idle" => replay(tape, &|_| None),
        "other" => replay(&format!("{tape}.other"), &as_recorded),
        "absent" => Ok(()),
        "live" => live(),
        "hangs" => loop {
            std::thread::park();
        },
        "aborts" => {
            let _ended = replay(tape, &as_recorded);
            std::process::abort()
        }
        "dies" => replay(tape, &|_| std::process::exit(7)),
        "escapes" => {
            std::io::stderr().write_all(HOSTILE.replace('\n', "").as_bytes()).unwrap();
            print!("{HOSTILE}");
            std::process::exit(9)
        }
        "forks" => {
            let goes_on = Command::new("sh").args(["-c", "sleep 5 > /dev/null &"]).status();
            assert!(goes_on.unwrap().success());
            replay(tape, &as_recorded)
        }
        "cuts" => {
            let ended = replay(tape, &as_recorded);
            let text = std::fs::read(&writes).unwrap();
            std::fs::write(&writes, &text[..text.len() - 3]).unwrap();
            ended
        }
        "loses" => {
            let ended = replay(tape, &as_recorded);
            let text = std::fs::read_to_string(&writes).unwrap();
            let kept: Vec<_> =
                text.split_inclusive('\n').filter(|line| !line.starts_with("{\"reconcile\":2,")).collect();
            std::fs::write(&writes, kept.concat()).unwrap();
            ended
        }
        "scribbles" => {
            let ended = replay(tape, &as_recorded);
            let text = std::fs::read_to_string(&writes).unwrap();
            std::fs::write(&writes, text.replacen("{\"controller\"", "[[[[", 1)).unwrap();
            ended
        }
        "links" => {
            std::fs::create_dir(&writes).unwrap();
            Ok(())
        }
        _ => panic!("{arguments:?}"),
    };
    if let Err(error) = &ended {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(ended.is_err()));
}

/// Follows a cluster, whatever the arguments are. Nothing is sent there.
fn live() -> Result<(), RunError> {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let world = World::from(Cluster::at(&format!("http://{}", server.local_addr().unwrap())).unwrap());
    let nodes = Api::<Value>::new(&Resource::new("/api/v1/nodes"));
    let client = world.client().clone().with_timeout(Duration::from_secs(5));
    let ended = copies(world.lasting(Duration::from_secs(1)), as_recorded);
    let node = smol::block_on(client.call(nodes.get("a")));
    assert_eq!(server.accept().map(drop).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
    let (why, node) = (ended.as_ref().unwrap_err().to_string(), node.unwrap_err().to_string());
    let (_, why) = why.split_once("the controller cannot run: ").unwrap();
    assert!(node.contains(why), "{node}");
    ended
}

#[test]
fn a_program_that_does_not_take_its_tape_asks_no_cluster() {
    let run = against(tape(&["a", "b"]), &["live"], &[]);
    let why = "it wrote no writes; it ended (exit status: 1); its last message: the controller cannot run: \
               LISTWATCH_REPLAY_WRITES is set, so the program is run for a replay, and no cluster is asked; \
               let it take the tape, which `{}` in its command or its last argument names";
    assert!(run.error(1).contains(why), "{run:?}");
}

/// `--against` with a program of this file.
fn build(name: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!("'{}' --exact replay::against::program --nocapture --quiet {name}", program.display())
}

fn against(tape: impl AsRef<Path>, names: &[&str], options: &[&str]) -> Run {
    let mut command = command(["replay"]);
    command.arg(tape.as_ref()).args(options);
    for name in names {
        command.args(["--against", &build(name)]);
    }
    run(command)
}

fn json_of(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn builds_that_write_as_the_tape_does_are_the_same() {
    let tape = tape(&["a", "b", "c"]);
    for names in [&["recorded"][..], &["recorded", "recorded"], &["changed", "changed"], &["idle", "idle"]] {
        let told = against(&tape, names, &[]).output();
        assert!(told.contains(" writes are the same, and no other was made\n"), "{names:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{names:?}: {told}");
    }
    let found = json_of(&against(&tape, &["recorded"], &["-o", "json"]));
    assert_eq!(
        (&found["isSame"], &found["writes"]["same"], &found["divergences"]),
        (&json!(true), &json!(4), &json!([]))
    );
}

#[test]
fn a_changed_line_is_told_with_its_reconcile_its_causes_and_its_fields() {
    let tape = tape(&["a", "b", "c"]);
    for (names, before, after) in [
        (&["changed"][..], "hunter-b", "hunter-c"),
        (&["recorded", "changed"], "hunter-b", "hunter-c"),
        (&["changed", "recorded"], "hunter-c", "hunter-b"),
    ] {
        let told = against(&tape, names, &[]);
        assert_eq!(told.error(3), "the writes differ");
        let [counts, first] = told.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{told:?}") };
        assert!(
            counts.ends_with("3 writes are the same, 0 missing, 0 additional, 1 different; 0 other outcomes"),
            "{counts}"
        );
        assert!(
            first.starts_with("the first: reconcile ") && first.contains(" of copies, web/m1, attempt 1 (Initial "),
            "{first}"
        );
        assert!(first.ends_with(&format!("data.copy \"{before}\" → \"{after}\"")), "{first}");
        let found = json_of(&against(&tape, names, &["-o", "json"]));
        let divergence = &found["divergences"][0];
        assert_eq!(divergence["fields"], json!([format!("data.copy \"{before}\" → \"{after}\"")]));
        assert_eq!((&divergence["key"], &divergence["kind"]), (&json!("web/m1"), &json!("different")));
    }
}

/// By the file of its writes, a build differs from the tape as it does by its own findings.
#[test]
fn findings_by_a_file_are_those_of_the_program() {
    let (tape, writes) = (tape(&["a", "b", "c", "b"]), Scratch::path(".writes"));
    for name in ["changed", "idle"] {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "replay::against::program", "--nocapture", "--quiet", name]).arg(tape.as_ref());
        let run = run({
            program.env(REPLAY_WRITES, writes.as_ref());
            program
        });
        std::fs::remove_file(&writes).unwrap();
        let told = against(&tape, &[name], &[]).stdout;
        let (_, told) = told.split_once(": ").unwrap();
        let known: Vec<_> = told.lines().take(2).collect();
        assert!(known.len() == 2 && run.stderr.ends_with(&format!("{}\n", known.join("\n"))), "{told}{run:?}");
    }
}

#[test]
fn differences_that_nobody_reads_are_told_by_the_status() {
    let tape = tape(&["b"]);
    let mut command = command(["replay"]);
    command.arg(tape.as_ref()).args(["--against", &build("changed")]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn writes_that_one_build_alone_makes_are_missing_or_additional() {
    let tape = tape(&["a", "b"]);
    for (names, kind) in [(["recorded", "idle"], "missing"), (["idle", "recorded"], "additional")] {
        let found = json_of(&against(&tape, &names, &["-o", "json"]));
        assert_eq!((&found["writes"][kind], &found["writes"]["same"]), (&json!(3), &json!(0)), "{found}");
    }
    let found = json_of(&against(&tape, &["idle"], &["-o", "json"]));
    assert_eq!(found["writes"]["missing"], json!(3), "{found}");
}

#[test]
fn the_values_of_secrets_are_not_told() {
    let tape = tape(&["b"]);
    let found = json_of(&against(&tape, &["changed"], &["-o", "json"]));
    let of_the_secret =
        found["divergences"].as_array().unwrap().iter().find(|it| it["target"].to_string().contains("secrets"));
    assert_eq!(of_the_secret.unwrap()["fields"], json!(["data.copy changed"]), "{found}");
}

#[test]
fn a_changed_secret_differs_although_the_tape_has_hashes_in_place_of_values() {
    let tape = Scratch::path(".jsonl");
    record(tape.as_ref(), &["b"], |config| config.include_secrets(false));
    let run = against(&tape, &["recorded", "changed"], &["-o", "json"]);
    assert_eq!(run.error(3), "the writes differ");
    let found = json_of(&run);
    let of_the_secret =
        found["divergences"].as_array().unwrap().iter().find(|it| it["target"].to_string().contains("secrets"));
    assert_eq!(of_the_secret.unwrap()["fields"], json!(["data.copy changed"]), "{found}");
    let same = against(&tape, &["changed", "changed"], &[]).output();
    assert!(same.contains("2 writes are the same, and no other was made"), "{same}");
}

#[test]
fn a_secret_of_which_the_tape_has_hashes_alone_is_not_compared() {
    let tape = Scratch::path(".jsonl");
    record(tape.as_ref(), &["b"], |config| config.include_secrets(false));
    let run = against(&tape, &["recorded"], &[]);
    assert!(run.error(1).starts_with("1 write of Secrets was not compared; compare two builds"), "{run:?}");
    assert!(run.stdout.contains("1 write is the same") && run.stdout.contains("1 write of Secrets was"), "{run:?}");
    assert_eq!(json_of(&against(&tape, &["recorded"], &["-o", "json"]))["isSame"], json!(false));
}

#[test]
fn programs_that_do_not_replay_the_tape_are_one_clear_error_each() {
    let tape = tape(&["a", "b"]);
    let other = format!("{}.other", tape.as_ref().display());
    record(other.as_ref(), &["a", "b"], |config| config.seed(7));
    let mut troubles = Vec::new();
    for (name, expected) in [
        (
            "absent",
            "it did not replay the tape: it wrote no writes; it ended (exit status: 0); give a program whose controllers",
        ),
        ("aborts", "it ended (signal: 6 (SIGABRT)"),
        ("dies", "its writes are cut: the replay of copies did not end; it ended (exit status: 7)"),
        ("escapes", "it wrote no writes; it ended (exit status: 9); its last message: a\\u001b[2J"),
        ("cuts", "its writes are cut in line "),
        ("loses", "its writes lack reconcile 2 of copies, web/m"),
        ("scribbles", "line 2 of its writes is none that a replay writes"),
        ("links", "its writes are not in a regular file"),
        ("other", "it replayed another tape; let it take the tape's path from its arguments"),
    ] {
        for names in [&[name][..], &[name, "recorded"], &["recorded", name]] {
            let run = against(&tape, names, &[]);
            let error = run.error(1);
            assert!(error.contains(expected), "{names:?}: {error}");
            assert!(run.stdout.is_empty(), "{names:?}: {}", run.stdout);
            troubles.extend(trouble(&run, "untold").filter(|_| name == "escapes"));
        }
    }
    std::fs::remove_file(other).unwrap();
    assert_none(troubles);
    let hangs = against(&tape, &["hangs"], &["--within", "1s"]);
    assert!(
        hangs.error(1).contains("it still ran after 1s and was stopped; --within TIME gives it longer"),
        "{hangs:?}"
    );
    let forks = against(&tape, &["forks"], &[]);
    assert_eq!(forks.status, Some(0), "{forks:?}");
}

#[test]
fn what_cannot_be_compared_is_told_before_a_program_runs() {
    let tape = tape(&["a"]);
    let plain = crate::command::bundled("pods-rollout.jsonl.gz");
    for (file, options, status, expected) in [
        (plain.as_path(), &[][..], 1, "no controller recorded itself on it, so there are no writes to compare"),
        (tape.as_ref(), &["-o", "yaml"], 2, "with --against, -o takes json alone"),
        (Path::new("absent.jsonl"), &[], 1, "absent.jsonl"),
        (tape.as_ref(), &["--against", "/absent/program", "--against", "/absent"], 2, "--against takes one program"),
    ] {
        let run = against(file, &["escapes"], options);
        assert!(run.error(status).contains(expected), "{run:?}");
    }
    let mut absent = command(["replay"]);
    let run = run({
        absent.arg(tape.as_ref()).args(["--against", "/absent/program"]);
        absent
    });
    assert!(run.error(1).starts_with("/absent/program: it cannot be started: "), "{run:?}");
}

#[test]
fn a_tape_of_another_cluster_is_no_other_build() {
    let tape = Scratch::path(".jsonl");
    let other = format!("{}.other", tape.as_ref().display());
    record(tape.as_ref(), &["a"], |config| config.cluster("u-1"));
    record(other.as_ref(), &["a"], |config| config.cluster("u-2"));
    let run = against(&tape, &["recorded", "other"], &[]);
    std::fs::remove_file(other).unwrap();
    let expected = "it replayed a tape of the cluster u-2, and this one is of the cluster u-1";
    assert!(run.error(1).contains(expected), "{run:?}");
}

/// A build beside itself never differs, whatever the tape is: it is the same, or there is an error.
#[test]
fn no_tape_makes_a_build_differ_from_itself() {
    let tape = tape(&["a", "b", "c"]);
    let text = std::fs::read_to_string(&tape).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut damaged, middle) = (Vec::new(), lines.len() / 2);
    for place in [1, middle, lines.len() - 1] {
        let (mut without, mut twice, mut swapped) = (lines.clone(), lines.clone(), lines.clone());
        without.remove(place);
        twice.insert(place, lines[place]);
        swapped.swap(place, place - 1);
        damaged.extend([without, twice, swapped].map(|lines| lines.concat().into_bytes()));
        let cut: usize = lines[..place].iter().map(|line| line.len()).sum();
        damaged.push(text.as_bytes()[..cut + 9].to_vec());
        damaged.push(text.as_bytes()[..cut].to_vec());
    }
    for part in 1..12 {
        let (mut flipped, place) = (text.clone().into_bytes(), text.len() * part / 12);
        flipped[place] ^= 1;
        damaged.push(flipped);
    }
    let mut statuses = Vec::new();
    for (number, bytes) in damaged.into_iter().enumerate() {
        std::fs::write(&tape, bytes).unwrap();
        let run = against(&tape, &["changed", "changed"], &["--within", "60s"]);
        match run.status {
            Some(0) => assert!(run.stdout.contains("and no other was made"), "{number}: {run:?}"),
            _ => assert!(!run.error(1).contains("panicked"), "{number}: {run:?}"),
        }
        statuses.push(run.status);
    }
    assert!(statuses.contains(&Some(0)) && statuses.contains(&Some(1)), "{statuses:?}");
}

#[test]
fn the_keys_of_the_findings_as_json_are_those_that_programs_read() {
    let tape = tape(&["a", "b", "c"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let of_all = "attempt causes controller follows key kind line method reconcile target";
    for (names, kind, own) in [
        (["recorded", "changed"], "different", " fields"),
        (["recorded", "idle"], "missing", ""),
        (["idle", "recorded"], "additional", " fields"),
    ] {
        let found = json_of(&against(&tape, &names, &["-o", "json"]));
        assert_eq!(
            keys(&found),
            "breaksOff divergences follows hasHashes isSame new notCompared old outcomes reconciles tape tooLong writes"
        );
        let first = &found["divergences"][0];
        assert_eq!((&first["kind"], &first["follows"]), (&json!(kind), &json!(false)), "{found}");
        let mut expected: Vec<&str> = of_all.split(' ').chain(own.split_whitespace()).collect();
        expected.sort_unstable();
        assert_eq!(keys(first), expected.join(" "), "{found}");
    }
}
