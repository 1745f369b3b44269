//! A server of pods: a list, and a watch with one event after the other.

use crate::certificates::Authority;
use listwatch_tests::captures;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The number of events of a watch.
pub(crate) const EVENTS: usize = 1_000;

/// The version of an event of a watch.
pub(crate) fn version(event: usize) -> String {
    (1_000_000 + event).to_string()
}

/// What is sent, whole or as metadata.
struct Content {
    list: String,
    events: Vec<String>,
}

/// Serves until standard input ends. The kubeconfig is there when a line is written. Between two events is the time in
/// which the follower handles one and sleeps.
pub(crate) fn serve(kubeconfig: &Path, between: Duration) {
    let (authority, listener) = (Authority::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
        "users": [{ "name": "x", "user": { "token": "t0ken-of-the-benchmark" } }],
        "clusters": [{ "name": "x", "cluster": {
            "server": format!("https://{address}"), "certificate-authority-data": base64(authority.pem.as_bytes()),
        } }],
    });
    std::fs::write(kubeconfig, config.to_string()).unwrap();
    let [tls, _] = authority.servers();
    let contents = Arc::new([false, true].map(Content::new));
    println!("ready");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (tls, contents) = (tls.clone(), contents.clone());
            std::thread::spawn(move || _ = answer(stream.unwrap(), tls, &contents, between));
        }
    });
    _ = std::io::stdin().read(&mut [0]);
}

impl Content {
    fn new(is_metadata: bool) -> Self {
        let events = recorded();
        let of = |event: &Value| {
            let mut event = event.clone();
            if is_metadata {
                let metadata = event["object"]["metadata"].take();
                event["object"] =
                    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata });
            }
            event
        };
        let kind = if is_metadata { "PartialObjectMetadataList" } else { "PodList" };
        let added = events.iter().filter(|event| event["type"] == "ADDED");
        let items: Vec<Value> = added.map(|event| of(event)["object"].take()).collect();
        let items: Vec<_> = items.iter().map(as_sent).collect();
        let head = format!(r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":["#);
        let list = format!("{head}{}]}}", items.join(","));
        let events = events.iter().cycle().take(EVENTS).enumerate().map(|(number, event)| {
            let mut event = of(event);
            event["object"]["metadata"]["resourceVersion"] = version(number).into();
            format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", as_sent(&event["object"]))
        });
        Self { list, events: events.collect() }
    }
}

/// The text of an object as a server sends it: what tells the object comes first.
fn as_sent(object: &Value) -> String {
    let metadata = in_order(&object["metadata"], &["name", "generateName", "namespace", "uid", "resourceVersion"]);
    let text = in_order(object, &["kind", "apiVersion"]);
    text.replacen(&format!("\"metadata\":{}", object["metadata"]), &format!("\"metadata\":{metadata}"), 1)
}

/// The text of an object with these fields first.
fn in_order(object: &Value, first: &[&str]) -> String {
    let fields = object.as_object().unwrap();
    let others = fields.keys().map(String::as_str).filter(|name| !first.contains(name));
    let names = first.iter().copied().filter(|name| fields.contains_key(*name)).chain(others);
    let texts: Vec<_> = names.map(|name| format!("\"{name}\":{}", fields[name])).collect();
    format!("{{{}}}", texts.join(","))
}

/// The events of pods in two captures.
fn recorded() -> Vec<Value> {
    let events = captures::values(&["pods-rollout", "chaos"]).into_iter();
    events.filter(|event| event["object"]["metadata"]["name"].is_string() && event["type"] != "DELETED").collect()
}

/// Answers the requests of one connection.
#[expect(clippy::disallowed_methods, reason = "this process is measured by nobody")]
fn answer(tcp: TcpStream, tls: Arc<ServerConfig>, contents: &[Content; 2], between: Duration) -> std::io::Result<()> {
    tcp.set_nodelay(true)?;
    let mut stream = StreamOwned::new(ServerConnection::new(tls).unwrap(), tcp);
    loop {
        let (mut head, mut buf) = (Vec::new(), [0; 4096]);
        while !head.ends_with(b"\r\n\r\n") {
            let len = stream.read(&mut buf)?;
            if len == 0 {
                return Ok(());
            }
            head.extend_from_slice(&buf[..len]);
        }
        let head = String::from_utf8_lossy(&head);
        let content = &contents[usize::from(head.contains("PartialObjectMetadata"))];
        if !head.contains("watch=1") {
            let length = content.list.len();
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")?;
            stream.write_all(content.list.as_bytes())?;
            stream.flush()?;
            continue;
        }
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        for event in &content.events {
            std::thread::sleep(between);
            let mut chunk = format!("{:x}\r\n", event.len()).into_bytes();
            chunk.extend_from_slice(event.as_bytes());
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk)?;
            stream.flush()?;
        }
        // The follower closes it.
        return stream.read(&mut buf).map(drop);
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|group| {
        let word = (0..3).fold(0_usize, |word, at| word << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        (0..4).map(move |at| if at <= group.len() { char::from(DIGITS[word >> (18 - 6 * at) & 63]) } else { '=' })
    });
    digits.collect()
}
