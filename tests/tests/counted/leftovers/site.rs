//! The server of a round.

use listwatch::http::Cluster;
use listwatch::{Client, Clock, World};
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Feed, Trace, Troubles, serve};
use serde_json::json;

pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/web/widgets";
pub(crate) const PODS: &str = "/api/v1/namespaces/web/pods";

/// A server with four widgets, and with no pods.
pub(crate) fn server() -> ApiServer {
    let server = ApiServer::new(WIDGETS, Trace::new(false));
    server.with(|inside| {
        inside.store.add_collection(PODS);
        for name in ["a", "b", "c", "d"] {
            inside.store.put(listwatch_core::Instant::ZERO, name, json!({ "wanted": 1 }));
        }
    });
    server
}

/// The server by a simulated network.
pub(crate) fn simulated(server: &ApiServer, clock: &Clock) -> World {
    let (now, feeds) = (clock.clone(), server.clone());
    let line = ApiLine::new(server, Dice::new(1), Troubles::NONE, move || now.now());
    World::from_parts(clock.clone(), Client::new(line, clock.clone()), move |_| Box::new(Feed::new(&feeds)))
}

/// The server behind a real socket.
pub(crate) fn over_sockets(server: &ApiServer) -> Cluster {
    Cluster::at(&serve(server)).unwrap()
}
