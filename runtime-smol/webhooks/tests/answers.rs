//! What an API server is answered.

use crate::foos::{creation, foo};
use crate::program::{MUTATE, VALIDATE, program, wait_for};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn one_connection_carries_reviews_of_all_functions() {
    let program = program();
    let mut connection = program.connect();
    let mut review = |path: &str, review: &Value| connection.post(path, &review.to_string()).unwrap().response();
    let refused = review(VALIDATE, &creation(&json!({ "replicas": 11 })));
    assert_eq!((&refused["uid"], &refused["allowed"]), (&json!("7"), &json!(false)));
    assert_eq!(
        (&refused["status"]["code"], &refused["status"]["message"]),
        (&json!(403), &json!("at most ten replicas"))
    );
    let patched = review(MUTATE, &creation(&json!({ "other": "x" })));
    let patch = STANDARD.decode(patched["patch"].as_str().unwrap()).unwrap();
    let expected = json!([{ "op": "add", "path": "/spec/replicas", "value": 1 }]);
    assert_eq!(serde_json::from_slice::<Value>(&patch).unwrap(), expected);
    let mut rehearsal = creation(&json!({ "replicas": 1 }));
    rehearsal["request"]["dryRun"] = json!(true);
    assert_eq!(review(VALIDATE, &rehearsal)["warnings"], json!(["this is a rehearsal"]));
    let request = json!({ "uid": "8", "desiredAPIVersion": "hooks.example.com/v2", "objects": [foo("a", &json!({ "replicas": 2 }))] });
    let conversion = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request });
    let converted = review("/convert", &conversion);
    assert_eq!((&converted["uid"], &converted["convertedObjects"][0]["spec"]), (&json!("8"), &json!({ "size": 2 })));
}

#[test]
fn a_function_that_panics_fails_its_request_and_no_other() {
    let program = program();
    let mut connection = program.connect();
    let failed = connection.post(VALIDATE, &creation(&json!({ "replicas": 7 })).to_string()).unwrap();
    assert_eq!(failed.status, 500, "{failed:?}");
    assert!(!failed.body.contains("seven"), "{failed:?}");
    assert!(program.reported("panicked: seven"));
    let next = connection.post(VALIDATE, &creation(&json!({ "replicas": 6 })).to_string()).unwrap();
    assert_eq!(next.response()["allowed"], true);
}

#[test]
fn a_function_that_hangs_holds_up_no_other_function() {
    let program = program();
    let slow = creation(&json!({ "replicas": 8 })).to_string();
    let mut hanging: Vec<_> = (0..40).map(|_| program.connect()).collect();
    let path = format!("{VALIDATE}?timeout=1s");
    let request = crate::client::posted(&path, "application/json", &slow);
    hanging.iter_mut().for_each(|connection| connection.send(&request).unwrap());
    wait_for("a function hangs", || program.reported("has not answered within 1 s"));
    let begin = Instant::now();
    let answer = program.connect().post(MUTATE, &creation(&json!({})).to_string()).unwrap();
    assert_eq!(answer.response()["allowed"], true);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    for connection in &mut hanging {
        assert_eq!(connection.answer().unwrap().status, 504);
    }
}

#[test]
fn open_requests_are_answered_before_the_program_ends() {
    let program = program();
    let (mut open, mut idle) = (program.connect(), program.connect());
    let address = program.address();
    open.send(&crate::client::posted(VALIDATE, "application/json", &creation(&json!({ "replicas": 8 })).to_string()))
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(program);
    assert_eq!(open.answer().unwrap().response()["allowed"], true);
    assert!(idle.ends() && crate::client::connect(address).is_err());
}
