#[path = "../../examples/workqueue.rs"]
#[expect(dead_code, reason = "its `main` has one line")]
mod example;

use crate::examples::stage::Stage;
use example::{Pod, follow};
use listwatch::Key;
use serde_json::json;
use std::io;

const PODS: &str = "/api/v1/namespaces/default/pods";
const WEB: &str = "/api/v1/namespaces/default/pods/web";

/// Notes each key, and whether there is a pod; fails for as long as `is_broken`.
fn noting(stage: &Stage, is_broken: impl Fn(&Key) -> bool) -> impl Fn(&Key, Option<&Pod>) -> io::Result<()> {
    move |key, pod| {
        stage.show(format!("{key} {}", if pod.is_some() { "is there" } else { "is gone" }));
        if is_broken(key) { Err(io::Error::other("no luck")) } else { Ok(()) }
    }
}

#[test]
fn each_pod_is_synced_when_it_is_listed_changes_and_goes() {
    let stage = Stage::new(&[PODS]);
    stage.apply(WEB, json!({ "status": { "phase": "Pending" } }));
    let scenario = async {
        stage.until_shown(1).await;
        stage.apply(WEB, json!({ "status": { "phase": "Running" } }));
        stage.until_shown(2).await;
        stage.delete(WEB);
        stage.until_shown(3).await;
    };
    follow(stage.world(), noting(&stage, |_| false), scenario).unwrap();
    assert_eq!(stage.shown(), ["default/web is there", "default/web is there", "default/web is gone"]);
}

#[test]
fn a_key_that_fails_is_retried_five_times_and_then_when_its_pod_changes() {
    let stage = Stage::new(&[PODS]);
    stage.apply(WEB, json!({ "status": { "phase": "Pending" } }));
    let scenario = async {
        stage.until_shown(6).await;
        // Longer than the delay of any retry.
        stage.clock.sleep(core::time::Duration::from_secs(2000)).await;
        assert_eq!(stage.shown().len(), 6, "it was dropped");
        stage.apply(WEB, json!({ "status": { "phase": "Running" } }));
        stage.until_shown(7).await;
    };
    follow(stage.world(), noting(&stage, |_| true), scenario).unwrap();
}
