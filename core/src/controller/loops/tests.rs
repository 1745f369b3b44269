use super::*;
use alloc::borrow::ToOwned;
use serde_json::json;
use std::format;

/// A controller of one object, and its server.
struct Stage {
    loops: LoopDetector<&'static str>,
    now: Instant,
    object: Value,
    version: u64,
    /// The version that the controller has seen.
    seen: u64,
}

impl Stage {
    fn new() -> Self {
        Self { loops: LoopDetector::new("us"), now: Instant::ZERO, object: json!({}), version: 1, seen: 1 }
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }

    /// Another client writes, and the controller sees it.
    fn other(&mut self, fields: &Value) {
        self.store(fields);
        self.seen = self.version;
    }

    fn store(&mut self, fields: &Value) -> bool {
        let before = self.object.clone();
        crate::change::apply_merge_patch(&mut self.object, fields);
        let has_changed = self.object != before;
        self.version += u64::from(has_changed);
        has_changed
    }

    /// The controller writes.
    fn own(&mut self, is_echo: bool, fields: &Value) -> Attention {
        let attention = self.loops.attention(self.now, &"a");
        let (before, seen) = (self.object.clone(), self.seen.to_string());
        self.store(fields);
        self.seen = self.version;
        let before = (attention == Attention::State).then_some(&before);
        let values = OwnValues { body: fields, before, after: &self.object };
        let values = (attention != Attention::Versions).then_some(values);
        let version = self.version.to_string();
        let write = OwnWrite { is_echo, version_before: Some(&seen), version: &version, values, ..OwnWrite::default() };
        self.loops.handle_write(self.now, "a", &write);
        attention
    }

    fn found(&mut self) -> Option<WriteLoop> {
        self.loops.poll_loop().map(|(_, found)| found)
    }

    /// Another manager owns this set of fields.
    fn managed(&mut self, manager: &str, set: &Value) {
        let entry =
            |manager: &str, set: &Value, time: &str| json!({ "manager": manager, "time": time, "fieldsV1": set });
        let entries = [
            entry("us", &json!({ "f:spec": { "f:x": {} } }), "2026-01-02T00:00:00Z"),
            entry("early", set, "2026-01-01T00:00:00Z"),
            entry(manager, set, "2026-01-01T00:00:01Z"),
        ];
        self.object["metadata"]["managedFields"] = json!(entries);
    }

    /// One round of two managers that set a field to values of their own.
    fn fight(&mut self) -> Attention {
        self.pass(1);
        self.other(&json!({ "spec": { "replicas": 7, "seen": self.version } }));
        self.managed("scaler\u{1b}", &json!({ "f:spec": { "f:replicas": {} } }));
        self.own(false, &json!({ "spec": { "replicas": 3 } }))
    }

    /// One round of a controller that its own write wakes.
    fn tick(&mut self) {
        self.pass(1);
        let fields = json!({ "status": { "phase": "Running", "at": format!("{} s", self.now.as_nanos()) } });
        self.own(true, &fields);
    }
}

#[test]
fn a_status_that_changes_by_its_own_echo_is_told_with_the_field_that_changes() {
    let mut stage = Stage::new();
    let rounds = (1..100).find(|_| {
        stage.tick();
        !stage.loops.found.is_empty()
    });
    let found = stage.found().unwrap();
    assert!(rounds.unwrap() < 20, "{rounds:?}");
    assert_eq!((found.kind, found.writes, found.within), (LoopKind::Echo, 11, Duration::from_secs(10)));
    assert_eq!((&*found.fields, found.other.as_deref()), (&["/status/at".to_owned()][..], None));
    assert_eq!(found.to_string(), "11 writes in 10.0 s, and each led to the next one; it changed /status/at");
}

#[test]
fn the_progress_of_a_rollout_is_no_loop_although_its_numbers_swing() {
    let mut stage = Stage::new();
    for step in 0..500 {
        stage.pass(1);
        stage.other(&json!({ "metadata": { "annotations": { "pods": step.to_string() } } }));
        let (available, text) = (49 + step % 2, format!("{step} of 500 pods are updated"));
        stage.own(false, &json!({ "status": { "available": available, "updated": step, "message": text } }));
        assert_eq!(stage.found(), None, "{step}");
    }
}

#[test]
fn a_controller_that_counts_its_own_steps_has_a_hundred_of_them() {
    let mut stage = Stage::new();
    let step = |stage: &mut Stage, step: i64| {
        stage.pass(1);
        stage.own(true, &json!({ "status": { "moved": step, "message": format!("{step} shards") } }));
    };
    (0..100).for_each(|moved| step(&mut stage, moved));
    assert_eq!(stage.found(), None);
    (100..110).for_each(|moved| step(&mut stage, moved));
    assert_eq!(stage.found().map(|found| found.writes), Some(101));
    let mut stage = Stage::new();
    (0..20).for_each(|round| step(&mut stage, round % 2));
    assert!(stage.found().is_some(), "one that swings shows no progress");
}

#[test]
fn two_managers_that_undo_each_other_are_a_loop_and_the_other_is_named() {
    let mut stage = Stage::new();
    let rounds: Vec<_> = (0..20).map(|_| stage.fight()).collect();
    assert_eq!(rounds.iter().filter(|asked| **asked == Attention::State).count(), 1, "{rounds:?}");
    let found = stage.found().unwrap();
    assert_eq!((found.kind, found.writes), (LoopKind::Undo, 11));
    assert_eq!((&*found.fields, found.other.as_deref()), (&["/spec/replicas".to_owned()][..], Some(r"scaler\u001b")));
    assert_eq!(found.to_string(), r"11 writes in 10.0 s, and each undid what scaler\u001b changed: /spec/replicas");
}

#[test]
fn a_change_that_another_manager_undoes_now_and_then_is_no_loop() {
    let mut stage = Stage::new();
    for _ in 0..100 {
        stage.fight();
        stage.pass(40);
    }
    assert_eq!(stage.found(), None);
}

#[test]
fn a_body_that_is_sent_again_while_others_change_other_fields_is_doubted_and_no_loop() {
    let mut stage = Stage::new();
    let mut looks = 0;
    for round in 0..60 {
        stage.pass(1);
        for label in ["a", "b"] {
            stage.other(&json!({ "metadata": { "labels": { label: round.to_string() } } }));
        }
        // The cache does not show that yet, so the write does not look idle.
        stage.seen -= 1;
        looks += usize::from(stage.own(false, &json!({ "spec": { "replicas": 3 } })) == Attention::State);
        assert_eq!(stage.found(), None);
    }
    assert!((1..=16).contains(&looks), "{looks}");
}

#[test]
fn a_write_that_changes_nothing_is_a_loop_if_it_goes_on() {
    let mut stage = Stage::new();
    for _ in 0..12 {
        stage.own(false, &json!({ "spec": { "replicas": 3 } }));
        stage.pass(20);
    }
    let found = stage.found().unwrap();
    assert_eq!((found.kind, found.to_string()), (LoopKind::Idle, "11 writes in 200.0 s changed nothing".to_owned()));
}

#[test]
fn an_object_that_is_created_again_and_again_is_a_loop() {
    let (mut loops, write) = (LoopDetector::new("us"), OwnWrite { is_creation: true, ..OwnWrite::default() });
    (0..11).for_each(|second| loops.handle_write(Instant::ZERO + Duration::from_secs(second), 'a', &write));
    let (object, found) = loops.poll_loop().unwrap();
    assert_eq!((object, found.to_string()), ('a', "it was created 11 times in 10.0 s".to_owned()));
}

#[test]
fn a_loop_is_told_once_and_again_after_it_was_quiet() {
    let rounds: [fn(&mut Stage); 2] = [Stage::tick, |stage| _ = stage.fight()];
    for round in rounds {
        let mut stage = Stage::new();
        (0..2000).for_each(|_| round(&mut stage));
        assert!(stage.found().is_some() && stage.found().is_none());
        stage.pass(601);
        (0..2000).for_each(|_| round(&mut stage));
        assert!(stage.found().is_some() && stage.found().is_none());
    }
}

#[test]
fn a_slow_loop_is_told_once_too() {
    let mut stage = Stage::new();
    for _ in 0..1000 {
        stage.tick();
        stage.pass(28);
    }
    assert!(stage.found().is_some() && stage.found().is_none());
}

#[test]
fn memory_is_bounded_whatever_is_written_and_a_loop_is_found_among_many_objects() {
    let mut loops = LoopDetector::new("us");
    let mut now = Instant::ZERO;
    for round in 0..30_u64 {
        for object in 0..2 * MOST_OBJECTS as u64 {
            now = now + Duration::from_millis(1);
            let fields: serde_json::Map<_, _> =
                (0..40).map(|field| (format!("{field}{}", "/".repeat(100)), json!(format!("{round}")))).collect();
            let object_after = json!({ "status": fields, "long": { "x".repeat(10_000): round.to_string() } });
            let values = Some(OwnValues { body: &object_after, before: None, after: &object_after });
            let version = now.as_nanos().to_string();
            loops.handle_write(
                now,
                object,
                &OwnWrite { version: &version, is_echo: true, values, ..OwnWrite::default() },
            );
        }
    }
    let of_all = |len: fn(&Tracked) -> usize| loops.objects.values().map(len).max().unwrap();
    assert_eq!((loops.objects.len(), loops.found.len()), (MOST_OBJECTS, MOST_OBJECTS), "the first ones stay");
    assert!(of_all(|tracked| tracked.leaves.len()) <= MOST_LEAVES && of_all(|it| it.versions.len()) <= MOST_VERSIONS);
    let found = loops.poll_loop().unwrap().1;
    assert_eq!(found.fields.len(), values::MOST_FIELDS);
    assert!(found.fields.iter().all(|field| field.len() < 300), "{found}");
    let most = (0..10_000).map(|_| json!({ "name": "a", "value": "b" })).collect::<Vec<_>>();
    let (body, write) = (json!({ "list": most }), OwnWrite::default());
    let values = Some(OwnValues { body: &body, before: None, after: &body });
    loops.handle_write(now, 0, &OwnWrite { values, ..write });
    assert_eq!(loops.objects[&0].leaves.len(), MOST_LEAVES);
}

#[test]
fn an_object_that_is_written_seldom_gives_way_to_a_new_one() {
    let (mut loops, mut now) = (LoopDetector::new("us"), Instant::ZERO);
    for object in 0..10 * MOST_OBJECTS {
        loops.handle_write(now, object, &OwnWrite { version: "7", ..OwnWrite::default() });
        now = now + PACE;
    }
    assert_eq!(loops.objects.len(), MOST_OBJECTS);
    assert!(loops.is_own(&(10 * MOST_OBJECTS - 1), "7") && !loops.is_own(&0, "7"));
}

#[test]
fn a_json_patch_names_the_fields_of_its_paths() {
    let (mut named, after) = (Vec::new(), json!({ "spec": { "a/b": [1, 2], "c": 3 }, "status": 4 }));
    let patch = json!([{ "op": "add", "path": "/spec/a~1b/-" }, { "op": "replace", "path": "/spec/a~1b" }, 7]);
    visit_named(&patch, &after, &mut |pointer, value| named.push(format!("{pointer} {value}")));
    assert_eq!(named, ["/spec/a~1b/- null", "/spec/a~1b/0 1", "/spec/a~1b/1 2"]);
}

#[test]
fn the_version_that_a_body_names_and_the_fields_of_the_server_are_no_fields_of_it() {
    let object = json!({ "metadata": { "name": "a", "resourceVersion": "7", "generation": 2, "managedFields": [1] } });
    let mut named = Vec::new();
    visit_named(&object, &object, &mut |pointer, _| named.push(pointer.to_owned()));
    assert_eq!(named, ["/metadata/name"]);
}

#[test]
fn the_owner_of_a_field_is_found_in_lists_and_below_what_it_owns_as_a_whole() {
    let object = |set: Value| {
        let ports = json!([{ "port": 80, "name": "web" }, { "port": 443, "name": "tls" }]);
        let managed = json!([{ "manager": "other", "time": "2026-01-01T00:00:00Z", "fieldsV1": set }]);
        json!({ "metadata": { "managedFields": managed }, "spec": { "ports": ports, "a/b": { "c": 1 }, "set": ["x"] } })
    };
    for (set, pointer, is_owned) in [
        (
            json!({ "f:spec": { "f:ports": { "k:{\"port\":443}": { ".": {}, "f:name": {} } } } }),
            "/spec/ports/1/name",
            true,
        ),
        (
            json!({ "f:spec": { "f:ports": { "k:{\"port\":443}": { ".": {}, "f:name": {} } } } }),
            "/spec/ports/0/name",
            false,
        ),
        (json!({ "f:spec": { "f:ports": {} } }), "/spec/ports/0/name", true),
        (json!({ "f:spec": { "f:a/b": { "f:c": {} } } }), "/spec/a~1b/c", true),
        (json!({ "f:spec": { "f:set": { "v:\"x\"": {} } } }), "/spec/set/0", true),
        (json!({ "f:spec": { "f:set": { "v:\"y\"": {} } } }), "/spec/set/0", false),
        (json!({ "f:status": {} }), "/spec/set/0", false),
        (json!("a set is no text"), "/spec/set/0", false),
    ] {
        let object = object(set.clone());
        let owner = manager_of(&object, &[pointer.to_owned()], "us");
        assert_eq!(owner, is_owned.then_some("other"), "{set} {pointer}");
    }
}
