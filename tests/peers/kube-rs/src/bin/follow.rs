//! Follows the objects of a resource of the core group with kube-rs's reflector, at a server without credentials:
//! `follow SERVER KIND`.
//!
//! Each event of the watcher is a line: `init`, `synced`, `applied KEY VERSION` or `deleted KEY VERSION`. When the input
//! ends, the objects in the store are the last lines: `stored KEY VERSION`.

use futures::{StreamExt, pin_mut};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config, ResourceExt};
use std::io::Read;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (server, kind) = (arguments.next().ok_or("no server")?, arguments.next().ok_or("no kind")?);
    let client = Client::try_from(Config::new(server.parse()?))?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", &kind));
    let writer = reflector::store::Writer::<DynamicObject>::new(resource.clone());
    let store = writer.as_reader();
    let api = Api::<DynamicObject>::all_with(client, &resource);
    let config = watcher::Config::default();
    let events = watcher(api, config).default_backoff().reflect(writer);
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    pin_mut!(events, ended);
    loop {
        tokio::select! {
            _ = &mut ended => break,
            event = events.next() => match event {
                Some(Ok(watcher::Event::Init)) => println!("init"),
                Some(Ok(watcher::Event::InitDone)) => println!("synced"),
                Some(Ok(watcher::Event::InitApply(it) | watcher::Event::Apply(it))) => println!("applied {}", shown(&it)),
                Some(Ok(watcher::Event::Delete(it))) => println!("deleted {}", shown(&it)),
                Some(Err(error)) => println!("failed {error}"),
                None => break,
            },
        }
    }
    let mut stored: Vec<String> = store.state().iter().map(|object| shown(object)).collect();
    stored.sort();
    stored.iter().for_each(|object| println!("stored {object}"));
    Ok(())
}

fn shown(object: &DynamicObject) -> String {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    format!("{namespace}/{name} {}", object.resource_version().unwrap_or_default())
}
