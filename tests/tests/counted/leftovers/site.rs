//! The server of a round.

use listwatch::http::Cluster;
use listwatch::{Client, Clock, World};
use listwatch_core::api::ApiResponse;
use listwatch_tests::sim::{
    ApiLine, ApiServer, Dice, Feed, Trace, Troubles, await_close, listen, read_request, respond, serve,
};
use serde_json::json;
use std::io::Write;

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

/// A server that has one widget, whose watches are quiet, and that never answers a request for pods.
pub(crate) fn half_silent() -> Cluster {
    let list = r#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}"#;
    let url = listen(move |mut connection| {
        while let Some((target, _)) = read_request(connection) {
            let (is_watch, refused) = (target.contains("watch=1"), target.contains("sendInitialEvents"));
            if target.contains("/pods") || is_watch && !refused {
                if !target.contains("/pods") {
                    let _sent = connection.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n");
                }
                return await_close(connection);
            }
            let (status, body) = if refused { (422, "{}") } else { (200, list) };
            if respond(connection, &ApiResponse::new(status, body)).is_err() {
                return;
            }
        }
    });
    Cluster::at(&url).unwrap()
}
