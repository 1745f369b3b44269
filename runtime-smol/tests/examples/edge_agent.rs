#[path = "../../examples/edge-agent.rs"]
pub(crate) mod example;

use crate::examples::process::Example;
use crate::examples::stage::Stage;
use core::task::Poll;
use core::time::Duration;
use listwatch::request::{Request, RequestId};
use listwatch::saved::SaveTo;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext};
use listwatch::{Clock, Event};
use listwatch_tests::scratch::Scratch;
use serde_json::json;
use std::cell::RefCell;

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
    example::follow("edge-1", stage.transport(), None, &stage.clock, show, scenario);
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

#[test]
fn the_agent_knows_at_its_next_start_what_it_knew_before_it_asks_for_one_object() {
    let file = Scratch::path(".json");
    let stage = Stage::new(&[PODS]);
    stage.apply(WEB, json!({ "spec": {}, "status": { "phase": "Running", "podIP": "10.0.0.7" } }));
    let show = |event: &Event<example::Pod>| stage.show(example::describe(event));
    let save = || Some(SaveTo::new(file.as_ref()).of_server("https://10.0.0.1", "", None));
    let scenario = async { stage.until_shown(3).await };
    example::follow("edge-1", stage.transport(), save(), &stage.clock, show, scenario);
    let shown = stage.shown();

    // Nobody answers.
    let (clock, asked) = (Clock::simulated(), stage.requests().len());
    let again = RefCell::new(Vec::new());
    let show = |event: &Event<example::Pod>| again.borrow_mut().push(example::describe(event));
    example::follow("edge-1", Silent, save(), &clock, show, clock.sleep(Duration::from_secs(1)));
    assert_eq!(again.into_inner(), [shown[1].as_str(), "synced"]);

    let seen = RefCell::new(Vec::new());
    let show = |event: &Event<example::Pod>| seen.borrow_mut().push(example::describe(event));
    let scenario = async {
        stage.until(|| seen.borrow().len() == 2).await;
        stage.delete(WEB);
        stage.until(|| seen.borrow().len() == 3).await;
    };
    example::follow("edge-1", stage.transport(), save(), &stage.clock, show, scenario);
    assert_eq!(seen.borrow()[1..], ["synced", "- default/web"]);
    let requests = stage.requests();
    assert!(requests[asked].target.ends_with("&limit=1"), "{requests:?}");
}

/// A server that is out of reach.
struct Silent;

impl ListerWatcher for Silent {
    fn open(&mut self, _: RequestId, _: &Request) {}

    fn poll_read(&mut self, _: ReadContext<'_, '_>, _: &mut [u8]) -> Poll<Incoming> {
        Poll::Ready(Incoming::Idle { until: None })
    }

    fn abort(&mut self, _: RequestId) {}
}
