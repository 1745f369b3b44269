//! Keys of owners.

use crate::reconcilers::keys::noting;
use crate::reconcilers::support::{BOSSES, Log, PARTS, SOON, Stage};
use listwatch::Resource;
use listwatch::controller::{Controller, Source};
use listwatch::decode::MetadataOnly;
use serde_json::{Value, json};

/// The owner of a part, as the own kind without namespaces has it.
fn boss_of(name: &str) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Boss", "name": name, "uid": "u-1", "controller": true })
}

#[test]
fn an_owner_without_a_namespace_gets_a_key_without_one() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put(&format!("{BOSSES}/f"));
    stage.create_in(PARTS, "early", &boss_of("f"));
    let bosses = stage.informers.informer_of::<MetadataOnly>(Resource::new(BOSSES)).with_kind("Boss");
    let controller = Controller::new("test", &stage.informers).reconciles(&bosses).owns(&stage.parts);
    let controller = noting(controller, &log);
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["f"], "it was listed after its part");
        stage.delete(&format!("{BOSSES}/f"));
        stage.sleep(SOON).await;
        log.take();
        stage.create_in(PARTS, "late", &boss_of("f"));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["f"], "it is gone");
    });
    assert_eq!(ended, Ok(()));
}

/// Neither key can be left out: either may be the owner's.
#[test]
fn an_owner_of_a_kind_that_may_have_a_namespace_is_looked_for_in_both_places_unless_the_program_says_so() {
    for (said, expected) in [(None, &["f", "web/f"][..]), (Some(false), &["f"]), (Some(true), &["web/f"])] {
        let (stage, log) = (Stage::new(), Log::default());
        stage.create_in(PARTS, "part", &boss_of("f"));
        let bosses =
            Source::from(&stage.informers.informer_of::<MetadataOnly>(Resource::new(BOSSES)).with_kind("Boss"));
        let bosses = match said {
            Some(is_namespaced) => bosses.namespaced(is_namespaced),
            None => bosses,
        };
        let controller = Controller::new("test", &stage.informers).reconciles(bosses).owns(&stage.parts);
        let ended = stage.play(noting(controller, &log), stage.sleep(SOON));
        let mut told = log.take();
        told.sort();
        assert_eq!((ended, &told[..]), (Ok(()), &expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..]));
    }
}
