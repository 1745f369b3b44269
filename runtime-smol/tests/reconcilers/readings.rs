//! What a handle reads of a running controller.

use crate::reconcilers::support::{FOOS, Log, PARTS, SOON, Stage};
use core::time::Duration;
use listwatch::Key;
use listwatch::controller::{ControllerHandle, KeyState, Lifecycle, Outcome};

/// A controller that fails for the key `bad`, and takes its time for the key `long`.
#[test]
fn the_queue_and_the_sources_of_a_running_controller_are_readable() {
    let stage = Stage::new();
    ["bad", "good", "long"].into_iter().for_each(|name| stage.put(name));
    let clock = stage.clock.clone();
    let controller = stage.controller().owns(&stage.parts).park_after(1).workers(2).on_report(|_, _| {});
    let controller = controller.calls(async move |_cx, key: Key| match key.name() {
        "bad" => Err(std::io::Error::other("on purpose").into()),
        "long" => {
            clock.sleep(SOON * 3).await;
            Ok(Outcome::Done)
        }
        _ => Ok(Outcome::Done),
    });
    let handle = controller.handle();
    let sources = || handle.sources().iter().map(|source| source.source.to_string()).collect::<Vec<_>>();
    assert!(sources().is_empty(), "it does not run");
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert_eq!(handle.lifecycle(), Some(Lifecycle::Running));
        assert_eq!(handle.parked(), [Key::from("web/bad")]);
        let report = handle.report();
        let running = report.iter().find(|report| report.key == Key::from("web/long")).unwrap();
        assert!(matches!(running.state, KeyState::Running { .. }) && report.len() == 2, "{report:?}");

        let stats = handle.stats().unwrap();
        assert_eq!((stats.depth, stats.adds, stats.parked), (0, 3, 1), "{stats:?}");
        let metrics = handle.metrics().unwrap();
        assert_eq!((metrics.latency.count, metrics.work.count), (3, 2));
        assert!(metrics.longest_running > Duration::from_secs(9) && metrics.longest_running <= SOON);

        assert_eq!(sources(), [FOOS, PARTS]);
        assert!(handle.sources().iter().all(|source| source.has_synced && source.backlog == 0 && source.lag.is_zero()));
        let added = handle.owns(&stage.parts).unwrap();
        stage.sleep(SOON).await;
        assert_eq!(sources(), [FOOS, PARTS, PARTS]);
        drop(added);
        stage.sleep(SOON).await;
        assert_eq!(sources(), [FOOS, PARTS], "its subscriber is gone");
    });
    assert_eq!(ended, Ok(()));
    assert_eq!((handle.lifecycle(), handle.stats(), handle.metrics(), sources().len()), (None, None, None, 0));
    assert_eq!(ControllerHandle::default().stats(), None);
}

/// The changes wait while the controller is not polled.
#[test]
fn the_backlog_and_the_lag_of_a_source_tell_how_far_behind_a_controller_is() {
    let (stage, log) = (Stage::new(), Log::default());
    let other = crate::reconcilers::keys::noting(stage.controller(), &log);
    let resting = crate::reconcilers::keys::noting(stage.controller(), &Log::default());
    let handle = resting.handle();
    let mut resting = Box::pin(resting.future());
    let ended = stage.play(other, async {
        smol::future::or(stage.sleep(SOON), async { _ = resting.as_mut().await }).await;
        ["a", "b"].into_iter().for_each(|name| stage.put(name));
        stage.sleep(SOON).await;
        let [source] = &handle.sources()[..] else { panic!("{:?}", handle.sources()) };
        assert_eq!((log.len(), source.backlog), (2, 2));
        assert!(source.lag > Duration::from_secs(9) && source.lag <= SOON, "{source:?}");
    });
    assert_eq!(ended, Ok(()));
}
