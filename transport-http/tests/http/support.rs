//! A client, servers, and files.

use listwatch_core::request::{Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::transport::{Incoming, ReadContext, TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_http::{Cluster, ClusterOptions, HttpTransport};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

pub(crate) const ID: RequestId = RequestId(7);
pub(crate) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
pub(crate) const EMPTY: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
/// The same, with the promise to keep the connection.
pub(crate) const KEPT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// How long a test waits for something before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something holds that another thread or process brings about.
#[expect(clippy::disallowed_methods, reason = "threads and processes keep real time")]
#[track_caller]
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(1);
    let mut left = PATIENCE;
    while !condition() {
        left = left.checked_sub(PAUSE).expect("the condition never holds");
        thread::sleep(PAUSE);
    }
}

/// The credential that no error and no log may show.
pub(crate) const SECRET: &str = "hunter2";

/// A server that answers each connection, in a thread of its own, by a function that gets the head of the request too.
pub(crate) struct Server {
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn of(serve: impl Fn(TcpStream, String) + Send + Sync + 'static) -> Self {
        Self::raw(move |mut connection| {
            if let Some(head) = request_head(&mut connection) {
                serve(connection, head);
            }
        })
    }

    /// One that gets nothing but the connection.
    pub(crate) fn raw(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let serve = serve.clone();
                thread::spawn(move || serve(connection.unwrap()));
            }
        });
        Self { address }
    }

    /// One that answers everything by the same bytes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::of(move |mut connection, _| drop(connection.write_all(&answer)))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A transport, and a waker that can be waited for.
pub(crate) struct Client {
    pub(crate) transport: HttpTransport,
    waker: Waker,
    woken: Receiver<()>,
    pub(crate) buf: Vec<u8>,
}

impl Client {
    pub(crate) fn of(serve: impl Fn(TcpStream, String) + Send + Sync + 'static) -> Self {
        Self::at(&Server::of(serve).url())
    }

    pub(crate) fn at(url: &str) -> Self {
        Self::over(HttpTransport::new(url).unwrap())
    }

    pub(crate) fn to(cluster: &Cluster) -> Self {
        Self::over(cluster.transport().unwrap())
    }

    pub(crate) fn over(transport: HttpTransport) -> Self {
        let (bell, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(Mutex::new(bell))));
        Self { transport: super::read(transport), waker, woken, buf: vec![0; 4096] }
    }

    pub(crate) fn open(&mut self, target: &str) {
        self.transport.open(ID, &Request::parse(target));
    }

    pub(crate) fn poll(&mut self) -> Poll<Incoming> {
        let mut cx = Context::from_waker(&self.waker);
        let turn = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: Some(Duration::ZERO) };
        self.transport.poll_read(turn, &mut self.buf)
    }

    pub(crate) fn waits_for(&self) -> Option<SharedText> {
        self.transport.waits_for()
    }

    pub(crate) fn next(&mut self) -> Incoming {
        loop {
            if let Poll::Ready(incoming) = self.poll() {
                return incoming;
            }
            self.wait();
        }
    }

    /// Waits until the waker was woken.
    pub(crate) fn wait(&self) {
        self.woken.recv_timeout(PATIENCE).expect("woken");
    }

    /// Status, body, and how it ended.
    pub(crate) fn drain(&mut self) -> (u16, String, Result<(), TransportErrorKind>) {
        let (mut status, mut body) = (0, Vec::new());
        let end = loop {
            match self.next() {
                Incoming::Head { head, .. } => status = head.status,
                Incoming::Data { len, .. } => body.extend_from_slice(&self.buf[..len]),
                Incoming::End { .. } => break Ok(()),
                Incoming::Failed { error, .. } => break Err(error.kind),
                Incoming::Idle { .. } => panic!("nothing is open"),
            }
        };
        (status, String::from_utf8(body).unwrap(), end)
    }

    /// The status of a list.
    pub(crate) fn list(&mut self) -> u16 {
        self.open("/api/v1/pods");
        let (status, _, end) = self.drain();
        assert_eq!(end, Ok(()));
        status
    }

    pub(crate) fn failure(&mut self) -> TransportErrorKind {
        self.error().kind
    }

    /// The one error that comes, and that nothing comes after.
    pub(crate) fn error(&mut self) -> TransportError {
        let error = loop {
            match self.next() {
                Incoming::Failed { id: ID, error } => break error,
                Incoming::Head { .. } | Incoming::Data { .. } => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(self.next(), Incoming::Idle { until: None });
        let shown = format!("{error} {error:?} {:?}", self.transport);
        assert!(!shown.contains(SECRET), "{shown}");
        error
    }
}

/// The variable that the child of [`measured_alone`] knows itself by; its value is the parent's to choose.
const MEASURED: &str = "LISTWATCH_MEASURED";

/// The value that the parent gave a measurement; `None` in a process that measures nothing.
pub(crate) fn measured() -> Option<OsString> {
    std::env::var_os(MEASURED)
}

/// Runs a test in a process of its own, where [`measured`] is this value. Returns its output.
pub(crate) fn measured_alone(test: &str, value: impl AsRef<OsStr>) -> String {
    measured_in(&["env"], test, value)
}

/// The same, started by another program.
pub(crate) fn measured_in(starter: &[&str], test: &str, value: impl AsRef<OsStr>) -> String {
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).arg(std::env::current_exe().unwrap());
    // The name of the program comes first, and that of this module last.
    let suite = module_path!().split("::").nth(1).unwrap();
    command.args(["--exact", &format!("{suite}::{test}"), "--nocapture", "--test-threads=1"]).env(MEASURED, value);
    let child = command.output().unwrap();
    let printed = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{printed}{}", String::from_utf8_lossy(&child.stderr));
    assert!(printed.contains("1 passed"), "there is no test {test}: {printed}");
    printed
}

/// How much more memory this process has at any time while `work` runs, in bytes. `work` calls its argument now and then.
/// It means nothing while other tests run in the same process: see [`measured_alone`].
pub(crate) fn most_memory(work: impl FnOnce(&mut dyn FnMut())) -> usize {
    let (before, mut most) = (resident(), 0);
    work(&mut || most = most.max(resident()));
    most.saturating_sub(before)
}

/// Bytes of memory in use; 0 where the system does not tell.
///
/// The pages of the program's own file do not count: they come in large pieces as functions are called first, and the
/// system has them in any case.
pub(crate) fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = |place: usize| statm.split(' ').nth(place).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages(1).saturating_sub(pages(2)) * 4096
}

struct Bell(Mutex<Sender<()>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // After the test, the receiver is gone.
        let _ = self.0.lock().unwrap().send(());
    }
}

/// A folder with files of a test, removed with it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Other modules of this process include this one too.
        let suite = module_path!().replace("::", "-");
        let name = format!("listwatch-{suite}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A program.
    #[cfg(unix)]
    pub(crate) fn script(&self, name: &str, lines: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    /// A kubeconfig of one cluster and one user, by what is in their entries.
    pub(crate) fn kubeconfig(&self, cluster: &str, user: &str) -> PathBuf {
        let text = format!(
            "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: me}}}}]\n\
             clusters: [{{name: it, cluster: {{{cluster}}}}}]\nusers: [{{name: me, user: {{{user}}}}}]\n"
        );
        self.write("config", text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system removes leftovers from its folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The cluster of a kubeconfig, without an environment.
pub(crate) fn cluster(kubeconfig: &Path) -> Cluster {
    options(&[]).kubeconfig(kubeconfig).unwrap()
}

/// Options under which the environment has these variables and no others. Most servers here have no TLS.
pub(crate) fn options(env: &'static [(&'static str, &'static str)]) -> ClusterOptions {
    let read = |name: &str| env.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
    ClusterOptions::new().interactive(false).env(read).credentials_over_http(true)
}

/// Why a kubeconfig cannot be used.
pub(crate) fn refusal(kubeconfig: &Path) -> String {
    let error = options(&[]).kubeconfig(kubeconfig).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    error.to_string()
}

pub(crate) fn request_head(connection: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if connection.read(&mut byte).unwrap_or(0) == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Passes the bytes of two connections on, in both directions.
pub(crate) fn relay(one: TcpStream, other: TcpStream) {
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            let _end = std::io::copy(&mut from, &mut to);
            to.shutdown(std::net::Shutdown::Write)
        })
    };
    pass(one.try_clone().unwrap(), other.try_clone().unwrap());
    pass(other, one);
}

pub(crate) fn send(connection: &mut impl Write, text: &str) {
    connection.write_all(text.as_bytes()).unwrap();
}

/// A header of a request.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)))?.1.into()
}
