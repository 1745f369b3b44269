//! Dumps that are replayed.

use super::{Folder, change, cluster, counting, read, replayed};
use core::time::Duration;
use listwatch::World;
use listwatch::file::{Playback, Tape};
use listwatch_tests::maps::config_map;
use serde_json::json;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_last_minute_of_half_an_hour_replays_as_it_was() {
    let (folder, cluster) = (Folder::named("half-an-hour"), cluster());
    let world = World::from(cluster.clone()).flight_recorder(1, 8).dumps_to(&folder.0).on_report_line(|_| {});
    let (clock, it) = (world.clock().clone(), world.clone());
    let ended = world.until(async move {
        change(&cluster, &clock, 5, 0..360).await;
        it.dump("the test is over").unwrap();
    });
    counting(ended).unwrap();
    assert_eq!(folder.names(), ["dump-program.jsonl.zst"]);
    let dump = folder.0.join("dump-program.jsonl.zst");
    let start = Playback::from_file(&dump).unwrap().start().unwrap().clone();
    assert_eq!(start.dumped.as_deref(), Some("program: the test is over"));
    assert!(start.changes["/api/v1/configmaps"] > 500, "{start:?}");
    // Each of the twelve changes leads to a few: of the map, of its event, and of what it wrote.
    let reconciles = replayed(&dump);
    assert!((24..120).contains(&reconciles), "{reconciles}");
    assert!(read(&dump) > 30);
}

#[test]
fn a_memory_that_is_too_small_for_the_objects_says_so_in_the_dump_which_is_read_all_the_same() {
    let (folder, cluster) = (Folder::named("small"), cluster());
    for number in 0..1_000 {
        cluster.create(config_map(&format!("m{number}"), &json!({ "x": format!("{number:0>2000}") }))).unwrap();
    }
    let world = World::from(cluster.clone());
    let tape = Tape::in_memory(MINUTE, 1 << 17, world.recorder_config());
    let (clock, to, held) = (world.clock().clone(), folder.0.join("dump.jsonl"), tape.clone());
    let world = world.recorded(&tape).on_report_line(|_| {});
    let changed = world.until(async move {
        change(&cluster, &clock, 5, 0..60).await;
        tape.dump_to(&to, clock.now(), "test").unwrap();
    });
    counting(changed).unwrap();
    assert!(held.held() <= 1 << 17, "{}", held.held());
    let dump = folder.0.join("dump.jsonl");
    let cause = Playback::from_file(&dump).unwrap().start().unwrap().dumped.clone().unwrap();
    assert!(cause.ends_with("the memory is too small for the objects of /api/v1/configmaps"), "{cause}");
    assert!(read(&dump) > 0 && replayed(&dump) == 0);
}

/// The seeds of a generator.
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

#[test]
fn dumps_at_any_time_with_any_window_replay_as_it_was_also_behind_lists_that_were_made_anew() {
    let mut all = 0;
    for seed in 0..6 {
        let mut state = seed;
        let (folder, cluster) = (Folder::named(&format!("seed-{seed}")), cluster());
        let window = Duration::from_millis(random(&mut state, 90_000));
        let world = World::from(cluster.clone());
        let tape = Tape::in_memory(window, 1 << (17 + random(&mut state, 5)), world.recorder_config());
        let world = world.recorded(&tape).on_report_line(|_| {});
        let (clock, to) = (world.clock().clone(), folder.0.join("dump.jsonl"));
        let disturbed = world.until(async move {
            for round in 0..12 {
                let numbers = 100 * round..100 * round + 1 + random(&mut state, 9);
                change(&cluster, &clock, 1 + random(&mut state, 6), numbers).await;
                match random(&mut state, 4) {
                    0 => cluster.disconnect(),
                    1 => {
                        cluster.disconnect();
                        cluster.compact();
                    }
                    _ => {}
                }
                clock.sleep(Duration::from_millis(random(&mut state, 3000))).await;
                tape.dump_to(&to, clock.now(), "seed").unwrap();
            }
        });
        counting(disturbed).unwrap();
        assert_eq!(folder.names().len(), 12);
        let reconciles: u64 = folder.names().iter().map(|name| replayed(&folder.0.join(name))).sum();
        println!("seed {seed}: {window:?}, {reconciles} reconciles");
        folder.names().iter().for_each(|name| _ = read(&folder.0.join(name)));
        all += reconciles;
    }
    assert!(all > 200, "{all}");
}

#[test]
fn a_program_that_is_started_again_keeps_the_dump_of_its_last_run() {
    let (folder, cluster) = (Folder::named("restart"), cluster());
    for _ in 0..2 {
        let world = World::from(cluster.clone()).flight_recorder(1, 8).dumps_to(&folder.0).on_report_line(|_| {});
        let (clock, it, cluster) = (world.clock().clone(), world.clone(), cluster.clone());
        let ended = world.until(async move {
            change(&cluster, &clock, 5, 0..9).await;
            clock.sleep(3 * MINUTE).await;
            it.dump("a restart").unwrap();
        });
        counting(ended).unwrap();
    }
    assert_eq!(folder.names(), ["dump-program-2.jsonl.zst", "dump-program.jsonl.zst"]);
    folder.names().iter().for_each(|name| _ = replayed(&folder.0.join(name)));
}
