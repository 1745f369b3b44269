//! Exchanges with real API servers, as they were recorded, and handlers that come and go meanwhile.

use crate::handlers::client_go::ClientGo;
use crate::handlers::differences::agree;
use crate::handlers::exchange::Exchange;
use crate::handlers::ours;
use crate::handlers::simulate::{Theme, cast};
use crate::handlers::tape::{Tape, Taped};
use listwatch_core::decode::MetadataOnly;
use listwatch_core::informer::Pumped;
use listwatch_core::{Driver, Informer, InformerConfig, Instant};
use listwatch_tests::sim::Dice;
use listwatch_transport_file::{Pace, Playback, PlaybackConfig};
use std::path::{Path, PathBuf};
use std::task::{Context, Waker};
use std::time::Duration;

/// How many casts hear each of them.
const CASTS: u64 = 4;

#[test]
fn each_handler_is_told_of_each_key_of_a_recording_what_client_go_tells_it() {
    let Some(mut client_go) = ClientGo::start() else { return };
    for path in captures() {
        let (exchange, config) = play(&path);
        for seed in 0..CASTS {
            let cast = cast(&mut Dice::new(seed), &exchange, Theme::Faults, TICK, &["a", "svc-00"]);
            let (theirs, ours) = (client_go.tell(&exchange, &cast), ours::tell(&exchange, config, &cast));
            let told = theirs.handlers.iter().map(Vec::len).sum::<usize>();
            println!("{}, cast {seed}: {} handlers, told {told}", path.display(), cast.handlers.len());
            assert!(told > 0, "nobody was told anything");
            agree(Theme::Faults, &cast, &theirs, &ours).unwrap_or_else(|differs| panic!("cast {seed}: {differs}"));
        }
    }
}

/// Nobody wants a resync.
const TICK: Duration = Duration::from_secs(30);

/// Those of one informer.
fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/captures");
    ["chaos", "gap", "pods-rollout"].iter().map(|name| folder.join(format!("{name}.jsonl.gz"))).collect()
}

/// What an informer asks of a recording, and what it is answered.
fn play(path: &Path) -> (Exchange, InformerConfig) {
    let playback = Playback::with_config(path, PlaybackConfig::new().pace(Pace::Recorded)).unwrap();
    let resource = playback.resource().unwrap().clone();
    let mut config = InformerConfig::default();
    config.reflector.watch_timeout = None;
    config.reflector.answer_timeout = None;
    config.reflector.seed = Some(1);
    let tape = Tape::default();
    let informer = Informer::<MetadataOnly>::new(resource.clone(), config);
    let mut driver = Driver::new(informer, Taped::new(playback, tape.clone()));
    let (mut cx, mut now) = (Context::from_waker(Waker::noop()), Instant::ZERO);
    driver.informer_mut().start(now);
    loop {
        let pumped = driver.pump(now, &mut cx);
        while driver.informer_mut().poll_event().is_some() {}
        if pumped == Pumped::Waiting {
            if driver.transport().transport.is_complete() {
                return (tape.exchange(resource, now), config);
            }
            now = driver.poll_timeout().unwrap();
        }
    }
}
