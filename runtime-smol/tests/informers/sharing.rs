//! Who shares an informer, and until when it runs.

use crate::informers::support::{SOON, WIDGETS, resource, widgets, with_informers};
use core::time::Duration;
use listwatch::decode::{MetadataOnly, Raw};
use listwatch::{Clock, Informers, Resource, kind};
use serde::Deserialize;

#[test]
fn users_of_the_same_resource_and_type_share_one_watch_and_one_cache() {
    let clock = Clock::simulated();
    let (world, server, counts) = widgets(&clock);
    let informers = Informers::new(world);
    let (one, other) = (informers.informer_of::<Raw>(resource()), informers.informer_of::<Raw>(resource()));
    let in_namespace = Resource::named("example.com/v1/widgets").unwrap();
    let third = informers.informer_in::<Raw>(in_namespace, ["web", "web"]);
    with_informers(&informers, async {
        for handle in [&one, &other, &third] {
            handle.synced().within(SOON).await.unwrap();
        }
        assert_eq!((counts.made(), informers.status().len()), (1, 1));
        server.with(|inside| inside.store.put(clock.now(), "c", serde_json::json!({})));
        clock.sleep(Duration::from_secs(1)).await;
        assert_eq!([one.len(), other.len(), third.len()], [3; 3]);
    });
}

#[derive(Deserialize)]
struct Widget {}

kind!(Widget, "example.com/v1", "widgets");

#[test]
fn an_informer_of_several_namespaces_knows_the_kind_of_its_resource() {
    let clock = Clock::simulated();
    let (world, _server, _counts) = widgets(&clock);
    let informers = Informers::new(world);
    let nameless = informers.informer_in::<Widget>(Resource::named("example.com/v1/widgets").unwrap(), ["web", "db"]);
    assert_eq!(nameless.kind(), None);
    let named = informers.informer_in::<Widget>(Resource::of::<Widget>(), ["web", "db"]);
    assert_eq!(named.kind(), Some("Widget"));
    assert_eq!(nameless.kind(), Some("Widget"), "they are one informer");
    let one = informers.informer_of::<Widget>(Resource::of::<Widget>().in_namespace("web"));
    assert_eq!(one.kind(), Some("Widget"));
}

#[test]
fn another_type_or_another_selector_is_another_watch() {
    let clock = Clock::simulated();
    let (world, _server, counts) = widgets(&clock);
    let informers = Informers::new(world);
    let whole = informers.informer_of::<Raw>(resource());
    let metadata = informers.informer_of::<MetadataOnly>(resource());
    let selected = informers.informer_of::<Raw>(Resource::new(WIDGETS).with_label_selector("app=web"));
    with_informers(&informers, async {
        whole.synced().within(SOON).await.unwrap();
        metadata.synced().within(SOON).await.unwrap();
        selected.synced().within(SOON).await.unwrap();
    });
    assert_eq!(counts.made(), 3);
}

#[test]
fn the_last_drop_stops_the_watch_at_once_and_not_the_drop_of_a_clone() {
    let clock = Clock::simulated();
    let (world, _server, counts) = widgets(&clock);
    let informers = Informers::new(world);
    let (one, store) = {
        let first = informers.informer_of::<Raw>(resource());
        (first.clone(), first.store().clone())
    };
    with_informers(&informers, async {
        one.synced().within(SOON).await.unwrap();
        assert_eq!(counts.open(), 1);
        drop(one);
        assert_eq!((counts.open(), informers.status().len()), (0, 0), "before anything else runs");
        assert_eq!(store.len(), 2, "the store keeps its last state");
        let again = informers.informer_of::<Raw>(resource());
        again.synced().within(SOON).await.unwrap();
        assert_eq!((counts.made(), counts.open(), again.len()), (2, 1, 2));
    });
}
