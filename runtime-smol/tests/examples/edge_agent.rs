#[path = "../../examples/edge-agent.rs"]
pub(crate) mod example;

use crate::process::Example;
use crate::stage::Stage;
use listwatch_runtime_smol::Event;
use serde_json::json;

const PODS: &str = "/api/v1/pods";
const WEB: &str = "/api/v1/namespaces/default/pods/web";

#[test]
fn the_agent_asks_for_the_pods_of_its_node_and_tells_each_change() {
    let stage = Stage::new(&[PODS]);
    let scenario = async {
        stage.until_shown(2).await;
        stage.apply(WEB, json!({ "spec": {}, "status": { "phase": "Running", "podIP": "10.0.0.7" } }));
        stage.until_shown(3).await;
        stage.apply(WEB, json!({ "status": { "phase": "Succeeded" } }));
        stage.until_shown(4).await;
        stage.delete(WEB);
        stage.until_shown(5).await;
    };
    let show = |event: &Event<example::Pod>| stage.show(example::describe(event));
    example::follow("edge-1", stage.transport(), &stage.clock, show, scenario);
    let (shown, own) = (stage.shown(), "in a network of its own");
    assert!(shown[0].contains("not understood (status 422)"), "the server has no watch-lists: {shown:?}");
    let changes = [
        "synced",
        &format!("+ default/web Running at 10.0.0.7 {own}"),
        &format!("~ default/web Succeeded at 10.0.0.7 {own}"),
        "- default/web",
    ];
    assert_eq!(shown[1..], changes);
    let requests = stage.requests();
    assert!(requests.iter().all(|asked| asked.target.contains("fieldSelector=spec.nodeName%3Dedge-1")), "{requests:?}");
}

#[test]
fn the_agent_takes_its_node_from_the_environment_and_ends_well_by_sigterm() {
    let stage = Stage::new(&[PODS]);
    stage.apply(WEB, json!({ "spec": { "hostNetwork": true }, "status": { "phase": "Running" } }));
    let mut example = Example::start("edge-agent", &stage.server);
    example.read_to("synced");
    stage.delete(WEB);
    example.read_to("- default/web");
    let (status, errors) = example.terminate();
    assert_eq!(status, Some(0), "{errors}");
}
