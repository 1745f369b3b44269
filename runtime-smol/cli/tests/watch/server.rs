//! A server that answers as a test says.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// It ends with the tests.
pub(crate) struct Server {
    pub(crate) url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

/// An answer of the server.
pub(crate) enum Answer {
    /// Status, type and body.
    Whole(u16, &'static str, String),
    /// A watch in which nothing happens.
    Silence,
    /// Not even a head: the connection ends.
    Nothing,
    /// A body in chunks, written to this connection.
    Stream(Stream),
}

pub(crate) type Stream = Box<dyn FnOnce(&TcpStream)>;

impl Answer {
    pub(crate) fn json(status: u16, body: impl Into<String>) -> Self {
        Self::Whole(status, "application/json", body.into())
    }
}

impl Server {
    /// One that answers each path with its query, each on a connection and in a thread of its own.
    pub(crate) fn of(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (asked, answer) = (heads.clone(), Arc::new(answer));
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (asked, answer) = (asked.clone(), answer.clone());
                thread::spawn(move || serve(connection.unwrap(), &asked, &*answer));
            }
        });
        Self { url, heads }
    }

    /// One that has so many pods, to which nothing happens.
    pub(crate) fn of_pods(count: usize) -> Self {
        Self::of(move |path| if path.contains("watch=") { Answer::Silence } else { Answer::json(200, pods(count)) })
    }

    /// An address at which no server listens.
    pub(crate) fn nowhere() -> String {
        format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
    }

    /// The heads of all requests up to now.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

fn serve(mut connection: TcpStream, asked: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> Answer) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let path = head.split(' ').nth(1).unwrap().to_owned();
    asked.lock().unwrap().push(head);
    // A client that goes away before the end has read enough.
    let _gone = match answer(&path) {
        Answer::Whole(status, content_type, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n");
            connection.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())
        }
        Answer::Silence => {
            let said = connection.write_all(STREAM.as_bytes());
            said.and_then(|()| reader.read_line(&mut String::new()).map(drop))
        }
        Answer::Nothing => Ok(()),
        Answer::Stream(stream) => {
            let said = connection.write_all(STREAM.as_bytes());
            said.map(|()| stream(&connection))
        }
    };
}

fn pods(count: usize) -> String {
    let pod = |number| format!(r#"{{"metadata":{{"name":"pod-{number}","namespace":"n","resourceVersion":"1"}}}}"#);
    let items: Vec<String> = (0..count).map(pod).collect();
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9"}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// A refusal as an API server words it.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    );
    Answer::json(code, body)
}

/// A server of a watch with large events, one after the other as they are taken.
pub(crate) struct Firehose {
    pub(crate) server: Server,
    told: Receiver<Taken>,
}

/// How many events were taken when no more were, or whether all of them.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    Up(usize),
    All,
}

impl Firehose {
    /// Far more than sockets and pipes hold.
    const EVENTS: usize = 8_000;
    /// After this many attempts in a row without a written byte, the reader is stalled. If the machine was only busy, the
    /// rest is written later.
    const ATTEMPTS: u32 = 30;

    pub(crate) fn start() -> Self {
        let (sender, told) = mpsc::channel();
        let sender = Mutex::new(sender);
        let server = Server::of(move |path| {
            if !path.contains("watch=") {
                return Answer::json(200, pods(0));
            }
            let sender = sender.lock().unwrap().clone();
            Answer::Stream(Box::new(move |connection| {
                connection.set_nonblocking(true).unwrap();
                let write = |number| {
                    let on_stall = || drop(sender.send(Taken::Up(number)));
                    write_patiently(connection, &chunk(&Self::event(number)), on_stall)
                };
                if (0..Self::EVENTS).try_for_each(write).is_ok() {
                    drop(sender.send(Taken::All));
                }
            }))
        });
        Self { server, told }
    }

    /// Waits until no more events are taken, or there are no more.
    pub(crate) fn ended(&self) -> Taken {
        self.told.recv_timeout(Duration::from_secs(120)).unwrap()
    }

    /// Versions count from 10.
    fn event(number: usize) -> Vec<u8> {
        let (name, version) = ("x".repeat(8_000), number + 10);
        let object = format!(r#"{{"metadata":{{"name":"{name}{version}","resourceVersion":"{version}"}}}}"#);
        format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n").into_bytes()
    }
}

/// As a part of a body.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Writes all bytes, however long that takes, and calls `on_stall` once if the reader takes none.
#[expect(clippy::disallowed_methods, reason = "another process keeps its own time")]
fn write_patiently(mut connection: &TcpStream, mut bytes: &[u8], on_stall: impl Fn()) -> io::Result<()> {
    let mut refused = 0;
    while !bytes.is_empty() {
        match connection.write(bytes) {
            Ok(taken) => (bytes, refused) = (&bytes[taken..], 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                refused += 1;
                if refused == Firehose::ATTEMPTS {
                    on_stall();
                }
                thread::sleep(Duration::from_millis(100));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
