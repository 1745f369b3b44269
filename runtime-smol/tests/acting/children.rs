//! The objects that an owner controls: found by an index, created together, and deleted where they are not wanted.

use crate::acting::stage::{AGAIN, Foo, PARTS, Part, SOON, Stage, ZONES, at, body, target};
use core::time::Duration;
use listwatch::api::{ApiResponse, Method, PropagationPolicy};
use listwatch::object::LabelSelector;
use listwatch::{Controller, Informers, Key, Outcome};
use listwatch_tests::sim::Refusal;
use serde_json::{Value, json};
use std::sync::Mutex;

/// Puts a part of this namespace, with owners of these uids; the first of them is the controller.
fn put_part(stage: &Stage, namespace: &str, name: &str, uids: &[&str]) {
    let owner = |(place, uid)| json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": uid, "controller": place == 0 });
    let owners: Vec<Value> = uids.iter().enumerate().map(owner).collect();
    let metadata = json!({ "name": name, "ownerReferences": owners, "labels": { "app": name } });
    stage.create(&format!("/api/v1/namespaces/{namespace}/parts"), &json!({ "metadata": metadata, "spec": {} }));
}

/// A stage whose foo, of the uid `u1`, controls these parts, beside others.
fn stage(lag: Duration, names: &[&str]) -> Stage {
    let stage = Stage::late(lag);
    names.iter().for_each(|name| put_part(&stage, "web", name, &["u1"]));
    put_part(&stage, "web", "other", &["u-other", "u1"]);
    put_part(&stage, "web", "alone", &[]);
    stage
}

fn deletions(stage: &Stage) -> Vec<String> {
    let requests = stage.requests();
    requests.iter().filter(|it| it.starts_with("DELETE")).map(|it| target(it).to_owned()).collect()
}

#[test]
fn an_owner_finds_what_it_controls_and_nothing_else() {
    let stage = stage(Duration::ZERO, &["a", "b"]);
    put_part(&stage, "db", "far", &["u1"]);
    let zone = stage.create(ZONES, &json!({ "metadata": { "name": "z" } }));
    put_part(&stage, "db", "zoned", &[zone["metadata"]["uid"].as_str().unwrap()]);
    let seen = Mutex::new(Vec::new());
    let ended = stage.reconcile(async |cx, kinds, foo| {
        let names =
            |parts: &mut dyn Iterator<Item = Key>| parts.map(|key| key.to_string()).collect::<Vec<_>>().join(" ");
        let of_foo = names(&mut kinds.parts.owned_by(foo).iter().map(|part| part.key().clone()));
        let of_zone =
            names(&mut kinds.parts.owned_by(&kinds.zones.get("z").unwrap()).iter().map(|part| part.key().clone()));
        seen.lock().unwrap().push((of_foo, of_zone));
        match kinds.parts.get("web/a") {
            Some(a) => cx.delete(&a).await?,
            None => return Ok(Outcome::Done),
        }
        let adopted = kinds.parts.get("web/alone").unwrap();
        cx.adopt(&adopted, foo).await?;
        Ok(AGAIN)
    });
    assert_eq!(ended, Ok(()));
    let expected = [("web/a web/b", "db/zoned"), ("web/b web/alone", "db/zoned")];
    assert_eq!(seen.into_inner().unwrap(), expected.map(|(foo, zone)| (foo.to_owned(), zone.to_owned())));
}

#[test]
fn an_owner_of_another_world_controls_nothing() {
    let here = stage(Duration::ZERO, &["a"]);
    let there = here.beside();
    put_part(&there, "web", "far", &["u1"]);
    let parts = Informers::new(there.endless_world()).informer::<Part>();
    let controller = Controller::new("sample", here.world()).reads(&parts);
    let foos = controller.informer::<Foo>();
    let seen = Mutex::new(None);
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |_cx, key: Key| {
        let foo = foos.get(&key).unwrap();
        *seen.lock().unwrap() = Some((parts.len(), parts.owned_by(&foo).len()));
        Ok(Outcome::Done)
    });
    assert_eq!((ended, seen.into_inner().unwrap()), (Ok(()), Some((1, 0))));
}

#[test]
fn what_an_owner_does_not_keep_is_deleted_by_its_uid_and_the_next_reconcile_does_not_see_it() {
    let stage = stage(SOON / 6, &["a", "b", "c"]);
    let left = stage.act_then(
        async |cx, kinds, foo| {
            let prune = cx.prune(&kinds.parts, foo, [foo.key().sibling("b")]);
            let deleted = prune.with_propagation(PropagationPolicy::Background).await.unwrap();
            assert_eq!(deleted.iter().map(|it| it.meta().name()).collect::<Vec<_>>(), ["a", "c"]);
            assert_eq!(kinds.parts.owned_by(foo).len(), 3, "the watch is late");
        },
        |kinds| kinds.parts.keys().iter().map(ToString::to_string).collect::<std::collections::BTreeSet<_>>(),
    );
    assert_eq!(left.into_iter().collect::<Vec<_>>(), ["web/alone", "web/b", "web/other"]);
    let requests = stage.requests();
    let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { "uid": "u2" },
        "propagationPolicy": "Background" });
    assert_eq!((requests.len(), body(&requests[0])), (2, options), "{requests:?}");
}

#[test]
fn what_is_being_deleted_already_is_left_alone() {
    let stage = stage(Duration::ZERO, &["a"]);
    let metadata = json!({ "name": "b", "finalizers": ["example.com/hold"],
        "ownerReferences": [{ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": "u1", "controller": true }] });
    stage.create(PARTS, &json!({ "metadata": metadata, "spec": {} }));
    stage.delete(&at(PARTS, "b"));
    stage.act(async |cx, kinds, foo| {
        assert_eq!(kinds.parts.owned_by(foo).len(), 2);
        assert_eq!(cx.prune(&kinds.parts, foo, [""; 0]).await.unwrap().len(), 1);
    });
    assert_eq!(deletions(&stage), ["DELETE /api/v1/namespaces/web/parts/a"]);
}

#[test]
fn a_deletion_that_is_refused_keeps_no_other_one_from_being_sent() {
    let stage = stage(Duration::ZERO, &["a", "b", "c"]);
    stage.refuse(Method::Delete, &[403]);
    let pruned = stage.act(async |cx, kinds, foo| cx.prune(&kinds.parts, foo, [""; 0]).await);
    let error = pruned.unwrap_err();
    assert_eq!(
        (error.key(), error.api().and_then(|it| it.status()).map(|it| it.code)),
        (&Key::from("web/a"), Some(403))
    );
    assert_eq!(deletions(&stage).len(), 3);
    assert_eq!(stage.object(&at(PARTS, "a"))["metadata"]["name"], "a");
    assert_eq!(stage.object(&at(PARTS, "c")), json!(null));
}

#[test]
fn sixteen_writes_at_most_are_under_way_and_each_has_its_outcome_in_its_place() {
    let stage = Stage::new();
    let open = Mutex::new((0, 0));
    let (outcomes, took) = stage.act(async |cx, _, _| {
        let begun = cx.clock().now();
        let open = &open;
        let writes = (0..40_u64).map(|number| async move {
            {
                let (open, most) = &mut *open.lock().unwrap();
                *open += 1;
                *most = (*open).max(*most);
            }
            cx.clock().sleep(Duration::from_secs(1 + number % 2)).await;
            open.lock().unwrap().0 -= 1;
            if number == 7 { Err(number) } else { Ok(number) }
        });
        (cx.all(writes).await, cx.clock().now().saturating_since(begun))
    });
    let expected: Vec<_> = (0..40).map(|number| if number == 7 { Err(7) } else { Ok(number) }).collect();
    assert_eq!(outcomes, expected);
    assert_eq!(open.into_inner().unwrap(), (0, 16));
    assert!(took < Duration::from_secs(6), "{took:?}");
    assert!(stage.act(async |cx, _, _| cx.all(Vec::<core::future::Ready<u32>>::new()).await).is_empty());
}

#[test]
fn children_that_are_ensured_at_once_are_all_shown_to_the_next_reconcile() {
    let stage = Stage::late(SOON / 6);
    let names: Vec<_> = (0..20).map(|number| format!("p{number}")).collect();
    let seen = stage.act_then(
        async |cx, kinds, foo| {
            let part = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "size": 2 } });
            let ensured =
                names.iter().map(|name| cx.ensure(&kinds.parts, foo.key().sibling(name), &part).owned_by(foo));
            let ensured = cx.all(ensured).await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
            assert_eq!(ensured.iter().map(|it| it.meta().name()).collect::<Vec<_>>(), names);
        },
        |kinds| {
            let web = LabelSelector::from_labels([("app", "web")]).unwrap();
            let foo = kinds.foos.get("web/foo").unwrap();
            (kinds.parts.owned_by(&foo).len(), kinds.parts.select_in("web", &web).len())
        },
    );
    assert_eq!(seen, (20, 20));
}

/// Completes the name of the next creation so.
fn complete(stage: &Stage, name: &str) {
    let at = at(PARTS, name);
    stage.twist(Method::Post, move |store, now| {
        store.put(now, &at, json!({ "size": 3 }));
        let created = store.object(&at)?;
        Some(ApiResponse::new(201, created.to_string().into_bytes()))
    });
}

#[test]
fn a_server_completes_a_name_and_the_next_reconcile_sees_the_object() {
    let stage = Stage::late(SOON / 6);
    complete(&stage, "backup-x7k2q");
    let seen = stage.act_then(
        async |cx, kinds, foo| {
            let part = json!({ "metadata": { "name": "backup-" }, "spec": { "size": 3 } });
            let created = cx.create(&kinds.parts, foo.key().sibling("backup-"), &part).generate_name().owned_by(foo);
            let created = created.await.unwrap();
            assert_eq!((created.key(), created.spec.size), (&Key::from("web/backup-x7k2q"), Some(3)));
        },
        |kinds| kinds.parts.contains("web/backup-x7k2q"),
    );
    assert!(seen);
    let metadata = &body(&stage.requests()[0])["metadata"];
    assert_eq!((&metadata["generateName"], &metadata["name"]), (&json!("backup-"), &json!(null)));
}

#[test]
fn a_name_of_another_beginning_is_no_answer() {
    let [long, most, fewer] = [70, 58, 57].map(|count| "a".repeat(count));
    for (prefix, begins, fits) in
        [("backup-", "backup-", true), ("backup-", "back-", false), (&*long, &*most, true), (&*long, &*fewer, false)]
    {
        let name = &format!("{begins}x7k2q");
        let stage = Stage::new();
        complete(&stage, name);
        let created = stage.act(async |cx, kinds, foo| {
            let create = cx.create(&kinds.parts, foo.key().sibling(prefix), &json!({ "spec": {} }));
            create.generate_name().await.map(|part| part.meta().name().to_owned())
        });
        assert_eq!(created.is_ok(), fits, "{created:?}");
    }
}

#[test]
fn a_generated_name_that_is_taken_is_an_error_and_no_object_is_read() {
    let stage = Stage::new();
    stage.put(&at(PARTS, "backup-"), json!({ "size": 1 }));
    stage.twist(Method::Post, |_, _| Some(ApiResponse::new(409, Refusal::already_exists().body)));
    let created = stage.act(async |cx, kinds, foo| {
        let create = cx.create(&kinds.parts, foo.key().sibling("backup-"), &json!({ "spec": {} }));
        create.generate_name().owned_by(foo).await.map(|_| ())
    });
    assert!(created.unwrap_err().is_already_exists());
    let requests = stage.requests();
    assert_eq!(
        requests.iter().map(|it| target(it)).collect::<Vec<_>>(),
        ["POST /api/v1/namespaces/web/parts?fieldManager=sample"]
    );
}
