//! The stand-in that schedules pods and runs them.

use crate::object::{is_true, left, set_condition, text, time};
use crate::pods::{is_finished, is_in, is_ready};
use crate::stand_ins::tell;
use core::time::Duration;
use listwatch::api::Patch;
use listwatch::controller::{Context, Controller, Outcome, Reconciled, Running};
use listwatch::time::WallTime;
use listwatch::{Found, Informers};
use serde_json::{Value, json};
use std::sync::Arc;

/// The node of all pods.
const NODE: &str = "node-1";

/// What becomes of a pod once its containers have started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodFate {
    /// It gets ready.
    Ready,
    /// It runs, and does not get ready.
    NeverReady,
    /// Its containers end with 0. With the `restartPolicy` `Always`, which is the default, they crash again and again.
    Succeeds,
    /// Its containers end with this code. Unless the `restartPolicy` is `Never`, they crash again and again.
    Fails(i32),
}

pub(crate) type Fate = dyn Fn(&Value) -> PodFate + Send + Sync;

pub(crate) fn controller(informers: &Informers, seed: u64, fate: Arc<Fate>) -> Running<'static> {
    let controller = Controller::new("kubelet", informers);
    let pods = controller.informer_of::<Value>("v1/pods").with_kind("Pod");
    controller.reconciles(&pods).on_report(tell).calls(async move |cx, key| match pods.get(&key) {
        Some(pod) if !pod.is_terminating() && !is_finished(&pod) => reconcile(&cx, &pod, seed, &*fate).await,
        _ => Ok(Outcome::Done),
    })
}

async fn reconcile(cx: &Context, pod: &Found<Value>, seed: u64, fate: &Fate) -> Reconciled {
    let now = cx.clock().wall();
    let Some(scheduled) = time(&pod["status"]["startTime"]) else { return schedule(cx, pod, now).await };
    let drawn = draw(seed, pod);
    let (begun, is_running) = match time(&pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]) {
        Some(started) => (started, true),
        None => (scheduled, is_in(pod, "Running")),
    };
    if is_ready(pod) {
        return Ok(Outcome::Done);
    }
    let delay = Duration::from_millis(1000 + if is_running { drawn >> 32 } else { drawn } % 900);
    if let Some(left) = left(now, Some(begun), delay) {
        return Ok(Outcome::RequeueAfter(left));
    }
    if !is_running {
        cx.change_status(pod, |pod| start(pod, drawn, now)).await?;
        return Ok(Outcome::Done);
    }
    let fate = fate(pod);
    cx.change_status(pod, |pod| meet(pod, fate, now)).await?;
    Ok(Outcome::Done)
}

async fn schedule(cx: &Context, pod: &Found<Value>, now: WallTime) -> Reconciled {
    let node = json!({ "spec": { "nodeName": NODE } });
    let pod = if pod["spec"]["nodeName"].is_null() { cx.patch(pod, &Patch::Merge(&node)).await? } else { pod.clone() };
    cx.change_status(&pod, |pod| {
        set_condition(pod, now, "PodScheduled", true, json!({}));
        pod["status"]["phase"] = "Pending".into();
        pod["status"]["startTime"] = text(now).into();
    })
    .await?;
    Ok(Outcome::Done)
}

/// The containers of a pod start.
fn start(pod: &mut Value, drawn: u64, now: WallTime) {
    let [.., a, b, c] = drawn.to_be_bytes();
    let address = format!("10.{a}.{b}.{c}");
    let status = &mut pod["status"];
    status["phase"] = "Running".into();
    status["hostIP"] = "192.168.0.1".into();
    status["podIPs"] = json!([{ "ip": address }]);
    status["podIP"] = address.into();
    for name in ["PodReadyToStartContainers", "Initialized"] {
        set_condition(pod, now, name, true, json!({}));
    }
    set_containers(pod, now, false, &json!({ "running": { "startedAt": text(now) } }));
}

/// What becomes of a pod.
fn meet(pod: &mut Value, fate: PodFate, now: WallTime) {
    let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
    let (code, ends) = match fate {
        PodFate::NeverReady => return,
        PodFate::Ready => {
            let state = pod["status"]["containerStatuses"][0]["state"].clone();
            return set_containers(pod, now, true, &state);
        }
        PodFate::Succeeds => (0, policy != "Always"),
        PodFate::Fails(code) => (code, policy == "Never"),
    };
    if ends {
        pod["status"]["phase"] = if code == 0 { "Succeeded" } else { "Failed" }.into();
        let reason = if code == 0 { "Completed" } else { "Error" };
        let ended = json!({ "exitCode": code, "reason": reason, "finishedAt": text(now) });
        set_containers(pod, now, false, &json!({ "terminated": ended }));
    } else if !is_true(pod, "Ready") {
        set_containers(pod, now, false, &json!({ "waiting": { "reason": "CrashLoopBackOff" } }));
    }
}

/// Sets the state of all containers, and the conditions that follow from it.
fn set_containers(pod: &mut Value, now: WallTime, is_ready: bool, state: &Value) {
    let of = |it: &Value| {
        let (name, image, runs) = (&it["name"], &it["image"], state["running"].is_object());
        json!({ "name": name, "image": image, "imageID": "", "ready": is_ready, "started": runs, "restartCount": 0,
            "lastState": {}, "state": state })
    };
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten().map(of).collect();
    pod["status"]["containerStatuses"] = Value::Array(containers);
    let reason = match pod["status"]["phase"].as_str() {
        _ if is_ready => json!({}),
        Some("Succeeded") => json!({ "reason": "PodCompleted" }),
        Some("Failed") => json!({ "reason": "PodFailed" }),
        _ => json!({ "reason": "ContainersNotReady" }),
    };
    for name in ["ContainersReady", "Ready"] {
        set_condition(pod, now, name, is_ready, reason.clone());
    }
}

/// A number of a pod, by the seed: FNV-1a, which is the same on every machine.
fn draw(seed: u64, pod: &Found<Value>) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(pod.key().as_str().bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
