//! client-go's `examples/workqueue`: pods in, keys out. A key that fails is retried five times, and then parked until
//! its pod changes.
//!
//! It follows the pods of the namespace `default`, and ends at SIGTERM or Ctrl-C:
//!
//! ```sh
//! cargo run -p listwatch --example workqueue
//! ```

use listwatch::controller::Termination;
use listwatch::http::Cluster;
use listwatch::informer::{Subscription, Told};
use listwatch::{Executor, Informers, Key, Outcome, SharedWorkQueue, WorkQueue, Workers, World, kind, run};
use smol::future::or;
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

const RETRIES: u32 = 5;

#[derive(serde::Deserialize)]
pub(crate) struct Pod {
    status: Status,
}

#[derive(serde::Deserialize)]
struct Status {
    phase: String,
}

kind!(Pod, "v1", "pods");

/// The business logic: it gets a key, and the pod as the cache has it now.
fn sync_to_stdout(key: &Key, pod: Option<&Pod>) -> io::Result<()> {
    match pod {
        Some(pod) => writeln!(io::stdout(), "Sync/Add/Update for Pod {key}: {}", pod.status.phase),
        None => writeln!(io::stdout(), "Pod {key} does not exist anymore"),
    }
}

/// Calls `sync` with the key of each pod that is listed or changes, until `end`.
pub(crate) fn follow(
    world: impl Into<World>,
    sync: impl Fn(&Key, Option<&Pod>) -> io::Result<()> + Sync,
    end: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error>> {
    let informers = Informers::with_error_handler(world, |stream, error| eprintln!("{stream}: {error}"));
    let pods = informers.informer_where::<Pod>(|all| all.in_namespace("default"));
    let queue = Arc::new(SharedWorkQueue::new(WorkQueue::<Key>::default().with_max_retries(RETRIES)));
    let reconcile = |key: Key| {
        let (pods, queue, sync) = (&pods, &queue, &sync);
        async move {
            let Err(error) = sync(&key, pods.get(&key).as_deref()) else { return Outcome::Done };
            let is_last = queue.num_requeues(&key) == RETRIES;
            eprintln!("{key}: {error}; {}", if is_last { "dropped until it changes" } else { "it is retried" });
            Outcome::Retry
        }
    };

    let (clock, executor) = (informers.clock(), Executor::new());
    executor.spawn(informers.run()).detach();
    let workers = Workers::spawn(&executor, &queue, clock, 1, reconcile);
    let feed = async {
        pods.synced().within(Duration::from_secs(60)).await?;
        let mut changes = pods.subscribe(Subscription::new().quiet());
        while let Some(told) = changes.next().await {
            if let Told::Event(event) = told {
                event.key().into_iter().for_each(|key| queue.add(key.clone()));
            }
        }
        Ok(())
    };
    let end = async {
        end.await;
        Ok(())
    };
    run(clock, &executor, async {
        let ended = or(end, feed).await;
        queue.shut_down_with_drain(clock.now(), Duration::from_secs(25));
        workers.join().await;
        ended
    })
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    follow(Cluster::infer()?, sync_to_stdout, Termination::new()?)
}
