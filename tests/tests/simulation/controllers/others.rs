//! The other clients of the server: they change what is wanted, and what is there.

use super::kinds::{DEPLOYMENTS, FOOS, NAMESPACES, SETTINGS, path};
use listwatch_core::Instant;
use listwatch_tests::sim::{ApiServer, Dice, Inside};
use serde_json::json;

/// How many foos there can be in a namespace, and how many settings.
const FOO_NAMES: u64 = 4;
const SETTING_NAMES: u64 = 2;

/// Some of what others have written before the controller starts.
pub(super) fn settle(server: &ApiServer, dice: &mut Dice) {
    for _ in 0..10 {
        change(server, Instant::ZERO, dice);
    }
}

/// Somebody writes something.
pub(super) fn change(server: &ApiServer, now: Instant, dice: &mut Dice) {
    let namespace = dice.pick(&NAMESPACES);
    let name = format!("foo-{}", dice.below(FOO_NAMES));
    let setting = format!("setting-{}", dice.below(SETTING_NAMES));
    let (foo, deployment) = (path(FOOS, namespace, &name), path(DEPLOYMENTS, namespace, &name));
    let what = dice.below(100);
    server.with(|inside| match what {
        0..40 => {
            let spec = json!({ "replicas": dice.below(5), "setting": setting });
            inside.store.put(now, &foo, spec);
        }
        40..50 => inside.store.delete(now, &foo),
        50..55 => recreate(inside, now, &foo, dice),
        55..70 => {
            let spec = json!({ "text": format!("text {}", dice.below(4)) });
            inside.store.put(now, &path(SETTINGS, namespace, &setting), spec);
        }
        70..75 => inside.store.delete(now, &path(SETTINGS, namespace, &setting)),
        75..88 if inside.store.object(&deployment).is_some() => {
            inside.store.put(now, &deployment, json!({ "replicas": 99, "text": "by another" }));
        }
        88..100 => inside.store.delete(now, &deployment),
        _ => {}
    });
}

/// Another object of the same name, at once.
fn recreate(inside: &mut Inside, now: Instant, foo: &str, dice: &mut Dice) {
    let spec = inside.store.object(foo).map(|foo| foo["spec"].clone());
    inside.store.delete(now, foo);
    let spec = spec.unwrap_or_else(|| json!({ "replicas": dice.below(5), "setting": "setting-0" }));
    inside.store.put(now, foo, spec);
}
