//! Rancher's system-upgrade-controller: applies plans to nodes, by Jobs.

mod go;
mod job;
mod objectset;
mod plan;
mod window;

use job::{Job, Settings};
use listwatch::api::PropagationPolicy;
use listwatch::controller::{ActError, Context, Controller, Outcome, Reconciled, RunError, Running, run_all};
use listwatch::election::Election;
use listwatch::http::Cluster;
use listwatch::{Found, InformerHandle, Informers, Key, World};
use plan::{
    ANNOTATION_TTL, COMPLETE, LABEL_CONTROLLER, LABEL_NODE, LABEL_PLAN, LABEL_VERSION, Node, Note, Plan, RESOLVED,
    Secret, VALIDATED, hostname, label_of, resolve, secret_hash, select_nodes,
};
use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;
use std::time::Duration;

const RESYNC: Duration = Duration::from_secs(2 * 3600);

/// The options of the original, by its variables.
struct Options {
    name: String,
    namespace: String,
    threads: usize,
    is_elected: bool,
    jobs: Settings,
}

fn variable(name: &str) -> Option<String> {
    env::var(format!("SYSTEM_UPGRADE_CONTROLLER_{name}")).ok().filter(|value| !value.is_empty())
}

impl Options {
    fn from_env() -> Result<Self, String> {
        let required = |name: &str| variable(name).ok_or(format!("SYSTEM_UPGRADE_CONTROLLER_{name} is required"));
        Ok(Self {
            name: required("NAME")?,
            namespace: required("NAMESPACE")?,
            threads: variable("THREADS").and_then(|it| it.parse().ok()).unwrap_or(2),
            is_elected: variable("LEADER_ELECT").is_some_and(|it| it == "true" || it == "1"),
            jobs: Settings::from_env(),
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = match variable("KUBE_CONFIG") {
        Some(path) => Cluster::from_kubeconfig(path)?,
        None => Cluster::infer()?,
    };
    Ok(upgrade(cluster, Options::from_env()?)?)
}

fn upgrade(world: impl Into<World>, options: Options) -> Result<(), RunError> {
    let (informers, options) = (Informers::new(world), Arc::new(options));
    run_all([plans(&informers, &options), jobs(&informers, &options)])
}

/// Creates the Jobs of plans.
fn plans(informers: &Informers, options: &Arc<Options>) -> Running<'static> {
    let controller = Controller::new(&options.name, informers);
    let plans = controller.informer_where::<Plan>(|all| all.in_namespace(&options.namespace));
    let secrets = controller.informer_where::<Secret>(|all| all.in_namespace(&options.namespace));
    let jobs = controller.informer_where::<Job>(|all| all.in_namespace(&options.namespace));
    let nodes = controller.informer::<Node>();
    let (of_node, of_secret, options) = (plans.clone(), plans.clone(), Arc::clone(options));
    let mut reconciler = controller
        .reconciles(&plans)
        .maps(&nodes, move |node, keys| {
            let selects = |plan: &&Found<Plan>| {
                let selector = plan.spec.node_selector.as_ref().and_then(|it| plan::selector(it).ok());
                selector.is_some_and(|it| it.matches(|name| node.meta().label(name)))
            };
            of_node.list().iter().filter(selects).for_each(|plan| keys.add(plan.key()));
        })
        .maps(&secrets, move |secret, keys| {
            let hashes = |plan: &&Found<Plan>| {
                let mut secrets = plan.spec.secrets.iter().flatten();
                secrets.any(|it| it.is_hashed() && it.name == secret.meta().name())
            };
            of_secret.list().iter().filter(hashes).for_each(|plan| keys.add(plan.key()));
        })
        .maps(&jobs, |job, keys| {
            if let Some(plan) = job.meta().label(LABEL_PLAN) {
                keys.add(job.key().sibling(plan));
            }
        })
        .workers(options.threads)
        .every(RESYNC);
    if options.is_elected {
        reconciler = reconciler.lead_by(Election::new(&options.name).namespace(&options.namespace));
    }
    reconciler.calls(async move |cx, key| {
        let Some(plan) = plans.get(&key).filter(|plan| !plan.is_terminating()) else { return Ok(Outcome::Done) };
        let hash_of = |name: &str| match secrets.get(&key.sibling(name)) {
            Some(secret) => Ok(secret_hash(name, &secret)),
            None => Err(format!("secrets {name:?} not found")),
        };
        let mut next = (*plan).clone();
        let resolved = resolve(&mut next, &hash_of, cx.clock().wall());
        resolved.notes.iter().for_each(|note| tell(&cx, &plan, note));
        let known_hash = plan.status.latest_hash.clone();
        let again = |plan: &mut Plan| _ = resolve(plan, &hash_of, cx.clock().wall());
        let plan = cx.change_status(&plan, again).await?;
        let applied = apply(&cx, &plan, &nodes, &jobs, &options, &known_hash).await?;
        match resolved.error {
            Some(error) => Err(error.into()),
            None => Ok(applied),
        }
    })
}

fn tell<T>(cx: &Context, about: &Found<T>, note: &Note) {
    if note.is_warning {
        cx.warning_event(about, note.reason, &note.text);
    } else {
        cx.event(about, note.reason, &note.text);
    }
}

/// Sets the condition `Complete`.
async fn set_complete(
    cx: &Context,
    plan: &Found<Plan>,
    status: bool,
    reason: &str,
    message: &str,
) -> Result<Found<Plan>, ActError> {
    let now = cx.clock().wall();
    cx.change_status(plan, |plan| plan.status.set(COMPLETE, status, reason, message, now)).await
}

/// Names the next nodes in the status, and then creates their Jobs. So no Job runs out of turn.
async fn apply(
    cx: &Context,
    plan: &Found<Plan>,
    nodes: &InformerHandle<Node>,
    jobs: &InformerHandle<Job>,
    options: &Options,
    known_hash: &str,
) -> Reconciled {
    let status = &plan.status;
    if !status.is(VALIDATED, "True") || !status.is(RESOLVED, "True") {
        set_complete(cx, plan, false, "NotReady", "plan is not valid and resolved").await?;
        return Ok(Outcome::Done);
    }
    let next = match select_nodes(plan, nodes) {
        Ok(next) => next,
        Err(why) => {
            tell(cx, plan, &Note::warning("SelectNodesFailed", format!("Failed to select Nodes: {why}")));
            set_complete(cx, plan, false, "SelectNodesFailed", &why).await?;
            return Err(why.into());
        }
    };
    for node in &next {
        if let Err(why) = options.jobs.check(node) {
            let text = format!("Failed to create job for node {}: {why}", node.meta().name());
            tell(cx, plan, &Note::warning("ValidationFailed", text));
            set_complete(cx, plan, false, "ValidationFailed", why).await?;
            return Err(why.into());
        }
    }
    let (version, hash) = (&status.latest_version, &status.latest_hash);
    let is_stopped = status.reason(COMPLETE) == "JobFailed" && *hash == known_hash;
    let is_idle = status.applying.iter().flatten().next().is_none();
    if let Some(window) = plan.spec.window.as_ref().filter(|_| is_idle && !next.is_empty())
        && !window.contains(cx.clock().wall())?
    {
        if status.reason(COMPLETE) != "Waiting" {
            let text = format!("Waiting for start of Spec.Window to sync Jobs for version {version}. Hash: {hash}");
            tell(cx, plan, &Note::normal("Waiting", text));
        }
        set_complete(cx, plan, false, "Waiting", "current time is not within configured window").await?;
        return Ok(Outcome::RequeueAfter(Duration::from_secs(60)));
    }
    let now = cx.clock().wall();
    if next.is_empty() {
        if !status.is(COMPLETE, "True") {
            let text = format!("Jobs complete for version {version}. Hash: {hash}");
            tell(cx, plan, &Note::normal("Complete", text));
        }
        let finish = |plan: &mut Plan| {
            plan.status.applying = None;
            plan.status.set(COMPLETE, true, "Complete", "", now);
        };
        cx.change_status(plan, finish).await?;
        return Ok(Outcome::Done);
    }
    let names: Vec<_> = next.iter().map(|node| hostname(node).to_owned()).collect();
    let mut plan = plan.clone();
    if status.applying.as_ref() != Some(&names) {
        let text = format!("Jobs synced for version {version} on Nodes {}. Hash: {hash}", names.join(","));
        tell(cx, &plan, &Note::normal("SyncJob", text));
        let begin = |plan: &mut Plan| {
            plan.status.applying = Some(names.clone());
            plan.status.set(COMPLETE, false, "SyncJob", "", now);
        };
        plan = cx.change_status(&plan, begin).await?;
    } else if is_stopped {
        // As the original, it goes on when the plan changes.
        return Ok(Outcome::Done);
    }
    for node in &next {
        let wanted = job::wanted(&plan, node, &options.name, &options.jobs);
        let key = plan.key().sibling(&job::name_of(&plan, node));
        if let Some(job) = jobs.get(&key).filter(|job| objectset::is_other_template(job, &wanted)) {
            cx.delete(&job).with_propagation(PropagationPolicy::Background).await?;
            return Ok(Outcome::Retry);
        }
        cx.ensure(jobs, key, &wanted).await?;
    }
    Ok(Outcome::Done)
}

/// Labels the nodes whose Jobs are complete, and deletes Jobs.
fn jobs(informers: &Informers, options: &Arc<Options>) -> Running<'static> {
    let controller = Controller::new(&format!("{}-jobs", options.name), informers);
    let jobs = controller.informer_where::<Job>(|all| all.in_namespace(&options.namespace));
    let plans = controller.informer_where::<Plan>(|all| all.in_namespace(&options.namespace));
    let nodes = controller.informer::<Node>();
    let options = Arc::clone(options);
    let mut reconciler = controller.reconciles(&jobs).workers(options.threads).every(RESYNC);
    if options.is_elected {
        let lease = format!("{}-jobs", options.name);
        reconciler = reconciler.lead_by(Election::new(&lease).namespace(&options.namespace));
    }
    reconciler.calls(async move |cx, key| {
        let is_ours = |job: &Found<Job>| job.meta().label(LABEL_CONTROLLER) == Some(&options.name);
        let Some(job) = jobs.get(&key).filter(is_ours).filter(|job| !job.is_terminating()) else {
            return Ok(Outcome::Done);
        };
        on_job(&cx, &job, &plans, &nodes).await
    })
}

async fn on_job(
    cx: &Context,
    job: &Found<Job>,
    plans: &InformerHandle<Plan>,
    nodes: &InformerHandle<Node>,
) -> Reconciled {
    let label = |name: &str| job.meta().label(name);
    let (Some(name), Some(version)) = (label(LABEL_PLAN), label(LABEL_VERSION)) else { return delete(cx, job).await };
    // The cache of plans may be older than the Job.
    let Some(plan) = cx.live().get(plans, job.key().sibling(name)).await? else { return delete(cx, job).await };
    if version != plan.status.latest_version {
        return delete(cx, job).await;
    }
    let Some(node_name) = label(LABEL_NODE) else { return delete(cx, job).await };
    let Some(node) = nodes.get(&Key::new(None, node_name)) else { return delete(cx, job).await };
    if let Some(failed) = job.holds("Failed") {
        let time = failed.last_transition_time.ok_or("condition \"Failed\" missing field \"LastTransitionTime\"")?;
        let text = format!("Job {} failed on Node {node_name}: {}: {}", job.key(), failed.reason, failed.message);
        cx.warning_event(&plan, "JobFailed", &text);
        set_complete(cx, &plan, false, "JobFailed", &text).await?;
        return expire(cx, job, cx.clock().wall().saturating_since(time)).await;
    }
    if let Some(complete) = job.holds("Complete") {
        let time =
            complete.last_transition_time.ok_or("condition \"Complete\" missing field \"LastTransitionTime\"")?;
        let age = cx.clock().wall().saturating_since(time);
        let mut rest = None;
        if let Some(hash) = label(&label_of(name)) {
            let delay = plan.spec.post_complete_delay.as_deref().and_then(go::parse_duration).unwrap_or(0);
            let delay = Duration::from_nanos(u64::try_from(delay).unwrap_or(0));
            rest = delay.checked_sub(age).filter(|rest| !rest.is_zero());
            finish(cx, &plan, &node, hash, rest.map(|_| delay)).await?;
        }
        let expired = expire(cx, job, age).await?;
        return Ok(match (rest, expired) {
            (Some(rest), Outcome::RequeueAfter(end)) => Outcome::RequeueAfter(rest.min(end)),
            (_, expired) => expired,
        });
    }
    if !plan.status.is_applying(node_name) {
        return delete(cx, job).await;
    }
    Ok(Outcome::Done)
}

/// Labels the node, unless a delay goes on, and lets pods be scheduled to it again.
async fn finish(
    cx: &Context,
    plan: &Found<Plan>,
    node: &Found<Node>,
    hash: &str,
    delay: Option<Duration>,
) -> Result<(), ActError> {
    let mut labels = BTreeMap::new();
    let node_name = node.meta().name();
    match delay {
        Some(delay) => {
            let delay = go::duration(i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX));
            let text = format!("Job completed on Node {node_name}, waiting {delay} PostCompleteDelay");
            cx.event(plan, "JobCompleteWaiting", &text);
        }
        None => {
            cx.event(plan, "JobComplete", &format!("Job completed on Node {node_name}"));
            let status = &plan.status;
            let known = [("LATEST_VERSION", &*status.latest_version), ("LATEST_HASH", &*status.latest_hash)].into();
            let more = plan.spec.post_complete_labels.iter().flatten();
            labels.extend(more.map(|(name, value)| (name.clone(), go::expand(value, &known))));
            labels.insert(label_of(plan.meta().name()), hash.to_owned());
        }
    }
    let uncordons = plan.spec.cordon == Some(true) || plan.spec.drain.is_some();
    let change = |node: &mut Node| {
        node.metadata.labels.get_or_insert_default().extend(labels.clone());
        if uncordons && node.spec.unschedulable == Some(true) {
            node.spec.unschedulable = None;
        }
    };
    cx.change(node, change).await?;
    Ok(())
}

/// Deletes a Job that ended long ago, or waits until then.
async fn expire(cx: &Context, job: &Found<Job>, age: Duration) -> Reconciled {
    let ttl = match (job.spec.ttl_seconds_after_finished, job.annotation(ANNOTATION_TTL)) {
        (Some(seconds), _) => Some(seconds),
        (None, Some(text)) => text.parse::<i32>().ok(),
        (None, None) => None,
    };
    let ttl = Duration::from_secs(ttl.and_then(|it| u64::try_from(it).ok()).unwrap_or(0));
    match ttl.checked_sub(age).filter(|rest| !rest.is_zero()) {
        Some(rest) => Ok(Outcome::RequeueAfter(rest)),
        None => delete(cx, job).await,
    }
}

async fn delete(cx: &Context, job: &Found<Job>) -> Reconciled {
    cx.delete(job).with_propagation(PropagationPolicy::Background).await?;
    Ok(Outcome::Done)
}
