//! Against a server on the loopback interface.

use crate::controller::{Controller, WIDGETS, is_settled};
use core::time::Duration;
use listwatch::api::{Api, ApiError};
use listwatch::http::{Cluster, ClusterOptions};
use listwatch::time::Instant;
use listwatch::transport::TransportErrorKind;
use listwatch::{Client, Clock, Executor, Resource, run};
use listwatch_tests::sim::{ApiServer, Feed, Trace, serve};
use listwatch_tests::wait::PATIENCE;
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpListener;
use std::thread;

#[test]
fn the_same_controller_settles_over_real_sockets_by_a_real_clock_and_by_a_simulated_one() {
    for clock in [Clock::real(), Clock::simulated()] {
        let server = ApiServer::new(WIDGETS, Trace::new(false));
        let client = Cluster::at(&serve(&server)).unwrap().client().unwrap();
        let client = Client::new(client, clock.clone());
        // Real time goes on while a thread gets no processor.
        let controller = Controller::new(&clock, client).within(PATIENCE);
        let entries = controller.run(Feed::new(&server), async {
            for number in 0..20 {
                let name = format!("w{number}");
                server.with(|inside| inside.store.put(Instant::ZERO, &name, json!({ "wanted": number })));
            }
            while !server.with(|inside| inside.store.objects().all(|(_, widget)| is_settled(widget))) {
                clock.sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(entries.iter().all(|(_, _, said)| matches!(*said, "done" | "conflict")), "{entries:?}");
    }
}

#[test]
fn a_server_that_hangs_ends_a_call_by_the_limit_of_its_transport_while_simulated_time_stands_still() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let cluster = ClusterOptions::new().idle_timeout(Some(Duration::from_millis(100))).at(&url).unwrap();
    let (clock, executor) = (Clock::simulated(), Executor::new());
    let client = Client::new(cluster.client().unwrap(), clock.clone()).with_timeout(Duration::from_secs(5));
    let sleeper = executor.spawn(clock.sleep(Duration::from_secs(1)));
    let error = run(&clock, &executor, client.call(Api::<Value>::new(&Resource::new(WIDGETS)).get("a"))).unwrap_err();
    let ApiError::Transport(error) = error else { panic!("{error}") };
    assert_eq!((error.kind, clock.now()), (TransportErrorKind::Timeout, Instant::ZERO), "{error}");
    assert!(!error.detail.starts_with("no answer within"), "the deadline has not passed: {error}");
    run(&clock, &executor, sleeper);
    assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(1));
}

#[test]
fn a_reconcile_that_is_dropped_closes_the_connection_of_its_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let cluster = Cluster::at(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (asked, was_asked) = smol::channel::bounded(1);
    let server = thread::spawn(move || {
        let mut connection = listener.accept().unwrap().0;
        let mut head = [0; 1];
        connection.read_exact(&mut head).unwrap();
        asked.send_blocking(()).unwrap();
        // The end of the connection, and not of the server's patience.
        connection.read_to_end(&mut Vec::new()).is_ok()
    });
    let (clock, executor) = (Clock::simulated(), Executor::new());
    let client = Client::new(cluster.client().unwrap(), clock.clone());
    let reconcile = executor.spawn(async move {
        let _never = client.call(Api::<Value>::new(&Resource::new(WIDGETS)).get("a")).await;
    });
    run(&clock, &executor, async {
        was_asked.recv().await.unwrap();
        assert!(!reconcile.is_finished());
        drop(reconcile);
    });
    drop(executor);
    assert!(server.join().unwrap());
}
