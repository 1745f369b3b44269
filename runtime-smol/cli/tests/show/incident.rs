//! A controller that recorded itself, and what it did.

use crate::show::show;
use listwatch::Key;
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::file::Tape;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch_tests::maps::{ConfigMap, Secret, config_map, secret};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::time::Duration;

/// What the maps have, as Secrets may have it too.
const FIRST: &str = "Zmlyc3Q=";
const SECOND: &str = "aHVudGVyMg==";

/// Copies the text of each map, into the map and into a Secret of the same name.
fn copies(world: World) -> Result<(), RunError> {
    let controller = Controller::new("copies", world);
    let (maps, secrets) = (controller.informer::<ConfigMap>(), controller.informer::<Secret>());
    controller.reads(&secrets).reconciles(&maps).workers(1).on_report(|_, _| {}).run(async |cx, key: Key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        let text = map.data["text"].clone();
        cx.change(&map, |map| map.data["copy"] = text.clone()).await?;
        if let Some(secret) = secrets.get(&key) {
            cx.change(&secret, |secret| secret.data = json!({ "copy": text })).await?;
        }
        Ok(Outcome::Done)
    })
}

/// The tape of an hour in which another client changes a map, and a write is refused.
fn tape() -> Scratch {
    let tape = Scratch::path(".jsonl");
    let cluster = SimulatedCluster::new();
    for name in ["c500", "c501"] {
        cluster.create(config_map(name, &json!({ "text": FIRST }))).unwrap();
    }
    cluster.create(secret("c500")).unwrap();
    let world = World::from(cluster.clone());
    let (it, clock) = (cluster, world.clock().clone());
    let config = world.recorder_config().include_secrets(true);
    let world = world.recorded(&Tape::create(&tape, config).unwrap());
    let scenario = async move {
        clock.sleep(Duration::from_secs(1)).await;
        it.fail_next("PATCH /api/v1/namespaces/web/configmaps/c500", Fault::Refused(503))?;
        it.patch("v1/configmaps", "web/c500", json!({ "data": { "text": SECOND } }))?;
        clock.sleep(Duration::from_secs(60)).await;
        it.delete("v1/configmaps", "web/c501")?;
        clock.sleep(Duration::from_secs(1)).await;
        Ok(())
    };
    copies(world.try_until(scenario)).unwrap();
    tape
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Each line of JSON; the last one is the summary.
fn json_of(tape: &Scratch, options: &str) -> Vec<Value> {
    let output = show(tape, &format!("--format json {options}")).output();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_reconcile_is_told_with_its_causes_its_reads_its_writes_and_its_outcome() {
    let tape = tape();
    let told = json_of(&tape, "web/c500");
    let reconciles: Vec<&Value> = told.iter().filter(|entry| entry["what"] == "reconcile").collect();
    let first = reconciles[0];
    assert_eq!((&first["key"], &first["reconcile"]["of"]), (&json!("web/c500"), &json!("copies")));
    assert_eq!(first["reconcile"]["outcome"], "done");
    assert!(first["reconcile"]["causes"][0].as_str().unwrap().contains("/api/v1/configmaps/web/c500"), "{first}");
    assert_eq!(first["reconcile"]["read"][0]["cache"], "/api/v1/configmaps");
    let writes = first["writes"].as_array().unwrap();
    assert_eq!(
        (&writes[0]["event"], &writes[0]["status"], &writes[0]["resource"]),
        (&json!("PATCH"), &json!(200), &json!("configmaps"))
    );
    let change = json!([{ "field": "data.copy", "change": "added", "new": FIRST }]);
    assert_eq!(writes[0]["changes"], change);
    let failed = reconciles.iter().find(|entry| entry["failed"] == true).unwrap();
    assert!(failed["reconcile"]["outcome"].as_str().unwrap().starts_with("failed: "), "{failed}");
    assert_eq!((&failed["writes"][0]["status"], &failed["writes"][0]["failed"]), (&json!(503), &json!(true)));
    let again = reconciles.last().unwrap();
    assert_eq!(again["reconcile"]["attempt"], 1);
}

#[test]
fn a_change_is_told_with_the_reconcile_that_made_it_and_one_of_others_without() {
    let tape = tape();
    let told = json_of(&tape, "changes web/c500 --kind configmaps");
    let changes: Vec<&Value> = told.iter().filter(|entry| entry["event"] == "MODIFIED").collect();
    let fields = |change: &Value| change["changes"][0]["field"].as_str().unwrap().to_owned();
    assert_eq!(
        changes.iter().map(|change| fields(change)).collect::<Vec<_>>(),
        ["data.copy", "data.text", "data.copy"]
    );
    assert_eq!(changes[0]["by"]["controller"], "copies");
    assert!(changes[0]["by"]["reconcile"].is_u64() && changes[1]["by"]["reconcile"].is_null(), "{told:?}");
    assert_eq!(
        changes[1]["changes"][0],
        json!({ "field": "data.text", "change": "changed", "old": FIRST, "new": SECOND })
    );
}

#[test]
fn lines_for_people_have_a_date_and_the_writes_of_a_reconcile_below_it() {
    let tape = tape();
    let output = show(&tape, "reconciles c501").output();
    let lines = lines(&output);
    let (date, rest) = lines[0].split_at(24);
    assert!(date.ends_with('Z') && date.as_bytes()[19] == b'.', "{output}");
    assert!(rest.starts_with("  reconcile   web/c501  ") && rest.contains(" of copies: done in "), "{output}");
    assert!(
        lines[1].starts_with("    because     ") && lines[2].starts_with("    read        /api/v1/configmaps at "),
        "{output}"
    );
    assert!(lines[3].starts_with("    PATCH       configmaps web/c501  +data.copy Zmlyc3Q=  "), "{output}");
    let relative = show(&tape, "reconciles c501 --relative").output();
    assert!(
        relative.trim_start().starts_with("0.") && relative.lines().next().unwrap().contains("s  reconcile"),
        "{relative}"
    );
}

#[test]
fn failures_are_the_refused_write_and_its_reconcile_alone() {
    let tape = tape();
    let output = show(&tape, "failures").output();
    assert!(output.contains("  503 in ") && output.contains(" of copies: failed: "), "{output}");
    assert_eq!(output.matches("reconcile   ").count(), 1, "{output}");
    assert!(
        output.trim_end().lines().last().unwrap().starts_with("shown: 1 reconcile; left out by the options: "),
        "{output}"
    );
}

#[test]
fn values_of_secrets_are_shown_only_where_that_is_asked_for() {
    let tape = tape();
    for options in [
        "changes writes --kind secrets",
        "changes writes --kind secrets --format json",
        "--at end --kind Secret -o yaml",
    ] {
        let output = show(&tape, options).output();
        assert!(output.contains("copy") && !output.contains(SECOND), "{options}: {output}");
        let shown = show(&tape, &format!("{options} --show-secrets")).output();
        assert!(shown.contains(SECOND), "{options}: {shown}");
    }
}

#[test]
fn the_summary_counts_what_was_found_and_what_is_shown() {
    let tape = tape();
    let told = json_of(&tape, "writes");
    let (last, shown) = told.split_last().unwrap();
    assert_eq!(last["summary"]["shown"]["write"].as_u64().unwrap_or(0) as usize, shown.len());
    assert_eq!((&last["summary"]["whole"], &last["summary"]["limited"]), (&json!(true), &json!(false)));
    let limited = json_of(&tape, "--limit 3");
    assert_eq!((limited.len(), &limited[3]["summary"]["limited"]), (4, &json!(true)));
}

#[test]
fn the_tape_of_a_killed_recorder_is_told_up_to_there() {
    let text = std::fs::read_to_string(tape()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let sent = lines.iter().rposition(|line| line.contains(r#""method":"PATCH""#)).unwrap();
    let cut = Scratch::new(lines[..=sent].concat());
    let run = show(&cut, "failures --since 2s");
    let output = run.output();
    assert!(
        output.contains("the recording ends before its answer")
            && output.contains("the recording ends before its outcome"),
        "{output}"
    );
    let last = output.lines().last().unwrap();
    assert!(
        last.starts_with("the recording breaks off: the tape has no last line, and 1 reconcile has no outcome"),
        "{output}"
    );
    let within = Scratch::new(&text[..text.len() - 30]);
    let run = show(&within, "writes");
    assert!(run.error(1).contains("the line breaks off at column") && run.stdout.contains("PATCH"), "{}", run.stderr);
    let skipped = show(&within, "writes --skip-bad-lines").output();
    assert!(skipped.contains("1 broken line was skipped"), "{skipped}");
}

#[test]
fn an_object_is_shown_as_it_was() {
    let tape = tape();
    let text = |at: &str| show(&tape, &format!("--at {at} web/c500 -o yaml --kind configmaps")).output();
    assert!(text("0s").contains(FIRST) && !text("0s").contains("copy:"), "{}", text("0s"));
    assert!(text("900ms").contains("copy: Zmlyc3Q=") && text("end").contains("copy: aHVudGVyMg=="), "{}", text("end"));
    let table = show(&tape, "--at 10s").output();
    assert!(
        table.contains("configmap/c500") && table.contains("configmap/c501") && table.contains("secret/c500"),
        "{table}"
    );
    assert!(!show(&tape, "--at end").output().contains("c501"));
    let error = show(&tape, "--at 3h");
    assert!(error.error(2).contains("--at is outside of the recording, which lasts"), "{}", error.stderr);
}
