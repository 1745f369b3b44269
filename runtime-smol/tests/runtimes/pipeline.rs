//! The pipeline, once for all executors. Its channels and combinators wait by wakers alone, as the pipeline does.

use core::ops::Range;
use core::pin::Pin;
use core::time::Duration;
use listwatch::SharedWorkQueue;
use listwatch::api::{Api, ApiError};
use listwatch::cache::Cache;
use listwatch::decode::MetadataOnly;
use listwatch::http::{Cluster, HttpTransport};
use listwatch::object::ObjectHandle;
use listwatch::reactor::AsyncIo;
use listwatch::time::Instant;
use listwatch::workers::Unfinished;
use listwatch::{Client, Clock, Driver, Events, Informer, InformerConfig, Key, Outcome, Resource, Workers};
use listwatch_tests::sim::{ApiServer, Trace, serve};
use serde_json::{Value, json};
use smol::channel::{Receiver, Sender, bounded, unbounded};
use smol::future::or;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an executor is asked to run.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

type Queue = Arc<SharedWorkQueue<Key>>;

const WIDGETS: &str = "/apis/example.com/v1/namespaces/web/widgets";
const LONG: Duration = Duration::from_secs(60);
/// Each with two workers, so that an executor with several threads can use them.
const TASKS: usize = 2;

/// Starts a controller by `spawn`, changes objects of its server until each has been reconciled, and stops it.
pub(crate) async fn pipeline(spawn: impl Fn(Task)) {
    let server = ApiServer::new(WIDGETS, Trace::new(false));
    change(&server, 1, 0..20);
    let (cluster, clock) = (Cluster::at(&serve(&server)).unwrap(), Clock::real());
    let queue = Queue::new(SharedWorkQueue::default());

    let informer = Informer::<MetadataOnly>::new(Resource::new(WIDGETS), InformerConfig::default());
    let transport = cluster.transport().unwrap().with_reactor(Arc::new(AsyncIo));
    let events = Events::start(Driver::new(informer, transport), clock.clone());
    let (synced, (stop, stopped)) = (events.synced().within(LONG), bounded(1));
    let (ends, ended) = unbounded();
    let (follow, end) = (follow(events, Arc::clone(&queue), stopped), ends.clone());
    spawn(Box::pin(async move {
        follow.await;
        drop(end);
    }));

    let client = Client::new(cluster.client().unwrap(), clock.clone());
    let (reports, reported) = unbounded();
    let controller = Arc::new(Controller { client, widgets: Api::new(&Resource::new(WIDGETS)), reports });
    for _ in 0..TASKS {
        let controller = Arc::clone(&controller);
        let reconcile = move |key: Key| {
            let controller = Arc::clone(&controller);
            async move { controller.reconcile(key.name()).await }
        };
        let (workers, end) = (Workers::run(&queue, &clock, 2, reconcile), ends.clone());
        spawn(Box::pin(async move { end.send(workers.await).await.unwrap() }));
    }
    drop(ends);

    synced.await.unwrap();
    change(&server, 2, 10..30);
    server.with(|inside| inside.store.delete(Instant::ZERO, "w0"));
    wait_until_settled(&server, &reported).await;

    queue.shut_down_with_drain(clock.now(), LONG);
    for _ in 0..TASKS {
        let Unfinished { dropped, blocked, .. } = ended.recv().await.unwrap();
        assert_eq!((dropped, blocked), (Vec::new(), Vec::new()));
    }
    let drained = queue.drained().unwrap();
    assert_eq!((drained.ready, drained.running), (0, 0));
    drop(stop);
    assert!(ended.recv().await.is_err(), "every task has ended");
}

/// Writes widgets that want something else in each round.
fn change(server: &ApiServer, round: u32, numbers: Range<u32>) {
    for number in numbers {
        let wanted = json!({ "wanted": [round, number] });
        server.with(|inside| inside.store.put(Instant::ZERO, &format!("w{number}"), wanted));
    }
}

/// Adds the key of each event to the queue until `stopped` is closed.
async fn follow<C>(mut events: Events<MetadataOnly, HttpTransport, C>, queue: Queue, stopped: Receiver<()>)
where
    C: Cache<ObjectHandle<MetadataOnly>> + Unpin,
{
    let stop = async || stopped.recv().await.ok().and(None);
    while let Some(event) = or(stop(), events.next()).await {
        event.key().into_iter().for_each(|key| queue.add(key.clone()));
    }
}

/// Takes reports until every widget is as it is wanted, and the key of each was reconciled.
async fn wait_until_settled(server: &ApiServer, reported: &Receiver<(String, Report)>) {
    let mut missing: BTreeSet<_> = (1..30).map(|number| (format!("w{number}"), Report::Settled)).collect();
    missing.insert(("w0".to_owned(), Report::Gone));
    let is_settled = || server.with(|inside| inside.store.objects().all(|(_, widget)| is_settled(widget)));
    while !missing.is_empty() || !is_settled() {
        missing.remove(&reported.recv().await.unwrap());
    }
}

/// Writes into the status of each widget what its spec wants.
struct Controller {
    client: Client,
    widgets: Api<Value>,
    reports: Sender<(String, Report)>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Report {
    Settled,
    Gone,
}

impl Controller {
    async fn reconcile(&self, name: &str) -> Outcome {
        match self.settle(name).await {
            // Looks at it again, so that a delay of the queue ends too.
            Ok(None) => Outcome::RequeueAfter(Duration::from_millis(2)),
            Ok(Some(report)) => {
                self.reports.send((name.to_owned(), report)).await.unwrap();
                Outcome::Done
            }
            Err(error) => Outcome::from(&error),
        }
    }

    /// What is to be reported of a widget; `None` after a change.
    async fn settle(&self, name: &str) -> Result<Option<Report>, ApiError> {
        let mut widget = match self.client.call(self.widgets.get(name)).await {
            Err(error) if error.is_not_found() => return Ok(Some(Report::Gone)),
            found => found?,
        };
        if is_settled(&widget) {
            return Ok(Some(Report::Settled));
        }
        widget["status"] = json!({ "seen": widget["spec"]["wanted"] });
        self.client.call(self.widgets.status().replace(name, &widget)).await.map(|_| None)
    }
}

fn is_settled(widget: &Value) -> bool {
    widget["status"]["seen"] == widget["spec"]["wanted"]
}
