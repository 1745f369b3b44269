//! The stand-in that runs Jobs.

use crate::object::{count, is_true, left, owned, set_condition, set_count, text, time};
use crate::pods::{create, is_active, is_in, is_ready};
use crate::stand_ins::tell;
use core::time::Duration;
use listwatch::controller::{Context, Controller, Outcome, Reconciled, Running};
use listwatch::time::WallTime;
use listwatch::{Found, InformerHandle, Informers};
use serde_json::{Value, json};

/// The pod after the first failure comes so much later; after the next one, twice as late.
const BACKOFF: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(360);

/// How far a Job has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Runs,
    Complete,
    Failed,
}

/// The pods of a Job.
struct Work {
    active: Vec<Found<Value>>,
    succeeded: usize,
    failed: usize,
    /// The end of the last pod that failed.
    last_failure: Option<WallTime>,
}

pub(crate) fn controller(informers: &Informers) -> Running<'static> {
    let controller = Controller::new("job-controller", informers);
    let jobs = controller.informer_of::<Value>("batch/v1/jobs").with_kind("Job");
    let pods = controller.informer_of::<Value>("v1/pods").with_kind("Pod");
    controller.reconciles(&jobs).owns(&pods).on_report(tell).calls(async move |cx, key| match jobs.get(&key) {
        Some(job) if !job.is_terminating() && !is_true(&job, "Complete") && !is_true(&job, "Failed") => {
            reconcile(&cx, &job, &pods).await
        }
        _ => Ok(Outcome::Done),
    })
}

async fn reconcile(cx: &Context, job: &Found<Value>, pods: &InformerHandle<Value>) -> Reconciled {
    let (mut work, now) = (Work::of(job, pods), cx.clock().wall());
    let (stage, wanted) = work.stage(&job["spec"]);
    for pod in work.active.drain(wanted.min(work.active.len())..) {
        cx.delete(&pod).await?;
    }
    let wait = left(now, work.last_failure, work.backoff()).filter(|_| work.active.len() < wanted);
    let missing = if wait.is_none() { wanted - work.active.len() } else { 0 };
    for _ in 0..missing {
        create(cx, pods, job, &labels(job)).await?;
    }
    let counts = [("active", work.active.len() + missing), ("succeeded", work.succeeded), ("failed", work.failed)];
    let ready = work.active.iter().filter(|pod| is_ready(pod)).count();
    cx.change_status(job, |job| {
        let status = &mut job["status"];
        counts.iter().for_each(|(name, count)| set_count(status, name, *count));
        (status["ready"], status["terminating"]) = (ready.into(), 0.into());
        status["uncountedTerminatedPods"] = json!({});
        if status["startTime"].is_null() {
            status["startTime"] = text(now).into();
        }
        finish(job, stage, now);
    })
    .await?;
    Ok(wait.map_or(Outcome::Done, Outcome::RequeueAfter))
}

impl Work {
    fn of(job: &Found<Value>, pods: &InformerHandle<Value>) -> Self {
        let all = owned(pods, job);
        let ended = |pod: &Found<Value>| {
            let containers = pod["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
            containers.iter().filter_map(|it| time(&it["state"]["terminated"]["finishedAt"])).max()
        };
        let failed: Vec<_> = all.iter().filter(|pod| is_in(pod, "Failed")).collect();
        Self {
            succeeded: all.iter().filter(|pod| is_in(pod, "Succeeded")).count(),
            failed: failed.len(),
            last_failure: failed.iter().filter_map(|pod| ended(pod)).max(),
            active: all.into_iter().filter(is_active).collect(),
        }
    }

    /// How far the Job has come, and how many pods are to be active.
    fn stage(&self, spec: &Value) -> (Stage, usize) {
        let parallelism = count(&spec["parallelism"], 1);
        // Without a number of completions, the pods share a queue: the first that succeeds has found it empty.
        let is_queue = spec["completions"].is_null() && !spec["parallelism"].is_null();
        let (left, wanted) = match is_queue {
            true if self.succeeded > 0 => (self.active.len(), self.active.len()),
            true => (1, parallelism),
            false => {
                let left = count(&spec["completions"], 1).saturating_sub(self.succeeded);
                (left, parallelism.min(left))
            }
        };
        match left {
            _ if self.failed > count(&spec["backoffLimit"], 6) => (Stage::Failed, 0),
            0 => (Stage::Complete, 0),
            _ => (Stage::Runs, wanted),
        }
    }

    /// How long after the last failure a pod is created.
    fn backoff(&self) -> Duration {
        let doublings = u32::try_from(self.failed.saturating_sub(1)).unwrap_or(u32::MAX);
        BACKOFF.saturating_mul(2_u32.saturating_pow(doublings)).min(MOST)
    }
}

fn labels(job: &Found<Value>) -> Value {
    let (name, uid) = (job.key().name(), &job["metadata"]["uid"]);
    json!({ "batch.kubernetes.io/job-name": name, "job-name": name,
        "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid })
}

/// Sets the conditions of a Job that has ended.
fn finish(job: &mut Value, stage: Stage, now: WallTime) {
    let (types, reason, message) = match stage {
        Stage::Runs => return,
        Stage::Complete => {
            job["status"]["completionTime"] = text(now).into();
            (["SuccessCriteriaMet", "Complete"], "CompletionsReached", "Reached expected number of succeeded pods")
        }
        Stage::Failed => {
            (["FailureTarget", "Failed"], "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        }
    };
    for name in types {
        let more = json!({ "lastProbeTime": text(now), "reason": reason, "message": message });
        set_condition(job, now, name, true, more);
    }
}
