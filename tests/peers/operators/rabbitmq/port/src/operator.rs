//! Keeps the children of each RabbitmqCluster as its spec wants them.

use crate::children::{Children, needs_restart};
use crate::kinds::{DefaultUser, RabbitmqCluster, Reference, SecretReference, ServiceReference};
use crate::status::{self, NO_WARNINGS, RECONCILE_SUCCESS};
use listwatch::api::Patch;
use listwatch::controller::{Context, Controller, Error, Outcome, Reconciled, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::recorder::{ObjectReference, Occurrence};
use listwatch::{Found, InformerHandle, Resource, World};
use serde_json::{Value, json};
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

const FINALIZER: &str = "deletion.finalizers.rabbitmqclusters.rabbitmq.com";
const PAUSE: &str = "rabbitmq.com/pauseReconciliation";
const PLUGINS_UPDATED: &str = "rabbitmq.com/pluginsUpdatedAt";
const SERVER_CONF_UPDATED: &str = "rabbitmq.com/serverConfUpdatedAt";
const RESTARTED: &str = "rabbitmq.com/lastRestartAt";
const CREATED: &str = "rabbitmq.com/createdAt";
const REBALANCE: &str = "rabbitmq.com/queueRebalanceNeededAt";

/// What the original reads from its environment.
pub struct Settings {
    pub namespace: String,
    pub default_image: String,
    pub controls_image: bool,
    pub default_pull_secrets: Vec<String>,
}

struct Operator {
    settings: Settings,
    clusters: InformerHandle<RabbitmqCluster>,
    services: InformerHandle<Value>,
    secrets: InformerHandle<Value>,
    config_maps: InformerHandle<Value>,
    accounts: InformerHandle<Value>,
    roles: InformerHandle<Value>,
    role_bindings: InformerHandle<Value>,
    stateful_sets: InformerHandle<Value>,
    endpoints: InformerHandle<Value>,
    pods: InformerHandle<MetadataOnly>,
}

/// What came of an object that is to be as wanted.
#[derive(Clone, Copy, PartialEq)]
enum Operation {
    None,
    Created,
    Updated,
}

pub fn operate(world: impl Into<World>, settings: Settings) -> Result<(), RunError> {
    let controller = Controller::new("rabbitmqcluster-controller", world);
    let labelled = |path| Resource::new(path).with_label_selector("app.kubernetes.io/part-of=rabbitmq");
    let children = |path, kind| controller.informer_of::<Value>(labelled(path)).with_kind(kind);
    let operator = Operator {
        clusters: controller.informer(),
        services: children("/api/v1/services", "Service"),
        secrets: children("/api/v1/secrets", "Secret"),
        config_maps: children("/api/v1/configmaps", "ConfigMap"),
        accounts: children("/api/v1/serviceaccounts", "ServiceAccount"),
        roles: children("/apis/rbac.authorization.k8s.io/v1/roles", "Role"),
        role_bindings: children("/apis/rbac.authorization.k8s.io/v1/rolebindings", "RoleBinding"),
        stateful_sets: children("/apis/apps/v1/statefulsets", "StatefulSet"),
        endpoints: children("/api/v1/endpoints", "Endpoints"),
        pods: controller.informer_of(labelled("/api/v1/pods")),
        settings,
    };
    let lease = Election::new("rabbitmq-cluster-operator-leader-election").namespace(&operator.settings.namespace);
    controller
        .reads(&operator.endpoints)
        .reads(&operator.pods)
        .reconciles(&operator.clusters)
        .owns(&operator.stateful_sets)
        .owns(&operator.config_maps)
        .owns(&operator.services)
        .owns(&operator.roles)
        .owns(&operator.role_bindings)
        .owns(&operator.accounts)
        .owns(&operator.secrets)
        .lead_by(lease)
        .run(async |cx, _key| operator.reconcile(&cx).await)
}

impl Operator {
    async fn reconcile(&self, cx: &Context) -> Reconciled {
        let Some(cluster) = self.clusters.get(cx.key()) else { return Ok(Outcome::Done) };
        if !cluster.is_terminating() && cluster.label(PAUSE) == Some("true") {
            cx.warning_event(&cluster, "PausedReconciliation", &format!("label '{PAUSE}' is set to true"));
            self.set(cx, &cluster, NO_WARNINGS, "reconciliation paused", "").await?;
            return Ok(Outcome::Done);
        }
        let cluster = match cluster.is_terminating() {
            true => cluster,
            false => self.fill_in(cx, &cluster).await?,
        };
        let clean_up = async |cluster: &Found<RabbitmqCluster>| self.clean_up(cx, cluster).await;
        let Some(cluster) = cx.finalizer(&cluster, FINALIZER, clean_up).await? else { return Ok(Outcome::Done) };
        let cluster = self.observe(cx, &cluster).await?;
        if let Some(field) = cluster.unsupported() {
            let message = format!("this operator does not support {field}");
            cx.warning_event(&cluster, "UnsupportedOperation", &message);
            self.set(cx, &cluster, RECONCILE_SUCCESS, "UnsupportedOperation", &message).await?;
            return Ok(Outcome::Done);
        }
        self.mark_for_rebalance(cx, &cluster).await?;
        match self.keep_children(cx, &cluster).await {
            Ok(Continue(stateful_set)) => self.complete(cx, &cluster, &stateful_set).await,
            Ok(Break(outcome)) => Ok(outcome),
            Err(error) => {
                self.set(cx, &cluster, RECONCILE_SUCCESS, "Error", &error.to_string()).await?;
                Err(error)
            }
        }
    }

    /// Gives the spec the operator's image and pull secrets, where it has none.
    async fn fill_in(&self, cx: &Context, cluster: &Found<RabbitmqCluster>) -> Result<Found<RabbitmqCluster>, Error> {
        let Settings { default_image, controls_image, default_pull_secrets, .. } = &self.settings;
        let fill_in = |cluster: &mut RabbitmqCluster| {
            let spec = &mut cluster.spec;
            if *controls_image || spec.image.as_ref().is_none_or(String::is_empty) {
                spec.image = Some(default_image.clone());
            }
            if spec.image_pull_secrets.is_none() && !default_pull_secrets.is_empty() {
                let secrets = default_pull_secrets.iter().map(|name| Reference { name: name.clone() });
                spec.image_pull_secrets = Some(secrets.collect());
            }
        };
        Ok(cx.change(cluster, fill_in).await?)
    }

    /// Lets pods stop without their checks, and deletes the StatefulSet before they are made anew.
    async fn clean_up(&self, cx: &Context, cluster: &Found<RabbitmqCluster>) -> Result<(), Error> {
        let name = Children { cluster }.child("server");
        let set = self.stateful_sets.get(&cx.key().sibling(&name)).filter(|set| set.is_controlled_by(cluster));
        let Some(set) = set else { return Ok(()) };
        let mark = json!({ "metadata": { "labels": { "skipPreStopChecks": "true" } } });
        for pod in self.pods.list_in(cx.key().namespace()) {
            if pod.meta().label("app.kubernetes.io/name") == Some(cluster.meta().name()) {
                match cx.patch(&pod, &Patch::Merge(&mark)).await {
                    Err(error) if !error.is_not_found() => return Err(error.into()),
                    _ => {}
                }
            }
        }
        Ok(cx.delete(&set).await?)
    }

    /// Notes what the children show.
    async fn observe(&self, cx: &Context, cluster: &Found<RabbitmqCluster>) -> Result<Found<RabbitmqCluster>, Error> {
        let set = self.stateful_sets.get(&cx.key().sibling(&Children { cluster }.child("server")));
        let (endpoints, now) = (self.endpoints.get(cx.key()), now(cx));
        let observe = |cluster: &mut RabbitmqCluster| {
            let status = cluster.status.get_or_insert_default();
            status::observe(status, set.as_deref(), endpoints.as_deref(), &now);
        };
        Ok(cx.change_status(cluster, observe).await?)
    }

    /// Gives a condition the status `False`.
    async fn set(
        &self,
        cx: &Context,
        cluster: &Found<RabbitmqCluster>,
        type_: &str,
        reason: &str,
        message: &str,
    ) -> Result<(), Error> {
        let now = now(cx);
        cx.change_status(cluster, |cluster| status::set(cluster, type_, "False", reason, message, &now)).await?;
        Ok(())
    }

    /// After an update of several nodes, queues would be rebalanced by a command in a pod.
    async fn mark_for_rebalance(&self, cx: &Context, cluster: &Found<RabbitmqCluster>) -> Result<(), Error> {
        let set = self.stateful_sets.get(&cx.key().sibling(&Children { cluster }.child("server")));
        let is_skipped = cluster.spec.skip_post_deploy_steps == Some(true);
        let is_due = set.is_some_and(|set| status::is_being_updated(&set)) && !is_skipped && cluster.replicas() > 1;
        if is_due && cluster.annotation(REBALANCE).is_none() {
            annotate(cx, cluster, REBALANCE).await?;
        }
        Ok(())
    }

    /// Keeps all children. Returns the StatefulSet, or how the reconcile ends.
    async fn keep_children(
        &self,
        cx: &Context,
        cluster: &Found<RabbitmqCluster>,
    ) -> Result<ControlFlow<Outcome, Found<Value>>, Error> {
        let children = Children { cluster };
        let at = |suffix| children.child(suffix);
        let own = Kept { cx, cluster };
        own.keep(&self.services, &at("nodes"), &children.headless_service(), &["/spec/selector"]).await?;
        own.keep(&self.services, &at(""), &children.service(), &["/spec/selector"]).await?;
        let label = |secret: &mut Value| children.label(secret);
        own.keep_secret(&self.secrets, &at("erlang-cookie"), || children.erlang_cookie(), label).await?;
        if cluster.external_secret().is_none() {
            self.label_default_user(cx, &children).await?;
            let update = |secret: &mut Value| children.update_default_user(secret);
            own.keep_secret(&self.secrets, &at("default-user"), || children.default_user(), update).await?;
        }
        let (plugins, done) = own.keep_map(&self.config_maps, &at("plugins-conf"), children.plugins(), &[]).await?;
        if done == Operation::Updated {
            annotate(cx, &plugins, PLUGINS_UPDATED).await?;
        }
        let before = self.config_maps.get(&cx.key().sibling(&at("server-conf")));
        let conf = children.server_conf()?;
        let (mut conf, done) = own.keep_map(&self.config_maps, &at("server-conf"), conf, &["/data"]).await?;
        if done == Operation::Updated && before.is_some_and(|before| needs_restart(&before, &conf)) {
            conf = annotate(cx, &conf, SERVER_CONF_UPDATED).await?;
        }
        own.keep(&self.accounts, &at("server"), &children.service_account(), &[]).await?;
        own.keep(&self.roles, &at("peer-discovery"), &children.role(), &[]).await?;
        own.keep(&self.role_bindings, &at("server"), &children.role_binding(), &[]).await?;
        let Some(set) = self.keep_stateful_set(&own, &children).await? else { return Ok(Break(Outcome::Done)) };
        let set = self.restart_if_needed(cx, cluster, &conf, set).await?;
        Ok(set.map_or(Break(Outcome::RequeueAfter(Duration::from_secs(1))), Continue))
    }

    /// The cache has no Secret without the label, and its creation would fail.
    async fn label_default_user(&self, cx: &Context, children: &Children<'_>) -> Result<(), Error> {
        let key = cx.key().sibling(&children.child("default-user"));
        if self.secrets.get(&key).is_none()
            && let Some(secret) = cx.live().get(&self.secrets, key).await?
        {
            let labels = json!({ "metadata": { "labels": children.labels() } });
            cx.patch(&secret, &Patch::Merge(&labels)).await?;
        }
        Ok(())
    }

    /// Returns the StatefulSet, or none if it would lose nodes.
    async fn keep_stateful_set(&self, own: &Kept<'_>, children: &Children<'_>) -> Result<Option<Found<Value>>, Error> {
        let (cx, name) = (own.cx, children.child("server"));
        let known = self.stateful_sets.get(&cx.key().sibling(&name));
        let current = known.as_ref().and_then(|set| set["spec"]["replicas"].as_i64()).unwrap_or(0);
        let wanted = own.cluster.replicas();
        if current > i64::from(wanted) {
            let message = format!(
                "Cluster Scale down not supported; tried to scale cluster from {current} nodes to {wanted} nodes"
            );
            cx.warning_event(own.cluster, "UnsupportedOperation", &message);
            self.set(cx, own.cluster, RECONCILE_SUCCESS, "UnsupportedOperation", &message).await?;
            return Ok(None);
        }
        let exact = ["/spec/template/metadata/labels", "/spec/template/spec"];
        let body = children.stateful_set(known.is_none());
        let (set, done) = own.keep(&self.stateful_sets, &name, &body, &exact).await?;
        Ok(Some(if done == Operation::Created { annotate(cx, &set, CREATED).await? } else { set }))
    }

    /// Restarts the nodes if their configuration is newer than they are. Returns none in the second of that change: a
    /// restart would not be seen to follow it.
    async fn restart_if_needed(
        &self,
        cx: &Context,
        cluster: &Found<RabbitmqCluster>,
        conf: &Value,
        set: Found<Value>,
    ) -> Result<Option<Found<Value>>, Error> {
        let Some(updated) = conf["metadata"]["annotations"][SERVER_CONF_UPDATED].as_str() else { return Ok(Some(set)) };
        let restarted = &set["spec"]["template"]["metadata"]["annotations"][RESTARTED];
        if restarted.as_str().is_some_and(|restarted| restarted > updated) {
            return Ok(Some(set));
        }
        let now = now(cx);
        if now == updated {
            return Ok(None);
        }
        let annotations = json!({ "annotations": { RESTARTED: now } });
        let patch = json!({ "spec": { "template": { "metadata": annotations } } });
        let restarted = cx.patch(&set, &Patch::Merge(&patch)).await?;
        cx.event(cluster, "SuccessfulUpdate", &format!("restarted StatefulSet {}", set.meta().name()));
        Ok(Some(restarted))
    }

    /// Notes the Secret and the Service, and, once all nodes are ready, the success.
    async fn complete(&self, cx: &Context, cluster: &Found<RabbitmqCluster>, set: &Value) -> Reconciled {
        let (children, now) = (Children { cluster }, now(cx));
        let (namespace, secret) = (cluster.meta().namespace().unwrap_or_default(), children.child("default-user"));
        let keys = ["username", "password"].map(|key| (key.to_owned(), key.to_owned()));
        let user = DefaultUser {
            secret_reference: Some(SecretReference {
                name: secret.clone(),
                namespace: namespace.into(),
                keys: keys.into(),
            }),
            service_reference: Some(ServiceReference { name: children.child(""), namespace: namespace.into() }),
        };
        let binding = Reference { name: cluster.external_secret().map_or(secret, str::to_owned) };
        let refer = |cluster: &mut RabbitmqCluster| {
            let status = cluster.status.get_or_insert_default();
            (status.default_user, status.binding) = (Some(user.clone()), Some(binding.clone()));
        };
        let cluster = cx.change_status(cluster, refer).await?;
        if status::ready_replicas(set) != i64::from(cluster.replicas()) || status::is_being_updated(set) {
            return Ok(Outcome::RequeueAfter(Duration::from_secs(15)));
        }
        let generation = cluster.meta().generation();
        let succeed = |cluster: &mut RabbitmqCluster| {
            cluster.status.get_or_insert_default().observed_generation = Some(generation);
            status::set(cluster, RECONCILE_SUCCESS, "True", "Success", "Finish reconciling", &now);
        };
        cx.change_status(&cluster, succeed).await?;
        Ok(Outcome::Done)
    }
}

/// What keeps the children of one cluster, and records what it did.
struct Kept<'a> {
    cx: &'a Context,
    cluster: &'a Found<RabbitmqCluster>,
}

impl Kept<'_> {
    /// Creates an object, or gives it what the body names. At the places, and among its labels, it has nothing else.
    async fn keep(
        &self,
        informer: &InformerHandle<Value>,
        name: &str,
        body: &Value,
        exact: &[&str],
    ) -> Result<(Found<Value>, Operation), Error> {
        let key = self.cx.key().sibling(name);
        let known = informer.get(&key);
        if let Some(known) = known.as_ref().filter(|known| known.controller().is_none()) {
            self.cx.adopt(known, self.cluster).await?;
        }
        let ensure = self.cx.ensure(informer, key, body).owned_by(self.cluster);
        let labels = body["metadata"]["labels"].is_object().then_some("/metadata/labels");
        let kept = exact.iter().copied().chain(labels).fold(ensure, |ensure, place| ensure.exactly(place)).await;
        self.record(informer, name, known.as_ref(), kept.map_err(Error::from))
    }

    /// The same for a ConfigMap, which has labels and annotations from its creation alone.
    async fn keep_map(
        &self,
        informer: &InformerHandle<Value>,
        name: &str,
        mut body: Value,
        exact: &[&str],
    ) -> Result<(Found<Value>, Operation), Error> {
        if informer.get(&self.cx.key().sibling(name)).is_some() {
            body["metadata"].take();
        }
        self.keep(informer, name, &body, exact).await
    }

    /// Creates a Secret with random values, or changes the one that is there.
    async fn keep_secret(
        &self,
        informer: &InformerHandle<Value>,
        name: &str,
        create: impl Fn() -> Value,
        update: impl Fn(&mut Value),
    ) -> Result<(), Error> {
        let key = self.cx.key().sibling(name);
        let known = informer.get(&key);
        let kept = match &known {
            None => self.cx.create(informer, key, &create()).owned_by(self.cluster).await,
            Some(known) => self.cx.change(known, update).await,
        };
        self.record(informer, name, known.as_ref(), kept.map_err(Error::from))?;
        Ok(())
    }

    fn record(
        &self,
        informer: &InformerHandle<Value>,
        name: &str,
        before: Option<&Found<Value>>,
        after: Result<Found<Value>, Error>,
    ) -> Result<(Found<Value>, Operation), Error> {
        let kind = informer.kind().unwrap_or_default();
        let what = format!("resource {name} of Type *v1.{kind}");
        let after = after.inspect_err(|error| {
            self.cx.warning_event(self.cluster, "FailedUnchanged", &error.to_string());
        })?;
        let (operation, reason, verb) = match before {
            None => (Operation::Created, "SuccessfulCreate", "created"),
            Some(before) if before.meta().is_same_state(after.meta()) => return Ok((after, Operation::None)),
            Some(_) => (Operation::Updated, "SuccessfulUpdate", "updated"),
        };
        // Without the child, those of all children would be one series, with the first text.
        let meta = self.cluster.meta();
        let child = ObjectReference::new(&informer.api_version(), kind, meta.namespace(), name);
        let occurrence = Occurrence::normal(ObjectReference::of::<RabbitmqCluster>(meta), reason);
        self.cx.record(occurrence.related(&child).note(&format!("{verb} {what}")));
        Ok((after, operation))
    }
}

/// Notes the time in an annotation.
async fn annotate<T>(cx: &Context, object: &Found<T>, name: &str) -> Result<Found<T>, Error>
where
    T: serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let patch = json!({ "metadata": { "annotations": { name: now(cx) } } });
    Ok(cx.patch(object, &Patch::Merge(&patch)).await?)
}

fn now(cx: &Context) -> String {
    cx.clock().wall().truncated_to_seconds().to_string()
}
