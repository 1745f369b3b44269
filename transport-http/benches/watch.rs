//! The CPU time of a watch over the loopback interface: 40,000 events of 10 KB, of which the metadata is decoded.
//!
//! ```text
//! cargo bench --package listwatch-transport-http --bench watch
//! ```
//!
//! The server is a process of its own, and sends each event by one write, as fast as the client reads. `watch once` and
//! `watch once tls` print the milliseconds of one run, so that two builds can be compared by turns. With `polled` behind
//! that, the task reads the watch.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

/// The reactor of the runtime. Its source is included, because the runtime depends on this crate.
#[expect(unreachable_pub, reason = "it is public in the runtime")]
#[path = "../../runtime-smol/src/reactor.rs"]
mod reactor;

use listwatch_core::decode::MetadataOnly;
use listwatch_core::informer::{Driver, Event, Informer, InformerConfig};
use listwatch_core::{Instant, Resource};
use listwatch_transport_http::ClusterOptions;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time;

const EVENTS: usize = 40_000;
const OBJECTS: usize = 1_000;
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["serve", scheme] => serve(scheme == "https"),
        ["once"] => println!("{:.0}", followed("http", false)),
        ["once", "polled"] => println!("{:.0}", followed("http", true)),
        ["once", "tls"] => println!("{:.0}", followed("https", false)),
        ["once", "tls", "polled"] => println!("{:.0}", followed("https", true)),
        _ => {
            for scheme in ["http", "https"] {
                let rounds: Vec<[f64; 2]> =
                    (0..ROUNDS).map(|_| [followed(scheme, false), followed(scheme, true)]).collect();
                for (at, reader) in ["a thread", "the task"].into_iter().enumerate() {
                    let mut rounds: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
                    rounds.sort_by(f64::total_cmp);
                    let median = rounds[ROUNDS / 2];
                    println!("{scheme}, read by {reader}: {median:.0} ms of CPU time, the median of {ROUNDS}");
                }
            }
        }
    }
}

/// The CPU time of one watch in milliseconds.
fn followed(scheme: &str, is_polled: bool) -> f64 {
    let mut server = Server::start(scheme);
    let config = std::env::temp_dir().join(format!("listwatch-watch-{}", std::process::id()));
    let text = format!(
        "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: me}}}}]\nclusters: [{{name: it, \
         cluster: {{server: '{scheme}://{}', insecure-skip-tls-verify: {}}}}}]\nusers: [{{name: me, user: {{}}}}]\n",
        server.address,
        scheme == "https",
    );
    std::fs::write(&config, text).unwrap();
    let cluster = ClusterOptions::new().kubeconfig(&config).unwrap();
    std::fs::remove_file(&config).unwrap();
    let transport = cluster.transport().unwrap();
    let transport = if is_polled { transport.with_reactor(Arc::new(reactor::AsyncIo)) } else { transport };
    let before = cpu();
    follow(transport);
    let took = cpu() - before;
    drop(server.process.stdin.take());
    server.process.wait().unwrap();
    took
}

/// Follows to the last event, on this thread alone.
fn follow(transport: listwatch_transport_http::HttpTransport) {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let mut driver = Driver::new(Informer::<MetadataOnly>::new(Resource::new("/api/v1/pods"), config), transport);
    let (began, waker) = (time::Instant::now(), Waker::from(Arc::new(Unpark(std::thread::current()))));
    let now = || Instant::ZERO + began.elapsed();
    driver.informer_mut().start(now());
    let (mut cx, last) = (Context::from_waker(&waker), version(EVENTS - 1));
    loop {
        match driver.poll(now(), &mut cx) {
            Poll::Pending => std::thread::park(),
            Poll::Ready(Event::Failed(report)) => panic!("{report}"),
            Poll::Ready(event) if event.object().is_some_and(|it| it.meta().resource_version() == last) => return,
            Poll::Ready(_) => {}
        }
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The CPU time of this process up to now, in milliseconds.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(scheme: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.args(["serve", scheme]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { process, address: address.trim().to_owned() }
    }
}

/// Serves until standard input ends.
fn serve(is_tls: bool) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let tls = is_tls.then(tls);
    let events: Arc<Vec<Vec<u8>>> = Arc::new((0..EVENTS).map(chunk).collect());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, tls, events) = (stream.unwrap(), tls.clone(), events.clone());
            stream.set_nodelay(true).unwrap();
            // The client goes when it has seen enough.
            std::thread::spawn(move || match tls {
                None => _ = answer(stream, &events),
                Some(tls) => _ = answer(encrypted(stream, tls), &events),
            });
        }
    });
    _ = std::io::stdin().read(&mut [0]);
}

fn encrypted(stream: TcpStream, tls: Arc<ServerConfig>) -> StreamOwned<ServerConnection, TcpStream> {
    StreamOwned::new(ServerConnection::new(tls).unwrap(), stream)
}

fn tls() -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap())
}

fn answer(mut stream: impl Read + Write, events: &[Vec<u8>]) -> std::io::Result<()> {
    loop {
        let (mut head, mut buf) = (Vec::new(), [0; 4096]);
        while !head.ends_with(b"\r\n\r\n") {
            let len = stream.read(&mut buf)?;
            if len == 0 {
                return Ok(());
            }
            head.extend_from_slice(&buf[..len]);
        }
        let is_watch = String::from_utf8_lossy(&head).contains("watch=1");
        let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
        let (length, body) = if is_watch {
            ("transfer-encoding: chunked".to_owned(), "")
        } else {
            (format!("content-length: {}", list.len()), list)
        };
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{length}\r\n\r\n{body}")?;
        stream.flush()?;
        if is_watch {
            for event in events {
                stream.write_all(event)?;
            }
            stream.flush()?;
            return stream.read(&mut buf).map(drop);
        }
    }
}

fn version(event: usize) -> String {
    (1_000_000 + event).to_string()
}

/// An event as a chunk of the response.
fn chunk(event: usize) -> Vec<u8> {
    let (kind, filler) =
        (if event < OBJECTS { "ADDED" } else { "MODIFIED" }, r#"{"name":"VARIABLE","value":"text"},"#.repeat(280));
    let (name, version) = (event % OBJECTS, version(event));
    let event = format!(
        r#"{{"type":"{kind}","object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{name}","namespace":"default","uid":"7f1f1a55-0000-4000-8000-{name:012}","resourceVersion":"{version}","labels":{{"app":"web","pod-template-hash":"5d4f8c7b9"}}}},"spec":{{"containers":[{{"name":"web","env":[{filler}{{"name":"LAST"}}]}}]}}}}}}"#
    );
    let event = event + "\n";
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}
