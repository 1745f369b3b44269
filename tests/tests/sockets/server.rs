//! A server on the loopback interface. It reads requests, and leaves it to others what to say.

use crate::sockets::connection::Connection;
use rustls::ServerConfig;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What is shown of itself, by the new TLS or by the old; nothing over plain HTTP.
pub(crate) type Shown = Option<[Arc<ServerConfig>; 2]>;

/// Something happened.
pub(crate) enum Signal {
    /// The transport may have something.
    Woken,
    /// A request came.
    Asked(Asked),
    /// A connection was closed.
    Closed,
}

/// A request, and the connection that waits for the answer.
pub(crate) struct Asked {
    /// Its first line and its headers.
    pub(crate) head: String,
    pub(crate) connection: Connection,
    /// The connection was kept from an earlier one.
    pub(crate) is_late: bool,
    back: Sender<Connection>,
}

/// A server that listens, and a thread for each of its connections.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<TcpStream>>,
}

struct Shared {
    signals: Sender<Signal>,
    shown: Mutex<Shown>,
    shut: AtomicBool,
    open: AtomicUsize,
    accepted: AtomicU64,
    /// Bytes, before TLS.
    sent: AtomicU64,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A connection that is counted among those that are open.
pub(crate) struct Open(Arc<Shared>);

impl Server {
    pub(crate) fn new(shown: Shown, signals: Sender<Signal>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Shared {
            signals,
            shown: Mutex::new(shown),
            shut: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            accepted: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            threads: Mutex::default(),
        };
        let address = listener.local_addr().unwrap();
        let mut server = Self { address, shared: Arc::new(shared), listening: None };
        server.listen(listener);
        server
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// How many connections there were.
    pub(crate) fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many bytes were sent, before TLS.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// Nobody listens while `meanwhile` runs. A connection of the server with itself keeps the port from others.
    pub(crate) fn while_shut<R>(&mut self, meanwhile: impl FnOnce() -> R) -> R {
        let kept = self.shut();
        let result = meanwhile();
        self.listen(TcpListener::bind(self.address).unwrap());
        drop(kept);
        result
    }

    /// Something else is shown to who connects while `meanwhile` runs.
    pub(crate) fn while_showing<R>(&self, shown: Shown, meanwhile: impl FnOnce() -> R) -> R {
        let usual = std::mem::replace(&mut *self.shared.shown.lock().unwrap(), shown);
        let result = meanwhile();
        *self.shared.shown.lock().unwrap() = usual;
        result
    }

    /// Ends every thread. All connections have to be closed.
    pub(crate) fn stop(&mut self) {
        drop(self.shut());
        let threads = std::mem::take(&mut *self.shared.threads.lock().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    fn listen(&mut self, listener: TcpListener) {
        self.shared.shut.store(false, Ordering::SeqCst);
        let shared = self.shared.clone();
        self.listening = Some(thread::spawn(move || shared.listen(&listener)));
    }

    /// Ceases to listen, by a connection that nobody else makes; both of its ends.
    fn shut(&mut self) -> Option<(TcpStream, TcpStream)> {
        let thread = self.listening.take()?;
        self.shared.shut.store(true, Ordering::SeqCst);
        let knock = TcpStream::connect(self.address).unwrap();
        Some((knock, thread.join().unwrap()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shut());
    }
}

impl Shared {
    /// Accepts connections until it is told to stop, by one more.
    fn listen(self: &Arc<Self>, listener: &TcpListener) -> TcpStream {
        loop {
            let (tcp, _) = listener.accept().unwrap();
            if self.shut.load(Ordering::SeqCst) {
                return tcp;
            }
            let number = self.accepted.fetch_add(1, Ordering::SeqCst) as usize;
            let shown = self.shown.lock().unwrap().as_ref().map(|shown| shown[number % 2].clone());
            self.open.fetch_add(1, Ordering::SeqCst);
            let connection = Connection::new(tcp, shown, Open(self.clone()));
            let signals = self.signals.clone();
            self.threads.lock().unwrap().push(thread::spawn(move || serve(connection, &signals)));
        }
    }
}

/// Reads one request after the other, each once the one before is answered.
fn serve(mut connection: Connection, signals: &Sender<Signal>) {
    let mut is_late = false;
    while let Some(head) = connection.request() {
        let (back, returned) = mpsc::channel();
        let asked = Asked { head, connection, is_late, back };
        if signals.send(Signal::Asked(asked)).is_err() {
            return;
        }
        match returned.recv() {
            Ok(again) => (connection, is_late) = (again, true),
            Err(_) => return,
        }
    }
}

impl Asked {
    /// The value of a header that is there once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    }

    /// The answer is over, and the connection waits for the next request.
    pub(crate) fn keep(self) {
        self.back.send(self.connection).expect("its thread waits");
    }
}

impl Open {
    /// Bytes were sent.
    pub(crate) fn count(&self, bytes: usize) {
        self.0.sent.fetch_add(bytes as u64, Ordering::SeqCst);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        // At the end, nobody listens.
        let _ = self.0.signals.send(Signal::Closed);
    }
}
