//! A server that is killed again and again: in a stream, in a list, and with its history forgotten.

use crate::real_server::follower::{Follower, config};
use crate::real_server::plane::own_plane;
use listwatch_core::decode::Raw;
use listwatch_core::reflector::Operation;
use std::time::Duration;

/// How many times the server is killed, unless `KILLS` says otherwise: every kind of kill below at least once. Where too
/// few lists were hit, it is killed more often.
const KILLS: u64 = 15;
/// Enough objects that a list can be hit.
const OBJECTS: usize = 2_000;

#[test]
fn no_deletion_is_missed_over_many_kills_in_streams_and_lists_with_and_without_compaction() {
    let Some(mut plane) = own_plane() else { return };
    let namespace = plane.namespace("crashes");
    let maps = plane.filled(&namespace, OBJECTS);
    let cluster = plane.cluster.clone();
    let mut steady = [true, false].map(|watch_list| Follower::<Raw>::start(&cluster, maps.clone(), config(watch_list)));
    let kills = std::env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let (mut in_streams, mut in_lists) = (0, 0);
    for kill in 0..10 * kills {
        if kill >= kills && in_lists as u64 >= kills / 10 {
            break;
        }
        steady.iter_mut().for_each(|follower| follower.follow_until(|follower| follower.status().is_synced()));
        plane.control().churn(&namespace);
        // Half of the time somebody begins to list just before the server dies.
        let mut late = (kill % 2 == 1).then(|| {
            let mut config = config(kill % 4 == 1);
            config.reflector.page_size = Some(100);
            Follower::<Raw>::start(&cluster, maps.clone(), config)
        });
        let moment = Duration::from_millis(kill * 7 % 60);
        steady.iter_mut().chain(&mut late).for_each(|follower| follower.follow_for(moment));
        plane.control().kill_api_server();
        steady.iter_mut().chain(&mut late).for_each(|follower| follower.follow_for(Duration::from_millis(100)));
        if kill % 3 == 2 {
            plane.control().compact();
        }
        plane.control().start_api_server();
        plane.control().rest();
        for follower in steady.iter_mut().chain(&mut late) {
            follower.catch_up(&plane);
        }
        let broken = late.iter().flat_map(|follower| &follower.failures);
        in_lists += broken.filter(|failed| failed.operation != Operation::Watch).count();
        if kill % 50 == 49 {
            // Seen at once with --nocapture, by who waits for a thousand.
            println!("{} kills: {in_lists} lists broke, {} events", kill + 1, steady[0].events);
        }
    }
    in_streams += steady.iter().flat_map(|follower| &follower.failures).count();
    println!("{kills} kills: {in_streams} streams and {in_lists} lists broke, {} events", steady[0].events);
    assert!(in_streams as u64 >= kills && in_lists as u64 >= kills / 10);
}
