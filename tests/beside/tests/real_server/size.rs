//! A collection of a real size.

use crate::real_server::follower::{Follower, config};
use crate::real_server::plane::{Plane, plane};
use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiClient, ApiRequest, Method, Patch};
use listwatch_core::decode::Raw;
use listwatch_tests::balancer::{Balancer, Door};
use listwatch_tests::skipped::skip;
use listwatch_transport_http::{Cluster, ClusterOptions};
use serde_json::{Value, json};

const MANY: usize = 20_000;

#[test]
fn twenty_thousand_config_maps_by_watch_list_by_pages_and_in_one_list() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("many");
    let maps = plane.filled(&namespace, MANY).with_label_selector("parity");
    for (watch_list, page_size) in [(true, None), (false, Some(500)), (false, None)] {
        let mut config = config(watch_list);
        config.reflector.page_size = page_size;
        let mut follower = Follower::<Raw>::start(&plane.cluster, maps.clone(), config);
        follower.catch_up(&plane);
        assert_eq!((follower.events, follower.state().len()), (MANY as u64, MANY));
        assert!(follower.failures.is_empty(), "{:?}", follower.failures);
    }
}

/// Pods are as in production; `PODS=20000` makes so many. A server that drops managed fields is one of Kubernetes 1.38 with the
/// feature gate `ManagedFieldsOptOut`, on this machine.
#[test]
fn pods_come_without_their_managed_fields_from_a_server_that_drops_them_and_whole_from_others() {
    let Some(mut plane) = plane() else { return };
    let Some(port) = plane.cluster.server().trim_end_matches('/').strip_prefix("https://127.0.0.1:") else {
        return skip("pods without managed fields", "the server is not on this machine");
    };
    let balancer = Balancer::new(&[port.parse().unwrap()]);
    let count = std::env::var("PODS").map_or(100, |count| count.parse().unwrap());
    let namespace = plane.namespace("unmanaged");
    let pods = pods(&plane, &namespace, count);
    let drops = !answer(&plane, &pods, "application/json;drop=metadata.managedFields").contains("managedFields");
    println!("{count} pods; the server {} managed fields", if drops { "drops" } else { "knows no way to drop" });
    for watch_list in [true, false] {
        let [whole, without] = [true, false].map(|keeps| {
            let door = balancer.door().unwrap();
            let cluster = through(&plane, &door);
            let mut config = config(watch_list);
            config.decode.managed_fields = keeps;
            let mut follower = Follower::<Value>::start(&cluster, pods.clone(), config);
            follower.follow_until(|follower| follower.status().is_synced());
            assert_eq!((follower.state().len(), follower.failures.len()), (count, 0), "{:?}", follower.failures);
            let has_managers = |pod: &Value| pod["metadata"]["managedFields"].is_array();
            assert!(follower.objects().all(|pod| has_managers(pod) == keeps), "the decoder keeps them: {keeps}");
            door.carried()
        });
        let way = if watch_list { "watch-list" } else { "list, gzip" };
        let part = without as f64 / whole as f64;
        println!("{way}: {whole} bytes with managed fields, {without} as by default: {:.0} %", part * 100.0);
        assert_eq!(part < 0.9, drops, "{way}: {whole} and {without}");
    }
}

/// Pods that a controller has created, and a kubelet runs.
fn pods(plane: &Plane, namespace: &str, count: usize) -> Resource {
    let mut pod: Value = serde_json::from_str(include_str!("../../../data/pod.template.json")).unwrap();
    let (status, given) = (json!({ "status": pod["status"].take() }), pod["metadata"].take());
    let pods = Resource::named("v1/pods").unwrap().in_namespace(namespace);
    let (api, statuses) = (Api::<Value>::new(&pods), Api::<Value>::new(&pods).status());
    plane.write(count, |number, client| {
        let (mut pod, name) = (pod.clone(), format!("pod-{number:05}"));
        pod["metadata"] = json!({ "name": name, "labels": given["labels"], "annotations": given["annotations"] });
        api.create(&pod).send(client).unwrap();
        statuses.patch(&name, &Patch::Merge(&status)).send(client).unwrap();
    });
    pods
}

/// The answer to a list of one pod, as a text.
fn answer(plane: &Plane, pods: &Resource, accept: &'static str) -> String {
    let mut request = ApiRequest::new(Method::Get, format!("{}?limit=1", pods.path()));
    request.accept = accept;
    let response = plane.client.send(&request).unwrap();
    assert_eq!(response.status, 200, "{accept}");
    String::from_utf8(response.body.to_vec()).unwrap()
}

/// The cluster through a door.
fn through(plane: &Plane, door: &Door) -> Cluster {
    let kubeconfig = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let path = plane.kubeconfig().with_file_name(format!("kubeconfig-{}", door.port()));
    let ours = format!("https://127.0.0.1:{}", door.port());
    std::fs::write(&path, kubeconfig.replace(plane.cluster.server().trim_end_matches('/'), &ours)).unwrap();
    let cluster = ClusterOptions::new().kubeconfig(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    cluster
}
