//! A process with informers that live for the whole run, and what their subscribers are told.

use super::process::{Caches, answer, state_of};
use listwatch::{InformerHandle, Informers};
use listwatch_core::decode::{FromJson, MetadataOnly, Raw};
use listwatch_core::informer::{Subscription, Told as Item};
use listwatch_core::{InformerConfig, Resource};
use listwatch_tests::told::Told;
use listwatch_transport_http::Cluster;
use std::thread;

pub(super) const TEST: &str = "real_server::hard_day::followers::the_process_of_the_followers";
/// Says in a child that it is this one.
pub(super) const FOLLOWERS: &str = "LISTWATCH_FOLLOWERS";

/// In a child, these are the followers.
#[test]
fn the_process_of_the_followers() {
    if std::env::var_os(FOLLOWERS).is_none() {
        return;
    }
    let informers = Informers::new(Cluster::infer().unwrap());
    let running = informers.run();
    thread::spawn(|| smol::block_on(running));
    let resource = |name| Resource::named(name).unwrap().in_namespace(super::NAMESPACE);
    let mut lists = InformerConfig::default();
    lists.reflector.watch_list = false;
    lists.reflector.page_size = Some(50);
    let foos = follow(informers.informer_of::<Raw>(resource(super::FOOS)));
    let deployments = follow(informers.informer_of::<serde_json::Value>(resource(super::DEPLOYMENTS)));
    let maps = follow(informers.informer_of::<MetadataOnly>(resource(super::MAPS)));
    let paged = follow(informers.informer_with::<Raw>(resource(super::MAPS), [""; 0], lists));
    answer(|| {
        let caches = [
            ("foos", state_of(foos.store())),
            ("deployments", state_of(deployments.store())),
            ("maps", state_of(maps.store())),
            ("paged", state_of(paged.store())),
        ];
        caches.map(|(name, state)| (name.to_owned(), state)).into_iter().collect::<Caches>()
    });
    std::process::exit(0);
}

/// Checks all that the informer tells. What breaks a rule ends the process.
fn follow<T: FromJson + Send + Sync + 'static>(informer: InformerHandle<T>) -> InformerHandle<T> {
    let mut subscriber = informer.subscribe(Subscription::new());
    let mut told = Told::default();
    thread::spawn(move || {
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            smol::block_on(async {
                while let Some(item) = subscriber.next().await {
                    if let Item::Event(event) = item {
                        told.note(&event);
                    }
                }
            });
        }));
        if checked.is_err() {
            std::process::exit(3);
        }
    });
    informer
}
