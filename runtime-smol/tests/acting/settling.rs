//! Servers that store something else than what was written.

use core::time::Duration;
use listwatch::api::{ApiClient, ApiFn, ApiRequest};
use listwatch::controller::{ActError, Context, Controller, Outcome};
use listwatch::testing::SimulatedCluster;
use listwatch::{Client, Clock, InformerHandle, Key, World, kind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const FOOS: &str = "example.com/v1/foos";
const FOO: &str = "web/foo";
const PARTS: &str = "v1/endpoints";
const PART: &str = "web/a";

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Foo {
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

/// It shows the data, and not the lists.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Part {
    data: Option<Value>,
}

kind!(Foo, "example.com/v1", "foos");

/// What a server makes of the body of a write.
type Admission = fn(&mut Value);

/// A cluster with a foo whose server changes what is written.
struct Stage {
    cluster: SimulatedCluster,
    admission: Admission,
    /// What it warns of with each answer.
    warnings: &'static [&'static str],
    requests: Arc<Mutex<Vec<String>>>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new(admission: Admission) -> Self {
        let cluster = SimulatedCluster::new();
        let foo =
            json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "foo", "namespace": "web" } });
        cluster.create(foo).unwrap();
        Self { cluster, admission, warnings: &[], requests: Arc::default(), lines: Arc::default() }
    }

    fn world(&self) -> World {
        let clock = Clock::simulated();
        let time = clock.clone();
        let streams = self.cluster.on_clock(move || time.now());
        let (cluster, admission, requests) = (self.cluster.clone(), self.admission, Arc::clone(&self.requests));
        let warnings: Vec<String> = self.warnings.iter().map(|text| (*text).to_owned()).collect();
        let answer = ApiFn::new(move |request: &ApiRequest| {
            let mut request = request.clone();
            if request.path.contains("/events") {
                return cluster.send(&request);
            }
            requests.lock().unwrap().push(format!("{} {}", request.method.name(), request.path));
            if let Ok(mut body) = serde_json::from_slice(&request.body) {
                admission(&mut body);
                request.body = body.to_string().into_bytes();
            }
            cluster.send(&request).map(|response| response.with_warnings(warnings.clone()))
        });
        let (client, lines) = (Client::new(answer, clock.clone()), Arc::clone(&self.lines));
        let world = World::from_parts(clock, client, move |_| Box::new(streams.transport()));
        world.on_report_line(move |line| lines.lock().unwrap().push(line.to_owned()))
    }

    /// Acts on the parts once a second, ten times, while `scenario` goes on.
    fn act<T: DeserializeOwned + Send + Sync + 'static, F: Future<Output = ()> + Send + 'static>(
        &self,
        act: impl AsyncFn(&Context, &InformerHandle<T>) -> Result<(), ActError> + Send + Sync,
        scenario: impl FnOnce(Clock) -> F,
    ) {
        self.act_with_foos(async |cx, parts, _| act(cx, parts).await, scenario);
    }

    fn act_with_foos<T: DeserializeOwned + Send + Sync + 'static, F: Future<Output = ()> + Send + 'static>(
        &self,
        act: impl AsyncFn(&Context, &InformerHandle<T>, &InformerHandle<Foo>) -> Result<(), ActError> + Send + Sync,
        scenario: impl FnOnce(Clock) -> F,
    ) {
        let world = self.world();
        let clock = world.clock().clone();
        let scenario = scenario(clock.clone());
        let end = async move {
            scenario.await;
            clock.sleep(Duration::from_millis(9_500)).await;
        };
        let controller = Controller::new("sample", world.until(end));
        let foos = controller.informer::<Foo>();
        let parts = controller.informer_of::<T>(PARTS).with_kind("Endpoints");
        let ended = controller.reconciles(&foos).run(async |cx, _| {
            act(&cx, &parts, &foos).await?;
            Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
        });
        assert_eq!(ended, Ok(()));
    }

    /// The requests since the last look.
    fn requests(&self) -> Vec<String> {
        core::mem::take(&mut *self.requests.lock().unwrap())
    }

    fn methods(&self) -> Vec<String> {
        self.requests().iter().filter_map(|request| request.split(' ').next().map(str::to_owned)).collect()
    }

    /// The reports of what was not stored.
    fn told(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter(|line| line.contains("StoredOtherwise")).cloned().collect()
    }

    fn part(&self) -> Value {
        self.cluster.get(PARTS, PART).unwrap()
    }

    fn put(&self, fields: &Value) {
        let mut object =
            json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "a", "namespace": "web" } });
        fields.as_object().unwrap().iter().for_each(|(name, value)| object[name] = value.clone());
        self.cluster.create(object).unwrap();
    }
}

/// Quantities in their short form, and neither false, empty texts nor empty maps.
fn canonical(body: &mut Value) {
    match body {
        Value::Object(fields) => {
            fields.values_mut().for_each(canonical);
            fields.retain(|name, value| {
                name == "metadata" || !(*value == json!(false) || *value == json!("") || *value == json!({}))
            });
        }
        Value::Array(elements) => elements.iter_mut().for_each(canonical),
        Value::String(text) if *text == "1000m" => *text = "1".to_owned(),
        Value::String(text) if *text == "1024Mi" => *text = "1Gi".to_owned(),
        _ => {}
    }
}

fn other_forms() -> Value {
    json!({ "data": { "cpu": "1000m", "off": false, "text": "", "map": {} } })
}

/// The same in a list, which a type has to read before it changes it.
fn other_forms_in_a_list() -> Value {
    json!({ "data": { "list": [{ "name": "b", "memory": "1024Mi" }, { "name": "a", "off": false }] } })
}

fn nothing_happens(_: Clock) -> impl Future<Output = ()> + Send {
    core::future::ready(())
}

async fn ensure<T>(cx: &Context, parts: &InformerHandle<T>, wanted: &Value) -> Result<(), ActError>
where
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    cx.ensure(parts, Key::from(PART), wanted).await.map(drop)
}

#[test]
fn a_value_that_the_server_stores_in_another_form_is_sent_once() {
    for wanted in [other_forms(), other_forms_in_a_list()] {
        for exists in [true, false] {
            let (typed, json) = (Stage::new(canonical), Stage::new(canonical));
            if exists {
                [&typed, &json].iter().for_each(|stage| stage.put(&json!({ "data": { "x": "y" } })));
            }
            typed.act::<Part, _>(async |cx, parts| ensure(cx, parts, &wanted).await, nothing_happens);
            json.act::<Value, _>(async |cx, parts| ensure(cx, parts, &wanted).await, nothing_happens);
            let (mut writes, methods) = (typed.methods(), json.methods());
            writes.retain(|method| method != "GET");
            assert_eq!(writes, [if exists { "PATCH" } else { "POST" }]);
            assert_eq!(methods, writes, "a type that shows all reads nothing");
            assert_eq!(json.told().len(), 1, "{:?}", json.told());
        }
    }
}

#[test]
fn after_a_restart_a_value_in_another_form_costs_one_request() {
    let (stage, wanted) = (Stage::new(canonical), other_forms_in_a_list());
    for sent in [&["POST"][..], &["PATCH"], &["PATCH"]] {
        stage.act::<Value, _>(async |cx, parts| ensure(cx, parts, &wanted).await, nothing_happens);
        assert_eq!(stage.methods(), sent);
    }
}

#[test]
fn what_another_client_changes_is_changed_back_each_time_although_the_server_stores_it_in_another_form() {
    for wanted in [other_forms(), other_forms_in_a_list()] {
        let stage = Arc::new(Stage::new(canonical));
        stage.put(&json!({}));
        let it = Arc::clone(&stage);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut settled = wanted.clone();
        canonical(&mut settled);
        let scenario = {
            let seen = Arc::clone(&seen);
            move |clock: Clock| async move {
                for data in [
                    json!({ "cpu": "7", "list": [] }),
                    json!({ "cpu": "8", "list": null }),
                    json!({ "cpu": "7", "list": [] }),
                ] {
                    clock.sleep(Duration::from_secs(3)).await;
                    it.cluster.patch(PARTS, PART, json!({ "data": data })).unwrap();
                    clock.sleep(Duration::from_secs(3)).await;
                    seen.lock().unwrap().push(it.part()["data"].clone());
                }
            }
        };
        stage.act::<Part, _>(async |cx, parts| ensure(cx, parts, &wanted).await, scenario);
        for data in seen.lock().unwrap().iter() {
            settled["data"].as_object().unwrap().iter().for_each(|(name, value)| assert_eq!(&data[name], value));
        }
        assert_eq!(stage.methods().iter().filter(|method| *method == "PATCH").count(), 4);
        assert_eq!(stage.told().len(), 1);
    }
}

#[test]
fn two_bodies_of_one_object_are_each_sent_once() {
    let stage = Stage::new(canonical);
    let [one, other] = [json!({ "data": { "cpu": "1000m" } }), json!({ "data": { "memory": "1024Mi" } })];
    let both = async |cx: &Context, parts: &InformerHandle<Part>| {
        ensure(cx, parts, &one).await?;
        ensure(cx, parts, &other).await
    };
    stage.act::<Part, _>(both, nothing_happens);
    // The cache does not have the object yet when the second body is wanted.
    assert_eq!(stage.methods(), ["POST", "POST", "GET", "PATCH"]);
    assert_eq!(stage.part()["data"], json!({ "cpu": "1", "memory": "1Gi" }));
}

/// Another value each time, and elements in another order.
fn stubborn(body: &mut Value) {
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let mut number = NUMBER.lock().unwrap();
    *number += 1;
    if !body["data"].is_null() {
        body["data"]["count"] = json!(*number);
        body["data"].as_object_mut().unwrap().entry("list").and_modify(|list| list.as_array_mut().unwrap().reverse());
    }
}

#[test]
fn an_admission_that_stores_another_value_each_time_gets_each_body_once() {
    let stage = Stage::new(stubborn);
    let size = AtomicU32::new(0);
    let wanted = json!({ "data": { "count": 7, "list": ["a", "b", "c"] } });
    stage.act::<Part, _>(
        async |cx, parts| {
            let mut body = wanted.clone();
            body["data"]["size"] = json!((size.fetch_add(1, Ordering::Relaxed) + 1) / 5);
            ensure(cx, parts, &body).await
        },
        nothing_happens,
    );
    let writes = stage.methods().iter().filter(|method| *method != "GET").count();
    assert_eq!(writes, 3, "one for each of three sizes");
}

/// Moves what is written only to where it is stored, as the server of Secrets does.
fn moved(body: &mut Value) {
    if let Some(fields) = body["stringData"].take().as_object() {
        fields.iter().for_each(|(name, value)| body["data"][name] = json!(format!("encoded {value}")));
    }
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
}

#[test]
fn a_value_that_is_stored_elsewhere_is_sent_again_when_the_object_changes() {
    for is_applied in [false, true] {
        let stage = Arc::new(Stage::new(moved));
        let it = Arc::clone(&stage);
        let scenario = move |clock: Clock| async move {
            clock.sleep(Duration::from_secs(5)).await;
            it.cluster.patch(PARTS, PART, json!({ "data": { "a": "evil" } })).unwrap();
        };
        let wanted = json!({ "stringData": { "a": "b" } });
        let act = async |cx: &Context, parts: &InformerHandle<Value>| match is_applied {
            true => cx.apply(parts, Key::from(PART), &wanted).force().await.map(drop),
            false => ensure(cx, parts, &wanted).await,
        };
        stage.act::<Value, _>(act, scenario);
        assert_eq!(stage.part()["data"]["a"], "encoded \"b\"");
        let expected: &[&str] = if is_applied { &["PATCH", "PATCH"] } else { &["POST", "PATCH"] };
        assert_eq!(stage.methods(), expected, "{is_applied}");
    }
}

#[test]
fn a_body_is_applied_once_and_again_when_it_or_its_object_changes() {
    let stage = Arc::new(Stage::new(canonical));
    let it = Arc::clone(&stage);
    let scenario = move |clock: Clock| async move {
        clock.sleep(Duration::from_secs(5)).await;
        it.cluster.patch(PARTS, PART, json!({ "data": { "cpu": "7" } })).unwrap();
        clock.sleep(Duration::from_secs(5)).await;
        assert_eq!((it.methods().len(), &it.part()["data"]["cpu"]), (2, &json!("1")));
        it.cluster.delete(PARTS, PART).unwrap();
    };
    let wanted = other_forms();
    stage.act::<Part, _>(async |cx, parts| cx.apply(parts, Key::from(PART), &wanted).force().await.map(drop), scenario);
    assert_eq!(stage.methods(), ["PATCH"], "for the object that was gone");
    let bodies = Mutex::new(0);
    stage.act::<Value, _>(
        async |cx, parts| {
            *bodies.lock().unwrap() += 1;
            let wanted = json!({ "data": { "cpu": "1000m", "body": (*bodies.lock().unwrap() / 4).to_string() } });
            cx.apply(parts, Key::from(PART), &wanted).force().await.map(drop)
        },
        nothing_happens,
    );
    assert_eq!(stage.methods().len(), 3, "one for each of three bodies");
}

/// The fields of one manager that are in two bodies by turns come and go.
#[test]
fn two_bodies_of_one_object_are_applied_by_turns() {
    let stage = Stage::new(canonical);
    let both = async |cx: &Context, parts: &InformerHandle<Part>| {
        for field in ["one", "other"] {
            cx.apply(parts, Key::from(PART), &json!({ "data": { field: "x" } })).await?;
        }
        Ok(())
    };
    stage.act::<Part, _>(both, nothing_happens);
    assert_eq!(stage.part()["data"], json!({ "other": "x" }));
    assert_eq!(stage.methods().len(), 20);
}

/// A CRD that lacks a field of the status.
fn pruning(body: &mut Value) {
    if let Some(status) = body["status"].as_object_mut() {
        status.remove("unknown");
    }
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
}

#[test]
fn a_status_field_that_the_server_drops_is_sent_once_and_told_once() {
    let stage = Stage::new(pruning);
    let act = async |cx: &Context, _: &InformerHandle<Part>, foos: &InformerHandle<Foo>| {
        let foo = foos.get("web/foo").unwrap();
        let changed = cx.change_status(&foo, |foo| foo.status = json!({ "size": 3, "unknown": true })).await?;
        assert_eq!(changed.status, json!({ "size": 3 }));
        Ok(())
    };
    stage.act_with_foos::<Part, _>(act, nothing_happens);
    assert_eq!(stage.methods(), ["PATCH"]);
    let told = stage.told();
    let expected = "Foo web/foo: StoredOtherwise: the server has not stored what was written: status.unknown";
    assert!(told.len() == 1 && told[0].ends_with(expected), "{told:?}");
}

#[test]
fn a_change_that_goes_on_from_its_answer_is_sent_each_time() {
    let stage = Stage::new(pruning);
    let act = async |cx: &Context, _: &InformerHandle<Part>, foos: &InformerHandle<Foo>| {
        // Each write brings an event, and so a reconcile.
        let count =
            |foo: &mut Foo| foo.status = json!({ "size": (foo.status["size"].as_u64().unwrap_or(0) + 1).min(10) });
        cx.change_status(&foos.get("web/foo").unwrap(), count).await.map(drop)
    };
    stage.act_with_foos::<Part, _>(act, nothing_happens);
    assert_eq!(stage.cluster.object::<Foo>("web/foo").unwrap().status, json!({ "size": 10 }));
    assert_eq!((stage.methods().len(), stage.told()), (10, Vec::new()));
}

/// It is about the type of the objects, and not about one of them.
#[test]
fn a_warning_of_the_server_is_reported_once_for_each_kind_and_text() {
    let stage = Stage { warnings: &["unknown field \"status.x\"", "v1 is old"], ..Stage::new(pruning) };
    let sizes = Mutex::new(0);
    let act = async |cx: &Context, parts: &InformerHandle<Part>, foos: &InformerHandle<Foo>| {
        // Each write brings an event, and so a reconcile.
        let size = (*sizes.lock().unwrap() + 1).min(10);
        *sizes.lock().unwrap() = size;
        cx.change_status(&foos.get("web/foo").unwrap(), |foo| foo.status = json!({ "size": size })).await?;
        ensure(cx, parts, &json!({ "data": { "size": size.to_string() } })).await
    };
    stage.act_with_foos::<Part, _>(act, nothing_happens);
    assert_eq!(stage.methods().len(), 20);
    let lines = stage.lines.lock().unwrap();
    let told: Vec<_> = lines.iter().filter_map(|line| line.split_once("ServerWarning: ")).collect();
    let [foo, part] = ["sample: web/foo: Foo: ", "sample: web/foo: Endpoints: "];
    let [field, old] = [r#"unknown field "status.x""#, "v1 is old"];
    assert_eq!(told, [(foo, field), (foo, old), (part, field), (part, old)]);
}

/// The generation does not count labels, and the type shows none.
#[test]
fn labels_that_a_body_has_alone_are_taken_back_from_others_each_time() {
    let stage = Arc::new(Stage::new(canonical));
    let it = Arc::clone(&stage);
    let scenario = move |clock: Clock| async move {
        for name in ["b", "c"] {
            clock.sleep(Duration::from_secs(3)).await;
            it.cluster.patch(FOOS, FOO, json!({ "metadata": { "labels": { name: "1" } } })).unwrap();
            clock.sleep(Duration::from_secs(3)).await;
            assert_eq!(it.cluster.get(FOOS, FOO).unwrap()["metadata"]["labels"], json!({ "a": "1" }));
        }
    };
    let body = json!({ "metadata": { "labels": { "a": "1" } } });
    let act = async |cx: &Context, _: &InformerHandle<Part>, foos: &InformerHandle<Foo>| {
        cx.ensure(foos, Key::from(FOO), &body).exactly("/metadata/labels").await.map(drop)
    };
    stage.act_with_foos::<Part, _>(act, scenario);
}

/// The generation does not count the status, and the definition of the type may have changed.
#[test]
fn a_status_field_that_the_server_dropped_is_sent_again_when_the_object_changes() {
    static IS_OLD: AtomicBool = AtomicBool::new(true);
    let admission: Admission = |body| {
        if IS_OLD.load(Ordering::Relaxed) {
            pruning(body);
        }
    };
    let stage = Arc::new(Stage::new(admission));
    let it = Arc::clone(&stage);
    let scenario = move |clock: Clock| async move {
        clock.sleep(Duration::from_secs(3)).await;
        IS_OLD.store(false, Ordering::Relaxed);
        it.cluster.patch(FOOS, FOO, json!({ "metadata": { "labels": { "a": "1" } } })).unwrap();
    };
    let wanted = json!({ "size": 3, "unknown": true });
    let act = async |cx: &Context, _: &InformerHandle<Part>, foos: &InformerHandle<Foo>| {
        cx.change_status(&foos.get(FOO).unwrap(), |foo| foo.status = wanted.clone()).await.map(drop)
    };
    stage.act_with_foos::<Part, _>(act, scenario);
    assert_eq!(stage.cluster.get(FOOS, FOO).unwrap()["status"], wanted);
    assert_eq!(stage.methods(), ["PATCH", "PATCH"]);
}
