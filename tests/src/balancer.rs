//! A balancer in front of several servers, with the faults of networks: plain TCP on the loopback interface.
//!
//! Each client has a [`Door`] of its own, so that one client can be cut off. A connection goes to the next server that
//! accepts it. All threads end with the balancer's doors.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How many connections a door has at most.
const MOST: usize = 256;
/// How long one end may take to accept a connection, or bytes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a door does with new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It brings them to a server.
    #[default]
    Pass,
    /// It closes them at once.
    Refuse,
    /// It accepts them, and drops every byte.
    Silence,
}

/// Servers on ports of the loopback interface, in turn.
#[derive(Clone, Debug)]
pub struct Balancer {
    servers: Arc<[u16]>,
    turn: Arc<AtomicUsize>,
}

impl Balancer {
    /// One for these ports.
    #[must_use]
    pub fn new(servers: &[u16]) -> Self {
        Self { servers: servers.into(), turn: Arc::default() }
    }

    /// A door for one more client.
    ///
    /// # Errors
    /// Where no port can be listened at.
    pub fn door(&self) -> io::Result<Door> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, shared) = (listener.local_addr()?, Arc::<Shared>::default());
        let (balancer, accepting) = (self.clone(), Arc::clone(&shared));
        let accepting =
            thread::Builder::new().name("door".to_owned()).spawn(move || accept(&listener, &balancer, &accepting))?;
        Ok(Door { address, shared, accepting: Some(accepting) })
    }

    /// Connects to the next server that accepts.
    fn connect(&self) -> Option<TcpStream> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut turns = (0..self.servers.len()).map(|turn| self.servers[(first + turn) % self.servers.len()]);
        turns.find_map(|port| TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), PATIENCE).ok())
    }
}

/// The address of one client, and what happens to its connections.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    has_ended: AtomicBool,
    mode: Mutex<Mode>,
    lines: Mutex<BTreeMap<u64, Arc<Line>>>,
    delay: AtomicU64,
    accepted: AtomicU64,
    dropped: AtomicU64,
    carried: AtomicU64,
}

/// A connection and, unless it was accepted in silence, its way to a server.
#[derive(Debug)]
struct Line {
    client: TcpStream,
    server: Option<TcpStream>,
    is_silent: AtomicBool,
}

impl Door {
    /// The port that the client connects to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Changes what happens to new connections. Those that exist stay.
    pub fn set(&self, mode: Mode) {
        *lock(&self.shared.mode) = mode;
    }

    /// Cuts the client off: every connection is dropped, or becomes silent, and no other one passes.
    pub fn cut_off(&self, mode: Mode) {
        self.set(mode);
        if mode == Mode::Silence {
            self.lines().values().for_each(|line| line.is_silent.store(true, Ordering::Relaxed));
        } else {
            self.cut();
        }
    }

    /// Lets connections pass, at once, and drops those that are silent.
    pub fn heal(&self) {
        self.set(Mode::Pass);
        self.shared.delay.store(0, Ordering::Relaxed);
        self.cut_silent();
    }

    /// Holds each piece back for this long.
    pub fn delay(&self, delay: Duration) {
        self.shared.delay.store(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Drops every connection.
    pub fn cut(&self) {
        self.drop_lines(|_| true);
    }

    /// Drops the connections that are silent.
    pub fn cut_silent(&self) {
        self.drop_lines(|line| line.is_silent.load(Ordering::Relaxed));
    }

    /// Drops one of the connections, if there is one: that of this number, counted round.
    pub fn drop_one(&self, pick: u64) {
        let line = pick_of(&self.lines(), pick);
        line.iter().for_each(|line| self.drop_line(line));
    }

    /// From now on, drops every byte of one of the connections, and says nothing to its ends.
    pub fn silence_one(&self, pick: u64) {
        let line = pick_of(&self.lines(), pick);
        line.iter().for_each(|line| line.is_silent.store(true, Ordering::Relaxed));
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// How many of them were dropped by order.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// How many bytes it has brought to one end or the other.
    #[must_use]
    pub fn carried(&self) -> u64 {
        self.shared.carried.load(Ordering::Relaxed)
    }

    fn drop_lines(&self, is_one: impl Fn(&Line) -> bool) {
        self.lines().values().filter(|line| is_one(line)).for_each(|line| self.drop_line(line));
    }

    fn drop_line(&self, line: &Line) {
        self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        line.close();
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Line>>> {
        lock(&self.shared.lines)
    }
}

impl Drop for Door {
    /// Nothing of it goes on.
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        // The thread waits for one more connection.
        let _woken = TcpStream::connect_timeout(&self.address, PATIENCE);
        let _ended = self.accepting.take().map(JoinHandle::join);
        self.cut();
    }
}

impl Line {
    fn close(&self) {
        for stream in [Some(&self.client), self.server.as_ref()].into_iter().flatten() {
            let _may_be_closed = stream.shutdown(Shutdown::Both);
        }
    }

    /// Brings bytes from one end to the other until one of them, or the line, is closed.
    fn pump(&self, mut from: &TcpStream, to: Option<&TcpStream>, shared: &Shared) {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            let held = shared.delay.load(Ordering::Relaxed);
            if held > 0 {
                pause(Duration::from_millis(held));
            }
            let Some(mut to) = to.filter(|_| !self.is_silent.load(Ordering::Relaxed)) else { continue };
            shared.carried.fetch_add(len as u64, Ordering::Relaxed);
            if to.write_all(&buffer[..len]).is_err() {
                break;
            }
        }
        // A silent line does not say that the other end has closed.
        if !self.is_silent.load(Ordering::Relaxed) || std::ptr::eq(from, &self.client) {
            self.close();
        }
    }
}

/// Accepts connections until the door ends.
fn accept(listener: &TcpListener, balancer: &Balancer, shared: &Arc<Shared>) {
    for number in 0.. {
        let client = listener.accept();
        if shared.has_ended.load(Ordering::SeqCst) {
            return;
        }
        match client {
            Ok((client, _)) => open(number, client, balancer, shared),
            // Too many descriptors.
            Err(_) => pause(Duration::from_millis(100)),
        }
    }
}

fn open(number: u64, client: TcpStream, balancer: &Balancer, shared: &Arc<Shared>) {
    let mode = *lock(&shared.mode);
    let server = if mode == Mode::Pass { balancer.connect() } else { None };
    let is_refused = mode == Mode::Refuse || (mode == Mode::Pass && server.is_none());
    if is_refused || lock(&shared.lines).len() >= MOST {
        return;
    }
    shared.accepted.fetch_add(1, Ordering::Relaxed);
    for stream in [Some(&client), server.as_ref()].into_iter().flatten() {
        let _as_it_was = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    }
    let line = Arc::new(Line { client, server, is_silent: AtomicBool::new(mode == Mode::Silence) });
    lock(&shared.lines).insert(number, Arc::clone(&line));
    // A client that was cut off in between: its connections were counted before this one was there.
    match *lock(&shared.mode) {
        Mode::Pass => {}
        Mode::Refuse => line.close(),
        Mode::Silence => line.is_silent.store(true, Ordering::Relaxed),
    }
    if line.server.is_some() {
        let (line, shared) = (Arc::clone(&line), Arc::clone(shared));
        let down = move || line.server.iter().for_each(|server| line.pump(server, Some(&line.client), &shared));
        thread::spawn(down);
    }
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        line.pump(&line.client, line.server.as_ref(), &shared);
        lock(&shared.lines).remove(&number);
    });
}

fn pick_of(lines: &BTreeMap<u64, Arc<Line>>, pick: u64) -> Option<Arc<Line>> {
    let len = u64::try_from(lines.len()).ok().filter(|len| *len > 0)?;
    lines.values().nth(usize::try_from(pick % len).ok()?).cloned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "a network keeps real time")]
fn pause(time: Duration) {
    thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_until;

    /// A server that answers each byte with its own.
    fn server(answer: u8) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    while stream.read(&mut [0]).is_ok_and(|len| len > 0) && stream.write(&[answer]).is_ok() {}
                });
            }
        });
        port
    }

    fn client(door: &Door) -> TcpStream {
        let client = TcpStream::connect(door.address).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        client
    }

    /// The answer to one byte; `None` if the connection is closed.
    fn ask(mut client: &TcpStream) -> io::Result<Option<u8>> {
        client.write_all(b"?")?;
        let mut answer = [0];
        Ok((client.read(&mut answer)? > 0).then_some(answer[0]))
    }

    #[test]
    fn connections_go_to_the_next_server_that_accepts() {
        let dead = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let door = Balancer::new(&[server(b'a'), dead, server(b'b')]).door().unwrap();
        let clients = [(); 4].map(|()| client(&door));
        let answers = clients.each_ref().map(|client| ask(client).unwrap().unwrap());
        assert_eq!(answers, *b"abba");
        drop(clients);
        wait_until(|| door.lines().is_empty());
    }

    #[test]
    fn one_client_is_cut_off_and_another_one_is_not() {
        let balancer = Balancer::new(&[server(b'a')]);
        let [cut, other] = [(); 2].map(|()| balancer.door().unwrap());
        let (ours, others) = (client(&cut), client(&other));
        assert_eq!(ask(&ours).unwrap(), Some(b'a'));
        cut.cut_off(Mode::Refuse);
        assert!(!matches!(ask(&ours), Ok(Some(_))));
        assert!(!matches!(ask(&client(&cut)), Ok(Some(_))));
        assert_eq!(ask(&others).unwrap(), Some(b'a'));
        cut.heal();
        assert_eq!(ask(&client(&cut)).unwrap(), Some(b'a'));
        assert_eq!((cut.dropped(), other.dropped()), (1, 0));
    }

    #[test]
    fn a_silent_connection_stays_open_until_it_is_cut() {
        let door = Balancer::new(&[server(b'a')]).door().unwrap();
        let silent = client(&door);
        assert_eq!(ask(&silent).unwrap(), Some(b'a'));
        door.silence_one(0);
        assert_eq!(ask(&silent).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(ask(&client(&door)).unwrap(), Some(b'a'), "the others are not");
        door.cut_silent();
        assert!(!matches!(ask(&silent), Err(error) if error.kind() == io::ErrorKind::WouldBlock), "it is closed");
        door.cut_off(Mode::Silence);
        assert_eq!(ask(&client(&door)).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
