//! A collection of a real size.

use crate::real_server::follower::{Follower, config};
use crate::real_server::plane::plane;
use listwatch_core::decode::Raw;

const MANY: usize = 20_000;

#[test]
fn twenty_thousand_config_maps_by_watch_list_by_pages_and_in_one_list() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("many");
    let maps = plane.filled(&namespace, MANY).with_label_selector("parity");
    for (watch_list, page_size) in [(true, None), (false, Some(500)), (false, None)] {
        let mut config = config(watch_list);
        config.reflector.page_size = page_size;
        let mut follower = Follower::<Raw>::start(&plane.cluster, maps.clone(), config);
        follower.catch_up(&plane);
        assert_eq!((follower.events, follower.state().len()), (MANY as u64, MANY));
        assert!(follower.failures.is_empty(), "{:?}", follower.failures);
    }
}
