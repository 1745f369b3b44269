//! The columns of a pod (`printPod` of kubernetes' `pkg/printers`).

use crate::output::age::age;
use listwatch::time::WallTime;
use serde_json::Value;

/// What the columns of a pod say.
pub(super) struct PodSummary {
    pub(super) ready: String,
    pub(super) status: String,
    pub(super) restarts: String,
}

/// The containers of a pod, as they are counted.
#[derive(Default)]
struct Containers {
    reason: String,
    ready: u64,
    restarts: u64,
    last_restart: Option<String>,
    initializing: bool,
}

impl PodSummary {
    pub(super) fn of(pod: &Value, now: WallTime) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut containers = Containers { reason: text(&status["phase"]), ..Containers::default() };
        if !text(&status["reason"]).is_empty() {
            containers.reason = text(&status["reason"]);
        }
        if condition(status, "PodScheduled").is_some_and(|it| it["reason"] == "SchedulingGated") {
            containers.reason = "SchedulingGated".into();
        }
        containers.initialize(spec, status);
        if !containers.initializing || is_true(status, "Initialized") {
            containers.run(status);
        }
        let is_terminal = matches!(status["phase"].as_str(), Some("Succeeded" | "Failed"));
        match pod["metadata"]["deletionTimestamp"].is_string() {
            true if status["reason"] == "NodeLost" => containers.reason = "Unknown".into(),
            true if !is_terminal => containers.reason = "Terminating".into(),
            _ => {}
        }
        let total = spec["containers"].as_array().map_or(0, Vec::len) + sidecars(spec).count();
        Self {
            ready: format!("{}/{total}", containers.ready),
            restarts: match &containers.last_restart {
                Some(at) if containers.restarts > 0 => {
                    format!("{} ({} ago)", containers.restarts, age(&at.as_str().into(), now))
                }
                _ => containers.restarts.to_string(),
            },
            status: containers.reason,
        }
    }
}

impl Containers {
    /// Looks at the containers that run before the others, up to the first that is not done.
    fn initialize(&mut self, spec: &Value, status: &Value) {
        let statuses = list(&status["initContainerStatuses"]);
        let total = spec["initContainers"].as_array().map_or(0, Vec::len);
        for (place, container) in statuses.enumerate() {
            self.note_restarts(container);
            let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
            let is_sidecar = sidecars(spec).any(|sidecar| sidecar["name"] == container["name"]);
            if terminated["exitCode"] == 0 {
                continue;
            }
            if is_sidecar && container["started"] == true {
                self.ready += u64::from(container["ready"] == true);
                continue;
            }
            let waits_for = waiting["reason"].as_str().filter(|reason| !matches!(*reason, "" | "PodInitializing"));
            self.reason = match (terminated.is_object(), waits_for) {
                (true, _) => format!("Init:{}", end_of(terminated)),
                (false, Some(reason)) => format!("Init:{reason}"),
                (false, None) => format!("Init:{place}/{total}"),
            };
            self.initializing = true;
            break;
        }
    }

    /// Looks at the other containers, last one first.
    fn run(&mut self, status: &Value) {
        self.restarts = 0;
        let mut has_running = false;
        for container in list(&status["containerStatuses"]).rev() {
            self.note_restarts(container);
            let (terminated, waiting) = (&container["state"]["terminated"], &container["state"]["waiting"]);
            match waiting["reason"].as_str().filter(|reason| !reason.is_empty()) {
                Some(reason) => self.reason = reason.to_owned(),
                None if terminated.is_object() => self.reason = end_of(terminated),
                None if container["ready"] == true && container["state"]["running"].is_object() => {
                    has_running = true;
                    self.ready += 1;
                }
                None => {}
            }
        }
        if self.reason == "Completed" && has_running {
            self.reason = if is_true(status, "Ready") { "Running" } else { "NotReady" }.into();
        }
    }

    fn note_restarts(&mut self, container: &Value) {
        let restarts = container["restartCount"].as_u64().unwrap_or(0);
        self.restarts = self.restarts.saturating_add(restarts);
        let at = container["lastState"]["terminated"]["finishedAt"].as_str().map(str::to_owned);
        self.last_restart = self.last_restart.take().max(at);
    }
}

/// How a container ended.
fn end_of(terminated: &Value) -> String {
    match (terminated["reason"].as_str(), terminated["signal"].as_i64()) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or(0)),
    }
}

/// The initial containers that go on running.
fn sidecars(spec: &Value) -> impl Iterator<Item = &Value> {
    list(&spec["initContainers"]).filter(|container| container["restartPolicy"] == "Always")
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn condition<'s>(status: &'s Value, kind: &str) -> Option<&'s Value> {
    list(&status["conditions"]).find(|condition| condition["type"] == kind)
}

fn is_true(status: &Value, kind: &str) -> bool {
    condition(status, kind).is_some_and(|condition| condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(pod: &Value) -> [String; 3] {
        let now = "2026-11-22T10:00:00Z".parse().unwrap();
        let PodSummary { ready, status, restarts } = PodSummary::of(pod, now);
        [ready, status, restarts]
    }

    #[test]
    fn a_pod_is_shown_as_kubectl_shows_it() {
        let running = json!({ "name": "a", "ready": true, "restartCount": 2, "state": { "running": {} },
            "lastState": { "terminated": { "finishedAt": "2026-11-22T09:58:30Z" } } });
        let waiting =
            json!({ "name": "b", "restartCount": 0, "state": { "waiting": { "reason": "ImagePullBackOff" } } });
        let spec = json!({ "containers": [{ "name": "a" }, { "name": "b" }] });
        let pod = |status: Value| json!({ "metadata": {}, "spec": spec, "status": status });
        assert_eq!(shown(&pod(json!({ "phase": "Pending" }))), ["0/2", "Pending", "0"]);
        assert_eq!(
            shown(&pod(json!({ "phase": "Running", "containerStatuses": [running, waiting] }))),
            ["1/2", "ImagePullBackOff", "2 (90s ago)"]
        );
        assert_eq!(shown(&pod(json!({ "phase": "Failed", "reason": "Evicted" }))), ["0/2", "Evicted", "0"]);
        let init = json!([{ "name": "i", "restartCount": 1, "state": { "terminated": { "exitCode": 7 } } }]);
        assert_eq!(
            shown(&pod(json!({ "phase": "Pending", "initContainerStatuses": init }))),
            ["0/2", "Init:ExitCode:7", "1"]
        );
        let mut deleted = pod(json!({ "phase": "Running", "containerStatuses": [running] }));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-22T10:00:00Z");
        assert_eq!(shown(&deleted), ["1/2", "Terminating", "2 (90s ago)"]);
    }
}
