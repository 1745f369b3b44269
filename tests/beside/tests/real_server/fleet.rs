//! A fleet that Secrets name, over two control planes and an address that never answers.

use crate::real_server::plane::own_plane;
use crate::real_server::sample_controller::stage::until;
use base64::prelude::{BASE64_STANDARD, Engine};
use listwatch::controller::{Controller, Fleet, Outcome, Running};
use listwatch::http::ClusterOptions;
use listwatch::{InformerHandle, Resource, World};
use listwatch_core::api::Api;
use listwatch_tests::control_plane::ControlPlane;
use listwatch_transport_http::HttpClient;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

fn maps() -> Resource {
    Resource::named("v1/configmaps").unwrap().in_namespace("default")
}

/// A controller that writes its member's name into each ConfigMap that asks for it.
fn marker(name: &str, world: World) -> Running<'static> {
    let controller = Controller::new(&format!("marker of {name}"), world);
    let asking: InformerHandle<Value> = controller.informer_of(maps().with_label_selector("fleet=yes"));
    let name = name.to_owned();
    controller.reconciles(&asking).on_report(|_, _| {}).calls(async move |cx, key| {
        if let Some(map) = asking.get(&key) {
            cx.change(&map, |map| map["data"]["by"] = json!(name)).await?;
        }
        Ok(Outcome::Done)
    })
}

/// Follows Secrets with a kubeconfig each, until the home world ends.
fn run(home: World, secrets: Resource, fleet: &Fleet) {
    let controller = Controller::new("fleet", home);
    let secrets: InformerHandle<Value> = controller.informer_of(secrets);
    let members = fleet.clone();
    let home = controller.reconciles(&secrets).on_report(|_, _| {}).calls(async move |_cx, key| {
        let Some(secret) = secrets.get(&key) else {
            members.remove(key.name());
            return Ok(Outcome::Done);
        };
        let text = BASE64_STANDARD.decode(secret["data"]["kubeconfig"].as_str().unwrap_or_default()).unwrap();
        let text = String::from_utf8(text).unwrap();
        members.put(key.name(), &text, || ClusterOptions::new().interactive(false).kubeconfig_text(&text))?;
        Ok(Outcome::Done)
    });
    fleet.run(home, marker).unwrap();
}

/// A cluster of the fleet, seen by its administrator.
struct Member(HttpClient);

impl Member {
    fn of(kubeconfig: &Path) -> Self {
        Self(ClusterOptions::new().kubeconfig(kubeconfig).unwrap().client().unwrap())
    }

    fn ask(&self, map: &str) {
        let map = json!({ "metadata": { "name": map, "labels": { "fleet": "yes" } } });
        Api::<Value>::new(&maps()).create(&map).send(&self.0).unwrap();
    }

    fn marked(&self, map: &str) -> Option<String> {
        let map: Value = Api::new(&maps()).get(map).send(&self.0).unwrap();
        map["data"]["by"].as_str().map(str::to_owned)
    }

    fn is_marked_by(&self, map: &str, name: &str) {
        until(|| self.marked(map).as_deref() == Some(name));
    }
}

fn secret(name: &str, kubeconfig: &str) -> Value {
    json!({ "metadata": { "name": name }, "stringData": { "kubeconfig": kubeconfig } })
}

#[test]
fn clusters_come_and_go_by_their_secrets_and_one_that_is_killed_or_hangs_delays_no_other() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet");
    let Some(mut other) = ControlPlane::start(&folder) else { return };
    let Some(mut home) = own_plane() else { return };
    let namespace = home.namespace("fleet");
    let secrets = Resource::named("v1/secrets").unwrap().in_namespace(&namespace);
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let (near, far) = (Member::of(home.kubeconfig()), Member::of(other.kubeconfig()));
    let (near_text, far_text) = (text(home.kubeconfig()), text(other.kubeconfig()));
    // It takes connections, and answers none.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("server: https://{}", silent.local_addr().unwrap());
    let server = near_text.lines().find_map(|line| line.find("server: ").map(|start| &line[start..])).unwrap();
    let silent_text = near_text.replace(server, &address);
    let (fleet, world) = (Fleet::new(), World::from(home.cluster.clone()));
    let (end, ended) = smol::channel::bounded::<()>(1);
    let world = world.until(async move { _ = ended.recv().await });
    thread::scope(|scope| {
        let end = end;
        scope.spawn(|| run(world, secrets.clone(), &fleet));
        home.create(&secrets, &secret("silent", &silent_text));
        home.create(&secrets, &secret("near", &near_text));
        home.create(&secrets, &secret("far", &far_text));
        near.ask("a");
        far.ask("a");
        near.is_marked_by("a", "near");
        far.is_marked_by("a", "far");

        other.kill_api_server();
        near.ask("b");
        near.is_marked_by("b", "near");
        other.start_api_server();
        far.ask("b");
        far.is_marked_by("b", "far");

        home.delete(&secrets, "near").unwrap();
        until(|| fleet.members().iter().all(|member| &*member.name != "near"));
        near.ask("c");
        far.ask("c");
        far.is_marked_by("c", "far");
        assert_eq!(near.marked("c"), None, "it is no member any more");
        home.create(&secrets, &secret("again", &near_text));
        near.is_marked_by("c", "again");
        drop(end);
    });
    let left = home.objects(&maps()).unwrap();
    for map in left.iter().filter(|map| map["metadata"]["labels"]["fleet"] == "yes") {
        home.delete(&maps(), map["metadata"]["name"].as_str().unwrap()).unwrap();
    }
}
