//! The layer of the guide sends the spans of reconciles to a collector.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use core::time::Duration;
use listwatch::World;
use listwatch::controller::{Controller, Outcome};
use listwatch::testing::SimulatedCluster;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

#[allow(unreachable_pub, reason = "it stands in a program's own module")]
#[path = "../../runtime-smol/src/guide/otlp.rs"]
mod guide;

/// Answers a request, and returns its first line and its body.
fn collected(listener: &TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut reader, mut first, mut length) = (BufReader::new(stream.try_clone().unwrap()), String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    (first, body)
}

#[test]
fn the_layer_of_the_guide_sends_each_reconcile_with_its_key() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = guide::send_spans(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let collector = thread::spawn(move || collected(&listener));
    let cluster = SimulatedCluster::new();
    cluster
        .create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } }))
        .unwrap();
    let controller = Controller::new("printer", World::from(cluster).lasting(Duration::from_secs(1)));
    let maps = controller.informer_of::<Value>("v1/configmaps");
    controller.reconciles(&maps).run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    provider.shutdown().unwrap();
    let (first, body) = collector.join().unwrap();
    let text = String::from_utf8_lossy(&body);
    assert_eq!(first.trim_end(), "POST /v1/traces HTTP/1.1");
    for expected in ["printer", "reconcile", "listwatch::controller", "web/a"] {
        assert!(text.contains(expected), "{expected:?} is not in {text:?}");
    }
}
