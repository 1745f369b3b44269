//! Many watches at once.

use super::support::{CHUNKED, Client, EMPTY, Server, options, send, wait_until};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use std::io::Read;

/// Opens a request. Tells whether it got an answer; `false` where there is no room for it.
fn begins(client: &mut Client, target: &str) -> bool {
    client.open(target);
    match client.next() {
        Incoming::Head { .. } => true,
        Incoming::Failed { error, .. } if error.kind == TransportErrorKind::Exhausted => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_request_too_many_fails_at_once_and_says_so() {
    let server = Server::of(|mut connection, head| {
        if !head.contains("watch=1") {
            return send(&mut connection, EMPTY);
        }
        send(&mut connection, CHUNKED);
        drop(connection.read_to_end(&mut Vec::new()));
    });
    let cluster = options(&[]).max_requests(3).at(&server.url()).unwrap();
    let mut watches: Vec<Client> = (0..3).map(|_| Client::to(&cluster)).collect();
    for watch in &mut watches {
        watch.open("/api/v1/pods?watch=1");
        assert!(matches!(watch.next(), Incoming::Head { .. }));
    }
    let mut late = Client::to(&cluster);
    late.open("/api/v1/pods");
    let error = late.error();
    assert_eq!(error.kind, TransportErrorKind::Exhausted);
    assert!(error.detail.contains("3 requests are open already"), "{error}");

    watches.pop();
    // The thread of the one that was given up needs a moment to end.
    wait_until(|| begins(&mut late, "/api/v1/pods"));
    assert_eq!(late.drain().2, Ok(()));
}

/// Each request of a transport that makes them one after the other finds room, though its thread may still be ending.
#[test]
fn a_request_that_has_ended_takes_no_room() {
    let cluster = options(&[]).max_requests(1).at(&Server::saying(EMPTY).url()).unwrap();
    let mut client = Client::to(&cluster);
    for _ in 0..50 {
        assert_eq!(client.list(), 200);
    }
}

#[cfg(target_os = "linux")]
pub(crate) mod cost {
    //! The cost of fifty watches, measured in a process of their own.

    use super::super::certificates::Authority;
    use super::super::support::{self, Scratch, cluster, measured_alone};
    use super::{CHUNKED, Client, Server, begins, options, send, wait_until};
    use listwatch_core::transport::Incoming;
    use std::fs;
    use std::io::{Read, Write};

    pub(crate) const WATCHES: usize = 50;

    /// The server is in this process, the watches are in a child of it.
    fn of_watches(kubeconfig: &std::path::Path) -> (usize, usize) {
        let printed = measured_alone("load::cost::measured", kubeconfig);
        let line = printed.lines().find_map(|line| line.split_once("COST ")).expect(&printed).1;
        let (bytes, threads) = line.split_once(' ').unwrap();
        (bytes.parse().unwrap(), threads.parse().unwrap())
    }

    /// The child's part; without its variable there is nothing to do.
    #[test]
    fn measured() {
        let Some(kubeconfig) = support::measured() else { return };
        let cluster = cluster(kubeconfig.as_ref());
        let mut watches: Vec<Client> = (0..=WATCHES).map(|_| Client::to(&cluster)).collect();
        // The first one pays for what is paid for once.
        let (first, others) = watches.split_first_mut().unwrap();
        watch(first);
        let before = settled(super::super::THREADS);
        others.iter_mut().for_each(watch);
        let after = settled((WATCHES + 1) * super::super::THREADS);
        println!("COST {} {}", (after.0 - before.0) / WATCHES, after.1 - before.1);
    }

    /// The figures once threads that have no more to do have ended, when there are so many watches' threads.
    fn settled(threads: usize) -> (usize, usize) {
        // Those of the test, of its harness and of a reactor.
        const OTHERS: usize = 3;
        for _ in 0..5000 {
            if figures().1 <= threads + OTHERS {
                break;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(2));
        }
        figures()
    }

    fn watch(client: &mut Client) {
        // Threads that are about to end take room too.
        wait_until(|| begins(client, "/api/v1/pods?watch=1"));
        let mut total = 0;
        while total < 20 * 1024 {
            let Incoming::Data { len, .. } = client.next() else { panic!("it broke off") };
            total += len;
        }
    }

    /// Bytes of memory, and threads.
    fn figures() -> (usize, usize) {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let figure = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse::<usize>().unwrap()
        };
        (figure("VmRSS:") * 1024, figure("Threads:"))
    }

    /// Twenty events of a kilobyte, and then silence.
    fn serve(mut stream: impl Read + Write) {
        send(&mut stream, CHUNKED);
        for _ in 0..20 {
            send(&mut stream, &format!("400\r\n{}\r\n", "x".repeat(1024)));
        }
        drop(stream.read(&mut [0]));
    }

    /// Bytes for each watch over plain HTTP, and the threads of all.
    pub(crate) fn plain() -> (usize, usize) {
        let files = Scratch::new();
        let server = Server::of(|connection, _| serve(connection));
        let (bytes, threads) = of_watches(&files.kubeconfig(&format!("server: '{}'", server.url()), ""));
        println!("a plain watch: {} KB, {} threads for {WATCHES}", bytes / 1000, threads);
        (bytes, threads)
    }

    /// The same over TLS.
    pub(crate) fn tls() -> (usize, usize) {
        let (authority, files) = (Authority::new(), Scratch::new());
        let server = authority.issue(&["127.0.0.1"]).serve(None, |stream, _| serve(stream));
        files.write("ca.crt", &authority.pem);
        let entries = format!("server: 'https://{}', certificate-authority: ca.crt", server.address);
        let (bytes, threads) = of_watches(&files.kubeconfig(&entries, ""));
        println!("a watch over TLS: {} KB, {} threads for {WATCHES}", bytes / 1000, threads);
        (bytes, threads)
    }

    #[test]
    fn no_thread_and_no_connection_stays_behind() {
        let server = Server::of(|connection, _| serve(connection));
        let cluster = options(&[]).max_requests(WATCHES).at(&server.url()).unwrap();
        // Twice as many as there is room for.
        for _ in 0..21 {
            let mut watches: Vec<Client> = (0..5).map(|_| Client::to(&cluster)).collect();
            watches.iter_mut().for_each(watch);
        }
    }
}
