//! The stand-in that schedules pods and runs them.

use crate::object::{Object, is_active, is_true, left, set_condition, text};
use core::time::Duration;
use listwatch::api::Patch;
use listwatch::controller::{Context, Reconciled, Running};
use listwatch::prelude::*;
use listwatch::time::WallTime;
use serde_json::{Value, json};
use std::sync::Arc;

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
    controller.reconciles(&pods).calls(async move |cx, key| match pods.get(&key) {
        Some(pod) if is_active(&pod) && !is_true(&pod, "Ready") => reconcile(&cx, &pod, seed, &*fate).await,
        _ => Ok(Outcome::Done),
    })
}

async fn reconcile(cx: &Context, pod: &Object, seed: u64, fate: &Fate) -> Reconciled {
    let (now, status, drawn) = (cx.clock().wall(), &pod["status"], draw(seed, pod));
    if pod["spec"]["nodeName"].is_null() {
        cx.patch(pod, &Patch::Merge(&json!({ "spec": { "nodeName": "node-1" } }))).await?;
        return Ok(Outcome::Done);
    }
    let started = &status["containerStatuses"][0]["state"]["running"]["startedAt"];
    let is_running = status["phase"] == "Running";
    let (since, delay) = if is_running { (started, drawn >> 32) } else { (&status["startTime"], drawn) };
    if let Some(left) = left(now, since, Duration::from_millis(1000 + delay % 900)) {
        return Ok(Outcome::RequeueAfter(left));
    }
    let fate = if is_running { Some(fate(pod)) } else { None };
    cx.change_status(pod, |pod| match fate {
        Some(fate) => meet(pod, fate, now),
        None if pod["status"]["startTime"].is_null() => {
            pod["status"]["startTime"] = text(now).into();
            set_condition(pod, now, "PodScheduled", true, json!({}));
        }
        None => start(pod, drawn, now),
    })
    .await?;
    Ok(Outcome::Done)
}

/// The containers of a pod start.
fn start(pod: &mut Value, drawn: u64, now: WallTime) {
    let [.., a, b, c] = drawn.to_be_bytes();
    let address = format!("10.{a}.{b}.{c}");
    pod["status"]["podIPs"] = json!([{ "ip": address }]);
    (pod["status"]["hostIP"], pod["status"]["podIP"]) = ("192.168.0.1".into(), address.into());
    ["PodReadyToStartContainers", "Initialized"].iter().for_each(|name| set_condition(pod, now, name, true, json!({})));
    show(pod, now, "Running", &json!({ "running": { "startedAt": text(now) } }), Some("ContainersNotReady"));
}

/// What becomes of a pod.
fn meet(pod: &mut Value, fate: PodFate, now: WallTime) {
    let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
    let ended = |code, reason| json!({ "terminated": { "exitCode": code, "reason": reason, "finishedAt": text(now) } });
    let (phase, state, reason) = match fate {
        PodFate::NeverReady => return,
        PodFate::Ready => ("Running", pod["status"]["containerStatuses"][0]["state"].clone(), None),
        PodFate::Succeeds if policy != "Always" => ("Succeeded", ended(0, "Completed"), Some("PodCompleted")),
        PodFate::Fails(code) if policy == "Never" => ("Failed", ended(code, "Error"), Some("PodFailed")),
        _ => ("Running", json!({ "waiting": { "reason": "CrashLoopBackOff" } }), Some("ContainersNotReady")),
    };
    show(pod, now, phase, &state, reason);
}

/// Sets the phase and the state of all containers. `reason` says why they are not ready.
fn show(pod: &mut Value, now: WallTime, phase: &str, state: &Value, reason: Option<&str>) {
    pod["status"]["phase"] = phase.into();
    let (is_ready, runs) = (reason.is_none(), state["running"].is_object());
    let of = |it: &Value| {
        json!({ "name": it["name"], "image": it["image"], "imageID": "", "ready": is_ready, "started": runs,
            "restartCount": 0, "lastState": {}, "state": state })
    };
    pod["status"]["containerStatuses"] = pod["spec"]["containers"].as_array().into_iter().flatten().map(of).collect();
    let more = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
    ["ContainersReady", "Ready"].iter().for_each(|name| set_condition(pod, now, name, is_ready, more.clone()));
}

/// A number of a pod, by the seed: FNV-1a, which is the same on every machine.
fn draw(seed: u64, pod: &Object) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(pod.key().as_str().bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
