//! The stand-in that runs Jobs.

use crate::object::{Object, Objects, count, create_pod, is_active, is_true, left, owned};
use crate::object::{set_condition, set_counts, text};
use core::time::Duration;
use listwatch::controller::{Context, Outcome, Reconciled};
use listwatch::time::WallTime;
use serde_json::{Value, json};

pub(crate) async fn reconcile(cx: &Context, job: &Object, pods: &Objects) -> Reconciled {
    if is_true(job, "Complete") || is_true(job, "Failed") {
        return Ok(Outcome::Done);
    }
    let (all, now) = (owned(pods, job), cx.clock().wall());
    let in_phase = |phase: &str| all.iter().filter(|pod| pod["status"]["phase"] == phase).collect::<Vec<_>>();
    let (succeeded, failed) = (in_phase("Succeeded").len(), in_phase("Failed"));
    let mut active: Vec<_> = all.iter().filter(|pod| is_active(pod)).collect();
    let end = end(&job["spec"], succeeded, failed.len(), active.len());
    let wanted = end.err().unwrap_or(0);
    for pod in active.drain(wanted.min(active.len())..) {
        cx.delete(pod).await?;
    }
    // Ten seconds after the first failure, and then twice as long each time.
    let delay = Duration::from_secs((10 << failed.len().saturating_sub(1).min(6)).min(360));
    let ends = failed.iter().map(|pod| &pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]);
    let wait = ends.filter_map(|end| left(now, end, delay)).max().filter(|_| active.len() < wanted);
    for _ in active.len()..if wait.is_none() { wanted } else { 0 } {
        create_pod(cx, pods, job).await?;
    }
    let ready = active.iter().filter(|pod| is_true(pod, "Ready")).count();
    let terminating = all.iter().filter(|pod| pod.is_terminating()).count();
    let counts = [("active", active.len()), ("ready", ready), ("terminating", terminating)];
    cx.change_status(job, |job| {
        set_counts(job, &counts);
        set_counts(job, &[("succeeded", succeeded), ("failed", failed.len())]);
        job["status"]["uncountedTerminatedPods"] = json!({});
        if job["status"]["startTime"].is_null() {
            job["status"]["startTime"] = text(now).into();
        }
        end.iter().for_each(|is_complete| finish(job, *is_complete, now));
    })
    .await?;
    Ok(wait.map_or(Outcome::Done, Outcome::RequeueAfter))
}

/// Whether a Job that has ended is complete. `Err` has the number of pods that are to be active before it.
fn end(spec: &Value, succeeded: usize, failed: usize, active: usize) -> Result<bool, usize> {
    let parallelism = count(&spec["parallelism"], 1);
    // Without a number, the pods share a queue: the first that succeeds has found it empty.
    let queued = if succeeded > 0 { succeeded + active } else { parallelism };
    match count(&spec["completions"], queued).saturating_sub(succeeded) {
        _ if failed > count(&spec["backoffLimit"], 6) => Ok(false),
        0 => Ok(true),
        left => Err(parallelism.min(left)),
    }
}

fn finish(job: &mut Value, is_complete: bool, now: WallTime) {
    let (types, reason, message) = match is_complete {
        true => (["SuccessCriteriaMet", "Complete"], "CompletionsReached", "Reached expected number of succeeded pods"),
        false => (["FailureTarget", "Failed"], "BackoffLimitExceeded", "Job has reached the specified backoff limit"),
    };
    let more = json!({ "lastProbeTime": text(now), "reason": reason, "message": message });
    types.iter().for_each(|name| set_condition(job, now, name, true, more.clone()));
    if is_complete {
        job["status"]["completionTime"] = text(now).into();
    }
}
