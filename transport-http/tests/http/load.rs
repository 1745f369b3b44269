//! Many watches at once.

use super::support::{CHUNKED, Client, EMPTY, Server, options, send, wait_until};
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_core::transport::{Incoming, TransportErrorKind};
use listwatch_transport_http::{Cluster, ClusterOptions};
use std::io::Read;
use std::task::Poll;
use std::time::Duration;

const WATCH: &str = "/api/v1/pods?watch=1";

/// A server whose watches stay open.
fn watched() -> Server {
    Server::of(|mut connection, head| {
        if !head.contains("watch=1") {
            return send(&mut connection, EMPTY);
        }
        send(&mut connection, CHUNKED);
        drop(connection.read_to_end(&mut Vec::new()));
    })
}

/// As many open watches.
fn watches(cluster: &Cluster, number: usize) -> Vec<Client> {
    let open = |_| {
        let mut watch = Client::to(cluster);
        watch.open(WATCH);
        assert!(matches!(watch.next(), Incoming::Head { .. }));
        watch
    };
    (0..number).map(open).collect()
}

/// One that waits.
fn waiting(cluster: &Cluster) -> Client {
    let mut client = Client::to(cluster);
    client.open(WATCH);
    assert_eq!(client.poll(), Poll::Pending);
    client
}

#[test]
fn open_watches_leave_other_requests_their_room() {
    let server = watched();
    let cluster = options(&[]).max_watches(3).max_requests(1).at(&server.url()).unwrap();
    let _watches = watches(&cluster, 3);
    assert_eq!(Client::to(&cluster).list(), 200);
    let client = cluster.client().unwrap();
    assert_eq!(client.send(&ApiRequest::new(Method::Get, "/version")).unwrap().status, 200);
    let late = waiting(&cluster);
    assert_eq!(&*late.waits_for().unwrap(), "3 other watches are open, which ClusterOptions::max_watches limits");
    assert_eq!(Client::to(&cluster).list(), 200, "although one waits");
}

#[test]
fn a_request_beyond_the_limit_waits_until_another_ends() {
    let server = watched();
    let cluster = options(&[]).max_watches(2).wait_timeout(Duration::from_secs(600)).at(&server.url()).unwrap();
    let mut open = watches(&cluster, 2);
    let (given_up, mut first, mut full) = (waiting(&cluster), waiting(&cluster), Client::to(&cluster));
    full.open(WATCH);
    let error = full.error();
    assert_eq!(error.kind, TransportErrorKind::Exhausted);
    assert_eq!(&*error.detail, "2 watches are open, and 2 wait: raise ClusterOptions::max_watches");
    drop(given_up);
    let mut second = waiting(&cluster);
    open.pop();
    assert!(matches!(first.next(), Incoming::Head { .. }), "the first one first");
    assert!(first.waits_for().is_none() && second.waits_for().is_some());
    drop(first);
    assert!(matches!(second.next(), Incoming::Head { .. }));
    assert!(second.waits_for().is_none());
}

#[test]
fn a_request_that_waits_too_long_fails_and_names_the_option() {
    let server = watched();
    let limited = |options: ClusterOptions| options.max_watches(1).at(&server.url()).unwrap();
    for (wait, told) in [
        (Duration::from_millis(50), "1 other watches were open for 50ms: raise ClusterOptions::max_watches"),
        (Duration::ZERO, "1 watches are open, and 0 wait: raise ClusterOptions::max_watches"),
    ] {
        let cluster = limited(options(&[]).wait_timeout(wait));
        let mut open = watches(&cluster, 1);
        let mut late = Client::to(&cluster);
        late.open(WATCH);
        let error = late.error();
        assert_eq!((error.kind, &*error.detail), (TransportErrorKind::Exhausted, told));
        // It has no place any more.
        open.pop();
        wait_until(|| {
            late.open(WATCH);
            matches!(late.next(), Incoming::Head { .. })
        });
    }
}

/// A granted place that its request does not take would be missed at once.
#[test]
fn what_ends_while_it_waits_leaves_its_room_to_others() {
    let server = watched();
    let cluster = options(&[]).max_watches(1).wait_timeout(Duration::from_millis(1)).at(&server.url()).unwrap();
    for patience in (0..60).map(|round| Duration::from_micros(round * 50)) {
        let (mut open, mut late) = (Client::to(&cluster), Client::to(&cluster));
        wait_until(|| {
            open.open(WATCH);
            matches!(open.next(), Incoming::Head { .. })
        });
        late.open(WATCH);
        std::thread::park_timeout(patience);
        drop(open);
        if patience.as_micros() % 100 == 0 {
            _ = late.next();
        }
    }
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
    use super::{CHUNKED, Client, Server, options, send};
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
        client.open(super::WATCH);
        assert!(matches!(client.next(), Incoming::Head { .. }));
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
        let cluster = options(&[]).max_watches(WATCHES).at(&server.url()).unwrap();
        // Twice as many as there is room for.
        for _ in 0..21 {
            let mut watches: Vec<Client> = (0..5).map(|_| Client::to(&cluster)).collect();
            watches.iter_mut().for_each(watch);
        }
    }
}
