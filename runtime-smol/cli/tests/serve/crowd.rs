//! Many clients at once.

use crate::notifications::client_go;
use crate::serve::child::PATIENCE;
use crate::serve::serving::Serving;
use listwatch::decode::MetadataOnly;
use listwatch::http::Cluster;
use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, Resource, run};
use std::io::Write;
use std::net::TcpStream;

const CLIENTS: usize = 50;

/// Follows pods until they are in a state, and returns whether they came to be.
async fn comes_to(url: String, clock: Clock, state: Vec<String>) -> bool {
    let transport = Cluster::at(&url).unwrap().transport().unwrap();
    let informer = Informer::<MetadataOnly>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
    let mut events = Events::start(Driver::new(informer, transport), clock.clone());
    let followed = async {
        while let Some(_event) = events.next().await {
            let cache = events.driver().informer().cache();
            let shown = |object: &_| entry(object);
            if cache.len() == state.len() && cache.iter().map(shown).all(|entry| state.binary_search(&entry).is_ok()) {
                return true;
            }
        }
        false
    };
    let late = async {
        clock.sleep(PATIENCE).await;
        false
    };
    smol::future::or(followed, late).await
}

fn entry(object: &listwatch::object::ObjectHandle<MetadataOnly>) -> String {
    format!("{} {}", object.key(), object.meta().resource_version())
}

/// Beside them, a client opens a watch and never reads it.
#[test]
fn fifty_clients_at_once_come_to_the_last_state_beside_one_that_never_reads() {
    let server = Serving::capture("pods-rollout", "--speed 20");
    let mut idle = TcpStream::connect(server.address()).unwrap();
    write!(idle, "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: {}\r\n\r\n", server.address()).unwrap();
    let store = client_go("pods-rollout").store;
    let mut state: Vec<String> =
        store["store"].as_array().unwrap().iter().map(|entry| entry.as_str().unwrap().to_owned()).collect();
    state.sort();
    let (clock, executor) = (Clock::real(), Executor::new());
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| executor.spawn(comes_to(server.url.clone(), clock.clone(), state.clone()))).collect();
    let arrived = run(&clock, &executor, async {
        let mut arrived = 0;
        for client in clients {
            arrived += usize::from(client.await);
        }
        arrived
    });
    assert_eq!(arrived, CLIENTS);
    assert_eq!(server.end_by("-TERM"), Some(0));
    drop(idle);
}
