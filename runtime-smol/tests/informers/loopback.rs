//! Over the loopback interface, by the project's own HTTP transport, under tokio.

use crate::informers::support::{WIDGETS, resource};
use core::time::Duration;
use listwatch::api::Api;
use listwatch::decode::Raw;
use listwatch::http::{Cluster, ClusterOptions};
use listwatch::informer::InformerStatus;
use listwatch::time::Instant;
use listwatch::{Informers, Resource, World};
use listwatch_tests::sim::{ApiServer, Trace, serve};
use listwatch_tests::wait::{PATIENCE, wait_until};
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpListener;
use std::thread;

#[test]
fn informers_and_calls_of_a_cluster_share_a_world_and_their_status_is_read_while_they_run() {
    let server = ApiServer::new(WIDGETS, Trace::new(false));
    server.with(|inside| inside.store.put(Instant::ZERO, "a", json!({ "wanted": 1 })));
    let informers = Informers::new(Cluster::at(&serve(&server)).unwrap());
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let running = tokio.spawn(informers.run());
    let widgets = informers.informer_of::<Raw>(resource());
    tokio.block_on(widgets.synced().within(PATIENCE)).unwrap();
    assert!(matches!(informers.status()[0].status, InformerStatus::Synced { .. }), "{informers:?}");
    let widget = tokio.block_on(informers.client().call(Api::<Value>::new(&resource()).get("a"))).unwrap();
    assert_eq!(widget["spec"]["wanted"], 1);
    server.with(|inside| inside.store.put(Instant::ZERO, "b", json!({})));
    wait_until(|| widgets.len() == 2);
    drop((widgets, informers));
    tokio.block_on(running).unwrap();
}

#[test]
fn a_stream_beyond_the_limit_of_watches_says_what_it_waits_for_and_leaves_calls_their_room() {
    let server = ApiServer::new(WIDGETS, Trace::new(false));
    server.with(|inside| inside.store.put(Instant::ZERO, "a", json!({ "wanted": 1 })));
    let url = serve(&server);
    for wait in [PATIENCE, Duration::from_millis(20)] {
        let options = ClusterOptions::new().max_watches(1).max_requests(2).wait_timeout(wait);
        let cluster = options.at(&url).unwrap();
        // They share a limit, and no stream.
        let [informers, others] = [(); 2].map(|()| Informers::new(cluster.clone()));
        let running = [&informers, &others].map(|informers| {
            let running = informers.run();
            thread::spawn(move || smol::block_on(running))
        });
        let first = informers.informer_of::<Raw>(resource());
        smol::block_on(first.synced().within(PATIENCE)).unwrap();
        let second = others.informer_of::<Raw>(resource());
        let limit = "1 other watches are open, which ClusterOptions::max_watches limits";
        let status = || second.streams()[0].to_string();
        if wait == PATIENCE {
            wait_until(|| status().ends_with(&format!("; its request waits: {limit}")));
        } else {
            wait_until(|| status().contains("1 other watches were open for 20ms: raise ClusterOptions::max_watches"));
        }
        let call = || smol::block_on(others.client().call(Api::<Value>::new(&resource()).get("a")));
        assert_eq!(call().unwrap()["spec"]["wanted"], 1);
        drop((first, informers));
        smol::block_on(second.synced().within(PATIENCE)).unwrap();
        // The first watch may close after the drop.
        wait_until(|| second.streams()[0].waits_for.is_none());
        drop((second, others));
        running.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn the_last_drop_closes_the_connection_of_a_list_that_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let cluster = Cluster::at(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let informers = Informers::new(cluster);
    let widgets = informers.informer_of::<Raw>(resource());
    let running = thread::spawn({
        let running = informers.run();
        move || smol::block_on(running)
    });
    let mut connection = listener.accept().unwrap().0;
    connection.read_exact(&mut [0; 1]).unwrap();
    // The request may arrive before the poll that sent it is over.
    wait_until(|| matches!(informers.status()[0].status, InformerStatus::Streaming { items: 0, .. }));
    drop(widgets);
    // The end of the connection, and not of the server's patience.
    connection.read_to_end(&mut Vec::new()).unwrap();
    drop(informers);
    running.join().unwrap();
}

#[test]
fn certificates_that_could_not_be_used_are_read_again_by_the_next_request() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("informers-authority");
    std::fs::create_dir_all(&folder).unwrap();
    let (config, authority) = (folder.join("config"), folder.join("ca.crt"));
    let certificate = include_str!("../../../transport-http/tests/http/weak/authority.crt");
    std::fs::write(&authority, certificate).unwrap();
    std::fs::write(
        &config,
        "current-context: it\ncontexts: [{name: it, context: {cluster: it, user: me}}]\nusers: [{name: me, user: {}}]\n\
         clusters: [{name: it, cluster: {server: 'https://127.0.0.1:1', certificate-authority: ca.crt}}]\n",
    )
    .unwrap();
    let cluster = ClusterOptions::new().env(|_| None).kubeconfig(&config).unwrap();
    std::fs::write(&authority, "not yet").unwrap();
    let informers = Informers::new(World::from(cluster));
    let pods = informers.informer_of::<Raw>(Resource::named("v1/pods").unwrap());
    let running = informers.run();
    let call = informers.client().call(Api::<Value>::new(&resource()).get("a"));
    let failing = async {
        let error = pods.synced().within(PATIENCE).await.unwrap_err().to_string();
        assert!(error.contains("ca.crt"), "{error}");
        let error = call.await.unwrap_err().to_string();
        assert!(error.contains("ca.crt"), "{error}");
        std::fs::write(&authority, certificate).unwrap();
        let is_refused = || pods.streams()[0].to_string().contains("connection refused");
        for _ in 0..6_000 {
            if is_refused() {
                return;
            }
            informers.clock().sleep(Duration::from_millis(10)).await;
        }
        panic!("{}", pods.streams()[0]);
    };
    smol::block_on(smol::future::or(failing, running));
    let error =
        smol::block_on(informers.client().call(Api::<Value>::new(&resource()).get("a"))).unwrap_err().to_string();
    assert!(error.contains("connection refused"), "{error}");
}
