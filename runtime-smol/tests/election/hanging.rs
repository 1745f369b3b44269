//! Work whose requests hang, over HTTP.

use crate::election::{LEASES, election};
use core::time::Duration;
use listwatch::World;
use listwatch::api::{Api, ApiClient, ApiError};
use listwatch::http::ClusterOptions;
use listwatch::request::Resource;
use listwatch::testing::SimulatedCluster;
use listwatch::transport::TransportErrorKind;
use listwatch_tests::sim::{await_close, listen, read_request, respond};
use listwatch_tests::wait::PATIENCE;
use serde_json::Value;
use std::sync::mpsc::channel;

/// Serves the leases of a cluster. Requests for anything else hang. Returns its address.
fn serve(cluster: &SimulatedCluster) -> String {
    let cluster = cluster.clone();
    listen(move |connection| {
        while let Some((_, mut request)) = read_request(connection) {
            if !request.path.contains("/leases") {
                return await_close(connection);
            }
            request.content_type = Some("application/json");
            if respond(connection, &cluster.send(&request).unwrap()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn work_whose_requests_hang_leaves_room_for_renewals() {
    const RENEWALS: usize = 5;
    let cluster = SimulatedCluster::new();
    let server = ClusterOptions::new().max_requests(2).wait_timeout(Duration::ZERO).at(&serve(&cluster)).unwrap();
    let world = World::from(server).on_report_line(|_| {});
    let quick = election("a").watched(false).retry_period(Duration::from_millis(100));
    let candidate = quick.candidate(&world).unwrap();
    let (ended, has_ended) = channel();
    std::thread::spawn(move || {
        let work = candidate.run(async |leadership| {
            let client = world.client();
            let maps = Api::<Value>::new(&Resource::new("/api/v1/namespaces/web/configmaps"));
            let mut hanging: Vec<_> = (0..2).map(|_| Box::pin(client.call(maps.get("hangs")))).collect();
            for call in &mut hanging {
                assert!(smol::future::poll_once(call).await.is_none());
            }
            let Err(ApiError::Transport(full)) = client.call(maps.get("a")).await else { panic!("there is room") };
            assert_eq!(full.kind, TransportErrorKind::Exhausted);
            let renewed = || cluster.get(LEASES, "web/it").unwrap()["spec"]["renewTime"].clone();
            for _ in 0..RENEWALS {
                let before = renewed();
                while renewed() == before {
                    world.clock().sleep(Duration::from_millis(5)).await;
                }
            }
            leadership.token().is_some()
        });
        let _told = ended.send(smol::block_on(work));
    });
    assert_eq!(has_ended.recv_timeout(PATIENCE), Ok(Ok(Some(true))));
}
