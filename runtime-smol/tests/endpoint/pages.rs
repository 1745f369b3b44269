use listwatch_runtime_smol::endpoint::Endpoint;
use listwatch_runtime_smol::metrics::Metrics;

#[test]
fn an_endpoint_begins_on_a_port_of_this_machine() {
    let endpoint = Endpoint::builder(&Metrics::new()).start(0).unwrap();
    assert!(endpoint.address().ip().is_loopback());
}
