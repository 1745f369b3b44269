//! Audits of a cache in front of a real server, behind a proxy that loses events.

use crate::real_server::plane::{Plane, filled, plane};
use crate::real_server::sample_controller::stage::SetAtEnd;
use core::task::Poll;
use listwatch::audit::{AuditReport, StreamAudit, Verdict};
use listwatch::decode::MetadataOnly;
use listwatch::http::{HttpClient, HttpTransport};
use listwatch::reactor::AsyncIo;
use listwatch::{Client, Clock, Executor, InformerHandle, Informers, World, run};
use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiError, DeleteOptions, Patch};
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::transport::{Incoming, ListerWatcher, ReadContext};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// More than two pages of an audit.
const OBJECTS: usize = 1_200;

/// Informers whose watches lose every event while the switch is on.
fn losing(plane: &Plane) -> (Informers, Arc<AtomicBool>) {
    let (cluster, loses) = (plane.cluster.clone(), Arc::<AtomicBool>::default());
    let (clock, switch) = (Clock::real(), Arc::clone(&loses));
    let client = Client::new(HttpClient::from(&cluster), clock.clone());
    let world = World::from_parts(clock, client, move |_| {
        let transport = HttpTransport::from(&cluster).with_reactor(Arc::new(AsyncIo));
        Box::new(Losing { transport, loses: Arc::clone(&switch), is_watch: false })
    });
    (Informers::new(world), loses)
}

/// Follows ConfigMaps behind the proxy.
fn follow<R>(
    plane: &Plane,
    maps: &Resource,
    play: impl AsyncFnOnce(&InformerHandle<MetadataOnly>, &AtomicBool) -> R,
) -> R {
    let (informers, loses) = losing(plane);
    let (clock, executor) = (informers.clock().clone(), Executor::new());
    let _running = executor.spawn(informers.run());
    let handle = informers.informer_of::<MetadataOnly>(maps.clone());
    run(&clock, &executor, async {
        handle.synced().within(Duration::from_secs(60)).await.unwrap();
        play(&handle, &loses).await
    })
}

async fn audited(maps: &InformerHandle<MetadataOnly>) -> Arc<StreamAudit> {
    let audits = maps.audit().await;
    println!("{}, after {:?}", audits[0], audits[0].took);
    Arc::clone(&audits[0])
}

fn found(audit: &StreamAudit) -> Vec<(String, &'static str)> {
    let report = audit.result.as_ref().unwrap();
    report.differences.iter().map(|it| (it.key.name().to_owned(), it.kind().name())).collect()
}

#[test]
fn events_that_a_proxy_loses_are_found_by_key_and_a_cache_that_lost_none_is_clean() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("drift");
    let maps = plane.filled(&namespace, OBJECTS);
    follow(&plane, &maps, async |handle, loses| {
        let clean = audited(handle).await;
        assert!(clean.is_clean() && clean.result.as_ref().unwrap().objects >= OBJECTS, "{clean}");
        loses.store(true, Ordering::Relaxed);
        plane.change(&maps, &filled(1), &json!({ "data": { "lost": "yes" } }));
        plane.delete(&maps, &filled(2)).unwrap();
        plane.create(&maps, &json!({ "metadata": { "name": "new" } }));
        Clock::real().sleep(Duration::from_secs(2)).await;
        loses.store(false, Ordering::Relaxed);
        // The stream goes on, so the cache reaches the list's version.
        plane.change(&maps, &filled(3), &json!({ "data": { "lost": "no" } }));
        let drifted = audited(handle).await;
        assert_eq!(drifted.result.as_ref().map(AuditReport::verdict), Ok(Verdict::Drifted), "{drifted}");
        let expected = [(filled(1), "stale"), (filled(2), "extra"), ("new".to_owned(), "missing")];
        assert_eq!(found(&drifted), expected);
    });
}

#[test]
fn a_cache_that_is_written_to_all_the_time_is_clean() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("busy");
    let maps = plane.filled(&namespace, OBJECTS);
    let (is_over, client) = (AtomicBool::new(false), HttpClient::from(&plane.cluster));
    let api = Api::<Value>::new(&maps);
    std::thread::scope(|scope| {
        let _over = SetAtEnd(&is_over);
        scope.spawn(|| write_until(&is_over, &api, &client));
        follow(&plane, &maps, async |handle, _| {
            for _ in 0..5 {
                let audit = audited(handle).await;
                assert!(audit.is_clean(), "{audit}");
            }
        });
    });
}

/// Changes, deletes and creates objects, one after the other.
fn write_until(is_over: &AtomicBool, api: &Api<Value>, client: &HttpClient) {
    let delete = |name: &str| -> Result<(), ApiError> { api.delete(name, &DeleteOptions::default()).send(client) };
    for number in (0..OBJECTS).cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
        let more = format!("more-{number}");
        match number % 3 {
            0 => {
                let change = json!({ "data": { "written": number.to_string() } });
                api.patch(&filled(number), &Patch::Merge(&change)).send(client).unwrap();
            }
            1 => _ = delete(&filled(number)),
            _ if delete(&more).is_ok() => {}
            _ => _ = api.create(&json!({ "metadata": { "name": more } })).send(client).unwrap(),
        }
    }
}

/// Writes spaces over events.
struct Losing<L> {
    transport: L,
    loses: Arc<AtomicBool>,
    is_watch: bool,
}

impl<L: ListerWatcher> ListerWatcher for Losing<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.is_watch = request.query() != Query::List;
        self.transport.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let read = self.transport.poll_read(context, buf);
        if let Poll::Ready(Incoming::Data { len, .. }) = &read
            && self.is_watch
            && self.loses.load(Ordering::Relaxed)
        {
            buf[..*len].split_inclusive_mut(|byte| *byte == b'\n').for_each(|line| {
                let end = line.len() - usize::from(line.ends_with(b"\n"));
                line[..end].fill(b' ');
            });
        }
        read
    }

    fn abort(&mut self, id: RequestId) {
        self.transport.abort(id);
    }
}
