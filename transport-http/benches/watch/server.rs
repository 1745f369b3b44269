//! Lists without items, and watches: one event after the other, or one each 2 ms for all watches.

use core::time::Duration;
use rcgen::{CertificateParams, KeyPair};
use rustix::time::{ClockId, clock_gettime};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The events of a watch whose server does not pause.
pub(crate) const EVENTS: usize = 40_000;
const OBJECTS: usize = 1_000;

/// Between two events of a server that pauses, each of which is for the next of its watches.
const PAUSE: Duration = Duration::from_millis(2);

/// Serves until standard input ends.
pub(crate) fn serve(is_tls: bool, is_bulk: bool) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let tls = is_tls.then(tls);
    let (sender, watches) = mpsc::channel();
    thread::spawn(move || if is_bulk { send_all(&watches) } else { trickle(&watches) });
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, tls, sender) = (stream.unwrap(), tls.clone(), sender.clone());
            stream.set_nodelay(true).unwrap();
            // The client goes when it has seen enough.
            thread::spawn(move || match tls {
                None => _ = answer(stream, &sender),
                Some(tls) => _ = answer(encrypted(stream, tls), &sender),
            });
        }
    });
    _ = io::stdin().read(&mut [0]);
}

/// The time that all processes of this machine share.
pub(crate) fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

pub(crate) fn version(event: usize) -> String {
    (1_000_000 + event).to_string()
}

type Watch = Box<dyn Write + Send>;

/// Gives the stream of a watch away.
fn answer(mut stream: impl Read + Write + Send + 'static, watches: &Sender<Watch>) -> io::Result<()> {
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
            _ = watches.send(Box::new(stream));
            return Ok(());
        }
    }
}

/// All events, for the first watch.
fn send_all(watches: &Receiver<Watch>) {
    let events: Vec<Vec<u8>> = (0..EVENTS).map(|event| chunk(event, &version(event))).collect();
    let Ok(mut watch) = watches.recv() else { return };
    _ = events.iter().try_for_each(|event| watch.write_all(event)).and_then(|()| watch.flush());
    // The watch stays open.
    _ = watches.recv();
}

/// One event after a pause, for one watch after the other. The version tells when it was sent.
fn trickle(watches: &Receiver<Watch>) {
    let mut open = Vec::new();
    for event in 0.. {
        open.extend(watches.try_iter());
        thread::sleep(PAUSE);
        if open.is_empty() {
            continue;
        }
        let at = event % open.len();
        let bytes = chunk(event, &monotonic().as_nanos().to_string());
        if open[at].write_all(&bytes).and_then(|()| open[at].flush()).is_err() {
            // This client has seen enough.
            drop(open.remove(at));
        }
    }
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

/// An event as a chunk of the response.
fn chunk(event: usize, version: &str) -> Vec<u8> {
    let (kind, filler) =
        (if event < OBJECTS { "ADDED" } else { "MODIFIED" }, r#"{"name":"VARIABLE","value":"text"},"#.repeat(280));
    let name = event % OBJECTS;
    let event = format!(
        r#"{{"type":"{kind}","object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{name}","namespace":"default","uid":"7f1f1a55-0000-4000-8000-{name:012}","resourceVersion":"{version}","labels":{{"app":"web","pod-template-hash":"5d4f8c7b9"}}}},"spec":{{"containers":[{{"name":"web","env":[{filler}{{"name":"LAST"}}]}}]}}}}}}"#
    );
    let event = event + "\n";
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}
