//! What the page shows of drift audits.

use crate::endpoint::client::{asked, get};
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::decode::MetadataOnly;
use listwatch::endpoint::Endpoint;
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch::transport::{TransportError, TransportErrorKind};
use listwatch::{Client, Clock, Executor, Informers, Resource, World, run};
use serde_json::Value;

/// The JSON and the page after an audit whose lists are answered so.
fn shown(answer: impl Fn(&ApiRequest) -> Result<ApiResponse, TransportError> + Send + 'static) -> [String; 2] {
    let (cluster, metrics) = (SimulatedCluster::new(), Metrics::new());
    let clock = Clock::simulated_at(cluster.date());
    let (time, client) = (clock.clone(), Client::new(ApiFn::new(answer), clock.clone()));
    let served = cluster.on_clock(move || time.now());
    let informers = Informers::new(World::from_parts(clock.clone(), client, move |_| Box::new(served.transport())));
    metrics.add_informers(&informers);
    let endpoint = Endpoint::builder(&metrics).start(0).unwrap();
    let executor = Executor::new();
    let _running = executor.spawn(informers.run());
    let maps = informers.informer_of::<MetadataOnly>(Resource::named("v1/configmaps").unwrap());
    run(&clock, &executor, async {
        maps.synced().await.unwrap();
        assert!(maps.audit().await.iter().all(|audit| audit.result.is_err()));
    });
    let json = get(endpoint.address(), "/debug/listwatch?format=json").body;
    [json, asked(endpoint.address(), "/debug/listwatch", "Accept: text/html\r\n").body]
}

#[test]
fn the_page_hides_the_message_of_a_panic_of_the_transport() {
    let [json, page] = shown(|_| panic!("a message of a panic"));
    let value: Value = serde_json::from_str(&json).unwrap();
    let audit = &value["informers"][0]["audit"];
    assert_eq!(audit["failure"], "the program's own code panicked; its standard error says where");
    assert!(!json.contains("a message of a panic") && !page.contains("a message of a panic"), "{json}\n{page}");
}

#[test]
fn the_failure_of_a_transport_is_told_as_text() {
    let failure = || TransportError::new(TransportErrorKind::Other, "<script>\u{1b}[2J</script>");
    let [json, page] = shown(move |_| Err(failure()));
    let value: Value = serde_json::from_str(&json).unwrap();
    let audit = &value["informers"][0]["audit"];
    assert_eq!(audit["failure"], r"failed: <script>\u001b[2J</script>");
    assert!(page.contains(r"failed: &lt;script&gt;\u001b[2J&lt;/script&gt;") && !page.contains('\u{1b}'), "{page}");
}
