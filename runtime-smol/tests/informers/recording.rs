//! Over a recording of several resources.

use crate::informers::support::{SOON, with_informers};
use core::time::Duration;
use listwatch::decode::Raw;
use listwatch::file::Playback;
use listwatch::{Informers, Resource};
use serde_json::{Value, json};
use std::path::Path;

/// A list of one object of each resource, and a watch that brings another one after a second.
fn capture(resources: &[&str]) -> String {
    let mut lines: Vec<Value> = Vec::new();
    let mut push = |t: u64, id: usize, part: Value| {
        let mut line = json!({ "t": t, "id": id });
        line.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        lines.push(line);
    };
    let object = |name: &str, version: &str| json!({ "metadata": { "name": name, "resourceVersion": version } });
    for (place, path) in resources.iter().enumerate() {
        let list = json!({ "metadata": { "resourceVersion": "5" }, "items": [object("a", "4")] });
        push(0, 2 * place, json!({ "request": { "method": "GET", "path": path } }));
        push(1, 2 * place, json!({ "response": { "status": 200 } }));
        push(1, 2 * place, json!({ "data": list.to_string() }));
        push(1, 2 * place, json!({ "end": "eof" }));
        let watch = format!("{path}?watch=1&allowWatchBookmarks=true&resourceVersion=5");
        push(2, 2 * place + 1, json!({ "request": { "method": "GET", "path": watch } }));
        push(3, 2 * place + 1, json!({ "response": { "status": 200 } }));
    }
    for place in 0..resources.len() {
        let event = json!({ "type": "ADDED", "object": object("b", "6") });
        push(1_003, 2 * place + 1, json!({ "data": format!("{event}\n") }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_recording_plays_for_the_informers_of_all_its_resources() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("informers-recording.jsonl");
    std::fs::write(&path, capture(&["/api/v1/pods", "/api/v1/nodes"])).unwrap();
    let informers = Informers::new(Playback::from_file(&path).unwrap());
    let [pods, nodes] =
        ["v1/pods", "v1/nodes"].map(|name| informers.informer_of::<Raw>(Resource::named(name).unwrap()));
    with_informers(&informers, async {
        for handle in [&pods, &nodes] {
            handle.synced().within(SOON).await.unwrap();
        }
        assert_eq!([pods.len(), nodes.len()], [1; 2]);
        informers.clock().sleep(Duration::from_secs(2)).await;
        assert_eq!([pods.len(), nodes.len()], [2; 2], "{informers:?}");
    });
    std::fs::remove_file(path).unwrap();
}
