//! A server that answers as a test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// It ends with the tests.
pub(crate) struct Server {
    pub(crate) url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

/// What is answered.
pub(crate) enum Answer {
    /// Status, type and body.
    Whole(u16, &'static str, String),
    /// A watch in which nothing happens.
    Silence,
}

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

    /// One that nobody listens at.
    pub(crate) fn nowhere() -> String {
        format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
    }

    /// The heads of all requests up to now.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

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
    // Who goes away before the end has seen enough.
    let _gone = match answer(&path) {
        Answer::Whole(status, content_type, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n");
            connection.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())
        }
        Answer::Silence => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            let said = connection.write_all(head.as_bytes());
            said.and_then(|()| reader.read_line(&mut String::new()).map(drop))
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
