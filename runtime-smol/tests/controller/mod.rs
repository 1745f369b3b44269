//! A controller that acts, by the same code against a simulated server, a recording, a function, and a server on the loopback
//! interface.

mod answers;
mod loopback;
mod simulated;

use core::time::Duration;
use listwatch::SharedWorkQueue;
use listwatch::api::{Api, ApiError};
use listwatch::decode::MetadataOnly;
use listwatch::time::Instant;
use listwatch::transport::ListerWatcher;
use listwatch::transport::TransportErrorKind;
use listwatch::{
    Client, Clock, Driver, Events, Executor, Informer, InformerConfig, Key, Outcome, Resource, Workers, run,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/web/widgets";

/// What came of a reconcile: when, of which object, and what.
pub(crate) type Entry = (Instant, String, &'static str);

/// A controller that notes in the status of each object what its spec wants.
#[derive(Clone)]
pub(crate) struct Controller {
    clock: Clock,
    client: Client,
    widgets: Api<Value>,
    entries: Arc<Mutex<Vec<Entry>>>,
    patience: Duration,
}

/// How long a reconcile may take, whatever it waits for.
const PATIENCE: Duration = Duration::from_secs(4);

impl Controller {
    pub(crate) fn new(clock: &Clock, client: Client) -> Self {
        let widgets = Api::new(&Resource::new(WIDGETS));
        Self { clock: clock.clone(), client, widgets, entries: Arc::default(), patience: Duration::ZERO }
            .within(PATIENCE)
    }

    /// Gives a reconcile more time, or less.
    pub(crate) fn within(self, patience: Duration) -> Self {
        let client = self.client.with_timeout(patience + Duration::from_secs(1));
        Self { client, patience, ..self }
    }

    /// Runs it until `main` is done, which everything that happens to the server belongs to, and returns what it did.
    pub(crate) fn run(
        self,
        transport: impl ListerWatcher + Send + Unpin,
        main: impl Future<Output = ()>,
    ) -> Vec<Entry> {
        let (executor, queue) = (Executor::new(), Arc::new(SharedWorkQueue::<Key>::default()));
        let mut config = InformerConfig::default();
        config.reflector.seed = Some(1);
        let informer = Informer::<MetadataOnly>::new(Resource::new(WIDGETS), config);
        let mut events = Events::start(Driver::new(informer, transport), self.clock.clone());
        let (entries, clock, keys) = (Arc::clone(&self.entries), self.clock.clone(), Arc::clone(&queue));
        let _workers = Workers::spawn(&executor, &queue, &clock, 4, move |key: Key| {
            let controller = self.clone();
            async move { controller.reconcile(key.name()).await }
        });
        let follow = executor.spawn(async move {
            while let Some(event) = events.next().await {
                if let Some(key) = event.key() {
                    keys.add(key.clone());
                }
            }
        });
        run(&clock, &executor, main);
        drop((follow, executor));
        let entries = entries.lock().unwrap();
        entries.clone()
    }

    async fn reconcile(&self, name: &str) -> Outcome {
        let change = self.note(name);
        let patience = async {
            self.clock.sleep(self.patience).await;
            Err(ApiError::Unreadable("given up".into()))
        };
        let result = smol::future::or(change, patience).await;
        let said = judge(&result);
        self.entries.lock().unwrap().push((self.clock.now(), name.to_owned(), said));
        if matches!(said, "done" | "gone") { Outcome::Done } else { Outcome::Retry }
    }

    /// Reads, decides and writes.
    async fn note(&self, name: &str) -> Result<(), ApiError> {
        let mut widget = self.client.call(self.widgets.get(name)).await?;
        if widget["status"]["seen"] == widget["spec"]["wanted"] {
            return Ok(());
        }
        // Somebody else has time to be quicker.
        self.clock.sleep(Duration::from_millis(40)).await;
        widget["status"] = json!({ "seen": widget["spec"]["wanted"] });
        let replace = self.widgets.status().replace(name, &widget).with_timeout(self.patience - Duration::from_secs(1));
        self.client.call(replace).await.map(drop)
    }
}

fn judge(result: &Result<(), ApiError>) -> &'static str {
    match result {
        Ok(()) => "done",
        Err(ApiError::Unreadable(_)) => "given up",
        Err(ApiError::Transport(error)) if error.kind == TransportErrorKind::Timeout => "too late",
        Err(ApiError::Transport(error)) if error.detail.contains("panicked") => "panicked",
        Err(ApiError::Transport(_)) => "broken",
        Err(error) if error.is_not_found() => "gone",
        Err(error) if error.is_conflict() => "conflict",
        Err(_) => "refused",
    }
}

/// Whether the status of an object says what its spec wants.
pub(crate) fn is_settled(widget: &Value) -> bool {
    widget["status"]["seen"] == widget["spec"]["wanted"]
}
