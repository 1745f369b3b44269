//! Controllers that do not keep up with streams that they share.

use crate::reconcilers::support::{Log, PARTS, SOON, Stage};
use core::pin::Pin;
use listwatch::controller::{Outcome, Reconciler, RunError};
use listwatch::decode::MetadataOnly;
use smol::future::or;

/// More than a log keeps for its subscribers.
const MANY: usize = 3_000;

/// A controller that is polled by hand.
type Polled = Pin<Box<dyn Future<Output = Result<(), RunError>> + Send>>;

fn noting(controller: Reconciler<MetadataOnly>, log: &Log) -> listwatch::controller::Running<'static> {
    let log = log.clone();
    controller.on_report(|_, _| {}).calls(async move |_cx, key| {
        log.note(key);
        Ok(Outcome::Done)
    })
}

/// Lets a controller go on for a while.
async fn poll(stage: &Stage, controller: &mut Polled) {
    let ended = async {
        let _ended = controller.await;
        panic!("it has ended");
    };
    or(stage.sleep(SOON), ended).await;
}

#[test]
fn a_controller_that_is_not_polled_holds_up_no_shared_stream() {
    let (stage, resting, log) = (Stage::new(), Log::default(), Log::default());
    let mut rests: Polled = Box::pin(noting(stage.controller().owns(&stage.parts), &resting).future());
    let controller = noting(stage.controller().owns(&stage.parts), &log);
    let ended = stage.play(controller, async {
        poll(&stage, &mut rests).await;
        for _ in 0..MANY {
            stage.put("busy");
            stage.put(&format!("{PARTS}/busy"));
        }
        stage.create_part("short-lived", "owner");
        stage.delete(&format!("{PARTS}/short-lived"));
        stage.put("last");
        stage.sleep(SOON).await;
        assert!(log.has("web/last"), "the other one sees no change any more");
        assert!(log.has("web/owner"));
        resting.take();

        poll(&stage, &mut rests).await;
        let mut told = resting.take();
        told.sort();
        assert_eq!(told, ["web/busy", "web/last", "web/owner"], "no work is lost, and none is repeated");
    });
    assert_eq!(ended, Ok(()));
}
