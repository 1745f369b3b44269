//! What a run that fails leaves behind can be played.

use listwatch_core::decode::Raw;
use listwatch_core::informer::Pumped;
use listwatch_core::{Driver, Informer, InformerConfig, Instant};
use listwatch_tests::sim::Run;
use listwatch_transport_file::Playback;
use std::task::{Context, Waker};
use std::{env, fs, process};

#[test]
fn the_capture_of_a_run_is_played_without_an_error() {
    for seed in [1, 2, 3] {
        let mut run = Run::new(seed, true);
        run.finish();
        let path = env::temp_dir().join(format!("listwatch-simulated-{seed}-{}.jsonl", process::id()));
        fs::write(&path, run.capture().unwrap()).unwrap();
        let told = play(&path);
        fs::remove_file(&path).unwrap();
        assert!(told > 10, "seed {seed}: {told} events");
    }
}

/// Plays a capture to its end, and counts what an informer tells of it.
fn play(path: &std::path::Path) -> usize {
    let playback = Playback::from_file(path).unwrap();
    let resource = playback.resource().cloned().unwrap();
    let mut driver = Driver::new(Informer::<Raw>::new(resource, InformerConfig::default()), playback);
    let (mut cx, mut now, mut told) = (Context::from_waker(Waker::noop()), Instant::ZERO, 0);
    driver.informer_mut().start(now);
    loop {
        let pumped = driver.pump(now, &mut cx);
        while driver.informer_mut().poll_event().is_some() {
            told += 1;
        }
        if pumped == Pumped::Waiting {
            if driver.transport().is_complete() {
                assert!(driver.transport().error().is_none(), "{:?}", driver.transport().error());
                return told;
            }
            now = driver.poll_timeout().unwrap();
        }
    }
}
