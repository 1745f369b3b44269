//! A controller inside of a tokio program: a task like any other. It tells which nodes are ready.
//!
//! Reconciles run on threads of the controller. What needs tokio's runtime, such as most clients of databases and web
//! services, is spawned on it and awaited. The program ends at SIGTERM or Ctrl-C:
//!
//! ```sh
//! cargo run -p listwatch --example inside-tokio
//! ```

use listwatch::controller::{Controller, Outcome, Running, Source, Termination};
use listwatch::http::Cluster;
use listwatch::object::Conditions;
use listwatch::{World, kind};
use std::error::Error;
use std::io::{self, Write};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

#[derive(serde::Deserialize)]
struct Node {
    status: Status,
}

#[derive(serde::Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Conditions,
}

kind!(cluster Node, "v1", "nodes");

impl Node {
    fn is_ready(&self) -> bool {
        self.status.conditions.is_true("Ready")
    }
}

/// Stands for a library that needs tokio's runtime.
async fn tell(news: String) -> io::Result<()> {
    spawn_blocking(move || writeln!(io::stdout(), "{news}")).await?
}

fn controller(world: impl Into<World>, tokio: Handle) -> Running<'static> {
    let controller = Controller::new("nodes", world);
    let nodes = controller.informer::<Node>();
    // A node's heartbeat changes its status, too.
    let turns = Source::from(&nodes).when(|old, new| old.value.is_ready() != new.value.is_ready());
    controller.reconciles(turns).calls(async move |_cx, key| {
        let state = match nodes.get(&key) {
            None => "gone",
            Some(node) if node.is_ready() => "ready",
            Some(_) => "not ready",
        };
        tokio.spawn(tell(format!("{key} is {state}"))).await??;
        Ok(Outcome::Done)
    })
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let controller = controller(Cluster::infer()?, Handle::current());
    let (handle, termination) = (controller.handle(), Termination::new()?);
    tokio::spawn(async move {
        termination.await;
        handle.stop(); // running reconciles finish
    });
    controller.future().await?;
    Ok(())
}
