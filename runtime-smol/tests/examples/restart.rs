#[path = "../../examples/restart-on-configmap-change.rs"]
#[expect(dead_code, reason = "its `main` has one line")]
mod example;

use crate::examples::stage::Stage;
use core::time::Duration;
use example::restart;
use serde_json::{Value, json};

const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const CONFIGS: &str = "/api/v1/configmaps";
const SETTINGS: &str = "/api/v1/namespaces/default/configmaps/settings";
const OTHER: &str = "/api/v1/namespaces/other/configmaps/settings";

/// A Deployment that mounts a ConfigMap, as much of it as matters; its containers are of no concern to the example.
fn deployment() -> Value {
    let volumes =
        json!([{ "name": "secret", "secret": {} }, { "name": "config", "configMap": { "name": "settings" } }]);
    let containers = json!([{ "name": "web", "image": "nginx" }]);
    json!({ "spec": { "template": { "metadata": { "labels": {} }, "spec": { "volumes": volumes, "containers": containers } } } })
}

fn annotation(stage: &Stage) -> Value {
    stage.object(WEB).unwrap()["spec"]["template"]["metadata"]["annotations"]["example.com/configmaps"].clone()
}

#[test]
fn a_deployment_restarts_when_the_data_of_a_mounted_configmap_changes_and_only_then() {
    let stage = Stage::new(&[DEPLOYMENTS, CONFIGS]);
    stage.apply(WEB, deployment());
    let scenario = {
        let stage = stage.clone();
        async move {
            let settle = || stage.clock.sleep(Duration::from_secs(60));
            settle().await;
            assert_eq!(annotation(&stage), Value::Null, "the ConfigMap is missing");
            stage.apply(SETTINGS, json!({ "data": { "level": "info" } }));
            stage.until(|| annotation(&stage).is_string()).await;
            let first = annotation(&stage);

            stage.apply(SETTINGS, json!({ "metadata": { "labels": { "seen": "yes" } } }));
            stage.apply(OTHER, json!({ "data": { "level": "error" } }));
            settle().await;
            assert_eq!(annotation(&stage), first, "neither metadata nor another namespace concerns the pods");

            stage.apply(SETTINGS, json!({ "data": { "level": "debug" } }));
            stage.until(|| annotation(&stage) != first).await;
            stage.apply(SETTINGS, json!({ "data": { "level": "info" } }));
            stage.until(|| annotation(&stage) == first).await;
            stage.delete(SETTINGS);
            settle().await;
            assert_eq!(annotation(&stage), first, "the ConfigMap is missing");
        }
    };
    restart(stage.world().until(scenario)).unwrap();
    let (now, before) = (stage.object(WEB).unwrap(), deployment());
    assert_eq!(now["spec"]["template"]["spec"], before["spec"]["template"]["spec"], "the rest is as it was");
    let requests = stage.requests();
    let selected = |target: &str| target.contains("labelSelector=restart-on-configmap-change%3Dtrue");
    let of_deployments = requests.iter().filter(|asked| asked.target.starts_with(&format!("{DEPLOYMENTS}?")));
    assert!(of_deployments.clone().count() > 0 && of_deployments.into_iter().all(|asked| selected(&asked.target)));
    assert_eq!(requests.iter().filter(|asked| asked.method != "GET").count(), 3, "{requests:#?}");
}
