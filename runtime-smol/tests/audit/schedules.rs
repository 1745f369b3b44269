//! Audits by a schedule.

use crate::audit::stage::{MAPS, Stage, found};
use core::time::Duration;
use listwatch::decode::MetadataOnly;
use listwatch::{Executor, Informers, Resource, run};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_schedule_audits_once_in_each_period_and_ends_with_the_informer() {
    let stage = Stage::with(&["web/a"]);
    let (informers, executor) = (Informers::new(stage.world.clone()), Executor::new());
    let _running = executor.spawn(informers.run());
    run(stage.clock(), &executor, async {
        let maps = informers.informer_of::<MetadataOnly>(Resource::named(MAPS).unwrap());
        maps.synced().await.unwrap();
        let mut audits = maps.audit_every(HOUR);
        let begun = stage.clock().now();
        assert!(audits.next().await.unwrap().is_clean());
        let mut last = stage.clock().now();
        assert!(last.saturating_since(begun) < HOUR);
        for number in 1..=10 {
            stage.lose(&["a"]);
            stage.set("web/a", number);
            assert_eq!(found(&audits.next().await.unwrap()), ["web/a stale"]);
            let now = stage.clock().now();
            let passed = now.saturating_since(last);
            // An audit waits for a bookmark.
            assert!((HOUR * 8 / 10..HOUR * 12 / 10).contains(&passed), "{passed:?}");
            last = now;
            // A list repairs the cache.
            stage.pass(60).await;
        }
        assert_eq!(stage.listed().len(), 11);
        last = stage.clock().now();
        let (end, ()) = smol::future::zip(audits.next(), async {
            stage.pass(1).await;
            drop(maps);
        })
        .await;
        assert_eq!((end, stage.clock().now().saturating_since(last).as_secs()), (None, 1));
        assert_eq!(audits.next().await, None);
    });
}

#[test]
fn a_schedule_of_several_namespaces_audits_one_after_the_other() {
    let stage = Stage::with(&["db/b", "web/a"]);
    stage.follow_in(&["web", "db"], Resource::named(MAPS).unwrap(), async |maps| {
        let mut audits = maps.audit_every(HOUR);
        for namespace in ["db", "web", "db", "web"] {
            let audit = audits.next().await.unwrap();
            assert_eq!(audit.name.namespace(), Some(namespace));
        }
    });
}

#[test]
fn a_schedule_whose_future_was_dropped_audits_the_same_stream_again() {
    let stage = Stage::with(&["db/b", "web/a"]);
    stage.follow_in(&["web", "db"], Resource::named(MAPS).unwrap(), async |maps| {
        let mut audits = maps.audit_every(Duration::ZERO);
        for namespace in ["db", "web", "db"] {
            let given_up = async {
                stage.clock().sleep(Duration::from_millis(1)).await;
                None
            };
            assert_eq!(smol::future::or(audits.next(), given_up).await, None);
            assert_eq!(audits.next().await.unwrap().name.namespace(), Some(namespace));
        }
    });
}
