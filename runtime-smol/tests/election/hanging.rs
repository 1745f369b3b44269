//! Work whose requests hang, over HTTP.

use crate::{LEASES, election};
use core::time::Duration;
use listwatch_runtime_smol::World;
use listwatch_runtime_smol::api::{Api, ApiClient, ApiError, ApiRequest, Method};
use listwatch_runtime_smol::file::SimulatedCluster;
use listwatch_runtime_smol::http::ClusterOptions;
use listwatch_runtime_smol::request::Resource;
use listwatch_runtime_smol::transport::TransportErrorKind;
use listwatch_tests::wait::PATIENCE;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;

/// Serves the leases of a cluster. Requests for anything else hang. Returns its address.
fn serve(cluster: &SimulatedCluster) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let cluster = cluster.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let cluster = cluster.clone();
            std::thread::spawn(move || answer(&cluster, connection.unwrap()));
        }
    });
    format!("http://{address}")
}

/// Answers the requests of a connection.
fn answer(cluster: &SimulatedCluster, connection: TcpStream) {
    let (mut writer, mut reader) = (connection.try_clone().unwrap(), BufReader::new(connection));
    while let Some(request) = read(&mut reader) {
        if !request.path.contains("/leases") {
            // Until the other side closes it.
            let _closed = reader.read(&mut [0]);
            return;
        }
        let response = cluster.send(&request).unwrap();
        let head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n\r\n", response.status, response.body.len());
        if writer.write_all(&[head.as_bytes(), &response.body].concat()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<ApiRequest> {
    let (mut line, mut len) = (String::new(), 0);
    reader.read_line(&mut line).ok().filter(|len| *len > 0)?;
    let (method, target) = line.split_once(' ')?;
    let method = match method {
        "POST" => Method::Post,
        "PUT" => Method::Put,
        _ => Method::Get,
    };
    let mut request = ApiRequest::new(method, target.split([' ', '?']).next()?);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim_end().to_lowercase().split_once(": ") {
            Some(("content-length", value)) => len = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    request.content_type = Some("application/json");
    request.body = vec![0; len];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

#[test]
fn work_whose_requests_hung_left_no_room_for_renewals() {
    const RENEWALS: usize = 5;
    let cluster = SimulatedCluster::new();
    let server = ClusterOptions::new().max_requests(2).at(&serve(&cluster)).unwrap();
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
