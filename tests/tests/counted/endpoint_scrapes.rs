//! Ten thousand scrapes of an endpoint leave no memory, file or thread behind.

use listwatch::controller::{Controller, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::endpoint::Endpoint;
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch::{Informers, World};
use listwatch_tests::alone::alone;
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATHS: [&str; 5] = ["/metrics", "/healthz", "/readyz", "/debug/listwatch", "/debug/listwatch?format=json"];
const SCRAPES: usize = 4_000;
/// A byte for each scrape.
const LITTLE: usize = 4096;

/// The bytes, threads and open files of the process.
fn counts() -> (usize, usize, usize) {
    let entries = |path: &str| fs::read_dir(path).map_or(0, Iterator::count);
    (dhat::HeapStats::get().curr_bytes, entries("/proc/self/task"), entries("/proc/self/fd"))
}

/// Half of the clients keep their connection for five requests, and half of these leave without the last answer.
fn scrape(address: SocketAddr, number: usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    for (at, path) in PATHS.into_iter().enumerate() {
        let last = at + 1 == PATHS.len() || number.is_multiple_of(2);
        let connection = if last { "close" } else { "keep-alive" };
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        if last {
            break;
        }
    }
    let mut answer = Vec::new();
    if !number.is_multiple_of(4) {
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&answer));
    }
}

/// Without the endpoint, whose connections have buffers that stay for a while.
fn encode_again_and_again(metrics: &Metrics) {
    let text = metrics.encode();
    assert!(text.len() > 10_000 && text.ends_with("# EOF\n"), "{text}");
    let _profiler = dhat::Profiler::builder().testing().build();
    for _ in 0..SCRAPES {
        assert_eq!(metrics.encode().len(), text.len());
    }
    // Of what was there before, nothing is counted.
    let stats = dhat::HeapStats::get();
    println!("a text of {} bytes takes {} at most, and keeps {}", text.len(), stats.max_bytes, stats.curr_bytes);
    assert!(stats.curr_bytes <= LITTLE, "{} bytes are kept", stats.curr_bytes);
    assert!(stats.max_bytes < text.len() * 8, "{} bytes for a text of {}", stats.max_bytes, text.len());
}

#[test]
fn thousands_of_scrapes_leave_nothing_behind() {
    alone(|| {
        let (cluster, metrics) = (SimulatedCluster::new(), Metrics::new());
        for number in 0..500 {
            let metadata = json!({ "name": format!("map-{number}"), "namespace": "web" });
            cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
        }
        let world = World::from(cluster);
        let (clock, measured) = (world.clock().clone(), metrics.clone());
        let endpoint = Endpoint::builder(&metrics).start(0).unwrap();
        let address = endpoint.address();
        let informers = Informers::new(world.until(async move {
            clock.sleep(Duration::from_secs(5)).await;
            encode_again_and_again(&measured);
            let _profiler = dhat::Profiler::builder().testing().build();
            let work = |times: usize| (0..times).for_each(|number| scrape(address, number));
            work(200);
            let before = counts();
            work(SCRAPES);
            let after = counts();
            println!("bytes, threads, files: {before:?}, and after {SCRAPES} scrapes {after:?}");
            // Connections that clients have left end by themselves: at most 64, with their buffers.
            assert!(after.0 < before.0 + 64 * 64 * 1024, "from {before:?} to {after:?}");
            assert_eq!(after.1, before.1, "threads");
            assert!(after.2 <= before.2 + 64, "files: from {before:?} to {after:?}");
        }));
        let controller = Controller::new("maps", &informers);
        let maps = controller.informer_of::<MetadataOnly>("v1/configmaps");
        let running = controller.reconciles(&maps).on_report(|_, _| {}).calls(async |_cx, key| {
            if key.name().ends_with('7') { Err(std::io::Error::other("it fails").into()) } else { Ok(Outcome::Done) }
        });
        metrics.add(&running);
        running.run().unwrap();
    });
}
