//! The cluster that a test fills, disturbs and asks.

use crate::admission::{AdmissionRequest, Denial, Review};
use crate::cache::Lag;
use crate::client::ClusterClient;
use crate::fault::Fault;
use crate::kinds::ServedKind;
use crate::line::Line;
use crate::network::{Asking, Commit, Network, Passage, Sent};
use crate::permissions::User;
use crate::place::Place;
use crate::refusal::Refusal;
use crate::requests::ClientRequest;
use crate::server::Call;
use crate::server::Server;
use crate::shared::Answer;
use crate::shared::Shared;
use crate::transport::ClusterTransport;
use core::task::{Context, Waker};
use core::time::Duration;
use listwatch_core::api::{ApiClient, ApiError, ApiRequest, ApiResponse};
use listwatch_core::decode::Status;
use listwatch_core::object::Kind;
use listwatch_core::time::WallTime;
use listwatch_core::transport::TransportError;
use listwatch_core::{Instant, Resource};
use listwatch_transport_file::HistoryStep;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// A cluster in memory, which answers as a kube-apiserver does. A clone is the same cluster.
///
/// A test fills it with objects, runs a controller on it, and compares the requests and the objects after it. `World` of
/// `listwatch` is made of it by `World::from(cluster)`, under simulated time. An informer of core takes
/// [`transport`](Self::transport), and [`client`](Self::client) sends single requests.
///
/// A program that depends on `listwatch` names it `listwatch::testing::SimulatedCluster` (feature `testing`), and what
/// stands in `listwatch_core` here, in `listwatch`.
///
/// ```
/// use listwatch_simulated_cluster::SimulatedCluster;
/// use serde_json::json;
///
/// let cluster = SimulatedCluster::new();
/// cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } }))?;
/// cluster.patch("v1/configmaps", "default/a", json!({ "data": { "x": "2" } }))?;
/// assert_eq!(cluster.get("v1/configmaps", "default/a")?["data"]["x"], "2");
/// # Ok::<(), listwatch_core::api::ApiError>(())
/// ```
///
/// # As a kube-apiserver does
///
/// | part | behaviour |
/// |---|---|
/// | metadata | `resourceVersion`, `uid`, `creationTimestamp`, `generateName`; `generation` counts changes of what is neither metadata nor a status of its own; invalid names, labels, annotations, finalizers and owners are refused |
/// | refusals | 400, 404, 405, 406, 409, 410, 415, 422 and 504 with a `Status`, whose reason, message and details are a server's |
/// | status, scale | change by requests of their own, where the kind has them; a client's new object gets its first status |
/// | replacements | of absent objects, and without a version, where the kind takes them |
/// | ConfigMaps, Secrets | `stringData`, `immutable`, types, keys and sizes |
/// | bindings, network policies | the groups of roles and users, and the types of rules, by default |
/// | Events | the same in `v1` and `events.k8s.io/v1` |
/// | patches | merge, JSON, strategic (not for custom resources) and apply, with field managers and their conflicts |
/// | deletion | finalizers, preconditions, collections of objects; background, foreground and orphan, by default as the kind has it; volumes and their claims are protected while they are in use |
/// | garbage collector | dependents go with the last of their owners; references to absent owners are removed |
/// | namespaces | one that is deleted goes with its contents, and takes no new ones |
/// | lists | label and field selectors, `limit` and `continue`, of an exact version, metadata only |
/// | watches | from a version, with initial events (watch-list), bookmarks each minute, `timeoutSeconds`, 410 |
/// | API servers | any number, whose watch caches may be behind ([`at_servers`](Self::at_servers)) |
/// | dry runs | change nothing |
/// | definitions | a CustomResourceDefinition adds its versions, and becomes `Established` unless another one has its names; it goes with its objects |
/// | schemas | custom resources are pruned, get defaults, and are checked with a server's messages and causes: types, formats, lists and maps, alternatives, embedded objects; what was wrong before an update may stay |
/// | rules in CEL | with the feature `cel` (`testing-cel` of `listwatch`), those of `x-kubernetes-validations`; one that costs too much ends with an error |
/// | versions of custom resources | they show the same objects, with the same fields unless a function of the test [converts](Self::convert_versions) them |
/// | webhooks | functions of the test change and refuse the writes of clients ([`admit_mutating`](Self::admit_mutating)) |
///
/// # What is left out
///
/// | left out | instead |
/// |---|---|
/// | schemas and defaults of Kubernetes' own kinds, and its own admission | the fields of a spec are stored as they are given. Empty fields of the metadata are dropped; elsewhere `{}` stays, which a server drops from a map and keeps as an object |
/// | the types of rules in CEL, and what they may cost at most | a definition with such a rule is taken; the rule fails as it is evaluated |
/// | classes of Unicode in patterns (`\p{L}`); the formats of ISBNs, cards and RGB colours | a definition with such a pattern is refused; a text of such a format is taken |
/// | warnings, as of unknown fields | they are dropped; `fieldValidation=Strict` refuses them, in custom resources |
/// | the failure of a conversion, in reads | the fields stay as they are; a write is refused |
/// | users, unless [`as_user`](Self::as_user) names one, and the roles that every cluster has | all is allowed; the test creates the roles |
/// | other controllers: no pods of a Deployment, no conditions | the test changes the objects as they do |
/// | namespaces that must exist | every namespace takes objects |
/// | the grace period of pods | a pod without finalizers is gone at once |
/// | versions of Kubernetes' own kinds (`autoscaling/v1` and `v2`), but for Events | each has objects of its own |
/// | alpha and beta versions | 404; [`with_kind`](Self::with_kind) adds one |
/// | `eviction`, `binding`, `token`, `log`, `exec` | 404 |
/// | YAML, protobuf, `managedFields` | an answer is JSON; field managers are kept, and not shown |
/// | the order of a strategic patch (`$setElementOrder`) | elements keep the order that they had |
/// | causes in a 400 | its message is the cluster's own |
///
/// # Kinds
///
/// The kinds of Kubernetes 1.37 are known. In other groups every kind exists as soon as an object has it or an informer
/// follows it; other reads of it find nothing. Its plural is guessed as kubectl does (`Policy`, `policies`), it has a
/// namespace, and its status is a subresource.
/// [`with_kind`](Self::with_kind) adds any other, and so does a CustomResourceDefinition, whose schema its objects obey.
///
/// # Time
///
/// The cluster has no clock: requests bring the time. By a world's clock, each way takes a millisecond, a change is on its
/// way to a watch for three, and the garbage collector follows after 50. So a controller sees a write of its own after the
/// answer. [`date`](Self::date) begins at [`ORIGIN`](Self::ORIGIN); uids and generated names are counted. So each run is
/// the same.
///
/// # Memory
///
/// The last 4,096 changes of each resource are kept for watches, as long as those of all resources take at most 1 GiB,
/// and the last 10,000 single requests. Kinds stay for good: those that are added, and those that an object had or an
/// informer followed. The field managers of an object go with it. An object of more than 3 MiB is refused, unless it
/// was recorded, and so is one of a client that has more than 1.5 MiB, as etcd takes no more, or whose managed fields have
/// paths of more than 64 MiB.
#[derive(Clone, Debug)]
#[doc(alias("fake", "fake clientset", "envtest", "FakeClient"))]
pub struct SimulatedCluster {
    pub(crate) line: Line,
}

impl SimulatedCluster {
    /// The date at which a cluster begins: `2000-01-01T00:00:00Z`, as a simulated clock does.
    pub const ORIGIN: WallTime = WallTime::from_unix_seconds(946_684_800);

    /// A cluster without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Self::ORIGIN)
    }

    /// A cluster without objects, whose date is `origin` at [`Instant::ZERO`].
    #[must_use]
    pub fn starting_at(origin: WallTime) -> Self {
        let shared = Shared::new(Server::new(origin));
        let line = Line { shared, base: Duration::ZERO, user: None, network: None, servers: Arc::default() };
        Self { line }
    }

    /// Adds a kind of custom resources, or replaces what is known of it. A kind with a regular plural and a namespace needs
    /// no such call.
    #[must_use]
    pub fn with_kind(self, api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        let kind = ServedKind::custom(api_version, kind, plural, namespaced);
        self.shared().with(|inside| inside.server.kinds().add(kind));
        self
    }

    /// Adds the kind of a type, such as one without a namespace (`kind!(cluster Policy, "example.com/v1", "policies")`).
    #[must_use]
    pub fn with_kind_of<T: Kind>(self) -> Self {
        self.with_kind(T::API_VERSION, T::KIND, T::PLURAL, T::NAMESPACED)
    }

    /// Lets lists and watches select objects by the hash of their uid or namespace, as a server with the feature gate
    /// `ShardedListAndWatch` does. Without it, the parameter `shardSelector` is ignored.
    #[must_use]
    pub fn with_shard_selectors(self) -> Self {
        self.shared().with(|inside| inside.server.selects_shards = true);
        self
    }

    /// Creates an object as it is given, with its status, and with its uid if it has one. A namespaced object without a
    /// namespace goes to `default`.
    ///
    /// # Errors
    /// If the object has no `apiVersion`, `kind` or name, if its kind is unknown, or if it exists already.
    pub fn create(&self, object: Value) -> Result<Value, ApiError> {
        let place = self.place(|server| server.place_of(&object))?;
        self.act("POST", &Place { name: String::new(), ..place }, &object)
    }

    /// Replaces an object, with its status. If the object has a `resourceVersion`, it must be the current one.
    ///
    /// # Errors
    /// As [`create`](Self::create), and if the object does not exist or has changed.
    pub fn replace(&self, object: Value) -> Result<Value, ApiError> {
        let place = self.place(|server| server.place_of(&object))?;
        self.act("PUT", &place, &object)
    }

    /// Changes fields of an object, and of its status, by a merge patch (RFC 7386): null removes a field.
    ///
    /// `resource` is a name such as `apps/v1/deployments`, and `key` is one such as `web/a`, or `a` alone in the
    /// namespace `default` and for an object without a namespace.
    ///
    /// # Errors
    /// If there is no such resource or object.
    pub fn patch(&self, resource: &str, key: &str, patch: Value) -> Result<Value, ApiError> {
        let place = self.place(|server| server.place_at(resource, key))?;
        self.act("PATCH", &place, &patch)
    }

    /// Deletes an object, in the background whatever its kind. With finalizers, it is marked instead.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub fn delete(&self, resource: &str, key: &str) -> Result<(), ApiError> {
        let place = self.place(|server| server.place_at(resource, key))?;
        self.act("DELETE", &place, &Value::Null).map(drop)
    }

    /// Returns an object.
    ///
    /// # Errors
    /// As [`patch`](Self::patch). [`ApiError::is_not_found`] tells that the object does not exist.
    pub fn get(&self, resource: &str, key: &str) -> Result<Value, ApiError> {
        let place = self.place(|server| server.place_at(resource, key))?;
        self.act("GET", &place, &Value::Null)
    }

    /// Returns an object of a type that knows its kind.
    ///
    /// ```
    /// # use listwatch_simulated_cluster::SimulatedCluster;
    /// #[derive(serde::Deserialize)]
    /// struct ConfigMap {
    ///     data: std::collections::BTreeMap<String, String>,
    /// }
    ///
    /// listwatch_core::kind!(ConfigMap, "v1", "configmaps");
    ///
    /// # let cluster = SimulatedCluster::new();
    /// # cluster.create(serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" },
    /// #     "data": { "x": "1" } }))?;
    /// assert_eq!(cluster.object::<ConfigMap>("default/a")?.data["x"], "1");
    /// # Ok::<(), listwatch_core::api::ApiError>(())
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get), or [`ApiError::Unreadable`] if the object is not of the type.
    pub fn object<T: Kind + DeserializeOwned>(&self, key: &str) -> Result<T, ApiError> {
        let object = self.get(&format!("{}/{}", T::API_VERSION, T::PLURAL), key)?;
        serde_json::from_value(object).map_err(|error| ApiError::Unreadable(error.to_string()))
    }

    /// Returns the objects of a resource in all namespaces, in the order of namespaces and names.
    ///
    /// # Errors
    /// If there is no such resource: Kubernetes has none, and no object, informer or [`with_kind`](Self::with_kind) had it.
    pub fn list(&self, resource: &str) -> Result<Vec<Value>, ApiError> {
        let place = self.place(|server| server.place_at(resource, ""))?;
        let now = self.shared().now();
        Ok(self.shared().look(now, |server| server.list(&place.kind)))
    }

    /// The single requests of clients, oldest first: reads and writes, but not the lists and watches of informers. The
    /// newest 10,000 are kept.
    #[must_use]
    pub fn requests(&self) -> Vec<ClientRequest> {
        self.shared().with(|inside| inside.requests.list())
    }

    /// Forgets the requests so far, so that a test compares those of its next step.
    pub fn clear_requests(&self) {
        self.shared().with(|inside| inside.requests.clear());
    }

    /// Lets the next request fail that begins with these words and segments of a path.
    ///
    /// `PATCH` is any patch. `PATCH /apis/apps/v1/namespaces/web/deployments/a` is one of that object, or of its status.
    /// `LIST` and `WATCH`, with the path of the resource, are requests of informers, which begin with a `WATCH` (a
    /// watch-list) unless they are told otherwise. Several calls let several requests fail, in their order.
    ///
    /// # Errors
    /// If no request begins so: the method is none, the path is none of resources, or Kubernetes has no such resource.
    /// If the status of a refusal is not between 400 and 599.
    pub fn fail_next(&self, requests: &str, fault: Fault) -> Result<(), ApiError> {
        self.shared().with(|inside| match fault.why_impossible().or_else(|| inside.server.fault_of_words(requests)) {
            Some(why) => Err(error(400, &Refusal::bad_request(why).body().1)),
            None => {
                inside.faults.push(requests, fault);
                Ok(())
            }
        })
    }

    /// The requests of [`fail_next`](Self::fail_next) that have not failed yet.
    #[must_use]
    pub fn faults_left(&self) -> Vec<String> {
        self.shared().with(|inside| inside.faults.left().map(str::to_owned).collect())
    }

    /// Breaks the open lists and watches of informers, as a restart of the server does. With [`compact`](Self::compact),
    /// no watch goes on after it.
    pub fn disconnect(&self) {
        self.shared().with(|inside| inside.disconnections += 1);
    }

    /// Forgets the history, as etcd does by and by: a watch from an older version, and an older continue token, get a 410.
    pub fn compact(&self) {
        self.shared().with(|inside| inside.server.store_mut().compact());
    }

    /// The date of the cluster.
    #[must_use]
    pub fn date(&self) -> WallTime {
        let now = self.shared().now();
        self.shared().with(|inside| inside.server.wall(now))
    }

    /// The same cluster for clients by another clock, which begins with the time that has passed in the cluster. From now
    /// on, the cluster's own changes are made by that clock, too.
    #[must_use]
    pub fn on_clock(&self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let base = self.shared().now().saturating_since(now());
        self.shared().set_clock(Arc::new(move || now() + base));
        Self { line: Line { base, ..self.line.clone() } }
    }

    /// The same cluster for the clients of a user, whose requests are refused unless the Roles and bindings of the cluster
    /// allow them. The message of a 403 says what no rule allows.
    ///
    /// A service account is `system:serviceaccount:NAMESPACE:NAME`. The group `system:masters` may do all. The methods of a
    /// test, such as [`create`](Self::create), are nobody's.
    ///
    /// ```
    /// use listwatch_core::Resource;
    /// use listwatch_core::api::Api;
    /// use listwatch_simulated_cluster::SimulatedCluster;
    /// use serde_json::Value;
    ///
    /// let cluster = SimulatedCluster::new().as_user("system:serviceaccount:web:robot", &[]);
    /// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
    /// let refused = pods.get("a").send(&cluster).unwrap_err().to_string();
    /// assert!(refused.contains("cannot get resource \"pods\" in API group \"\" in the namespace \"web\""), "{refused}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_user(&self, name: &str, groups: &[&str]) -> Self {
        Self { line: Line { user: Some(Arc::new(User::new(name, groups))), ..self.line.clone() } }
    }

    /// The same cluster, as one process has it that this network disturbs. `World::from` makes the world of the process.
    ///
    /// ```
    /// use listwatch_simulated_cluster::{Network, Sent, SimulatedCluster};
    /// use std::time::Duration;
    ///
    /// /// The watches of the Deployments are ten seconds behind those of other kinds.
    /// #[derive(Debug)]
    /// struct LateDeployments;
    ///
    /// impl Network for LateDeployments {
    ///     fn told_at(&self, _: listwatch_core::Instant, resource: &str, changed: listwatch_core::Instant) -> listwatch_core::Instant {
    ///         changed + Duration::from_millis(if resource == "apps/v1/deployments" { 10_000 } else { 3 })
    ///     }
    /// }
    ///
    /// let disturbed = SimulatedCluster::new().through(LateDeployments);
    /// ```
    #[must_use]
    pub fn through(&self, network: impl Network + 'static) -> Self {
        self.shared().with(|inside| inside.processes += 1);
        Self { line: Line { network: Some(Arc::new(network)), ..self.line.clone() } }
    }

    /// The same cluster, as one process has it whose requests this function lets pass, or not.
    ///
    /// ```
    /// use listwatch_simulated_cluster::{Passage, SimulatedCluster};
    ///
    /// // The process is cut off when it deletes something.
    /// let cut_off = SimulatedCluster::new().on_request(|request| match request.method {
    ///     "DELETE" => Passage::Never,
    ///     _ => Passage::Open,
    /// });
    /// ```
    #[must_use]
    pub fn on_request(&self, passage: impl Fn(&Sent<'_>) -> Passage + Send + Sync + 'static) -> Self {
        self.through(Asking(passage))
    }

    /// Lets the watch caches of an API server be so far behind etcd from now on; `None` for no more. All servers are up to
    /// date otherwise. Number 0 is that of clients that are not [`at_servers`](Self::at_servers).
    pub fn lag_server(&self, server: usize, lag: impl Into<Option<Lag>>) {
        self.shared().lag(server, lag.into());
    }

    /// The same cluster for clients that reach the API servers of these numbers: at first the first one, and after each
    /// [`disconnect`](Self::disconnect) the next one.
    ///
    /// As on Kubernetes 1.31 and later, writes, reads of an object and lists without a version are up to date on each server,
    /// and watches and reads with a version are those of its watch cache. Version 0 is any state of it. For another version, a
    /// read waits three seconds, and gets a 504 then (`ResourceVersionTooLarge`); a watch from a version is held until the
    /// cache has it. The initial events of a watch-list without a version wait so for the newest one. A list without a version
    /// waits, too, but is answered by etcd after three seconds.
    ///
    /// What is answered at once, by [`ApiClient`] and [`handle`](Self::handle), does not wait.
    ///
    /// ```
    /// use listwatch_core::Resource;
    /// use listwatch_core::api::{Api, ApiClient, ApiRequest};
    /// use listwatch_simulated_cluster::{Lag, SimulatedCluster};
    /// use serde_json::{Value, json};
    ///
    /// let cluster = SimulatedCluster::new();
    /// cluster.lag_server(1, Lag::Changes(1));
    /// cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }))?;
    /// let behind = cluster.at_servers(&[1]);
    /// let maps = Api::<Value>::new(&Resource::named("v1/configmaps")?);
    /// assert_eq!(maps.list().send(&behind)?.items.len(), 1, "a list without a version is up to date");
    /// let any = maps.list().map_request(|mut request| {
    ///     request.query.push(("resourceVersion", "0".to_owned()));
    ///     request
    /// });
    /// assert_eq!(any.send(&behind)?.items.len(), 0, "the watch cache lacks the last change");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn at_servers(&self, servers: &[usize]) -> Self {
        Self { line: Line { servers: servers.into(), ..self.line.clone() } }
    }

    /// Lets a function change the writes of clients to these resources, or refuse them. It returns a merge patch (RFC
    /// 7386), or a list that is a JSON patch (RFC 6902).
    ///
    /// All functions that change come before those of [`admit_validating`](Self::admit_validating). They are called under
    /// the lock of the cluster, so they must not use it. Requests for a scale, the methods of a test and the garbage
    /// collector do not call them.
    ///
    /// ```
    /// use listwatch_core::Resource;
    /// use listwatch_core::api::Api;
    /// use listwatch_simulated_cluster::SimulatedCluster;
    /// use serde_json::{Value, json};
    ///
    /// let cluster = SimulatedCluster::new();
    /// cluster.admit_mutating("teams.example.com", &["v1/pods"], |_| {
    ///     Ok(json!({ "metadata": { "labels": { "team": "web" } } }))
    /// });
    /// cluster.admit_validating("names.example.com", &["v1/pods"], |request| match request.name {
    ///     "bad" => Err("the name is bad".into()),
    ///     _ => Ok(()),
    /// });
    /// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
    /// let made = pods.create(&json!({ "metadata": { "name": "a" } })).send(&cluster)?;
    /// assert_eq!(made["metadata"]["labels"]["team"], "web");
    /// let refused = pods.create(&json!({ "metadata": { "name": "bad" } })).send(&cluster).unwrap_err().to_string();
    /// assert!(refused.contains("admission webhook \"names.example.com\" denied the request: the name is bad"), "{refused}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn admit_mutating(
        &self,
        name: &str,
        resources: &[&str],
        change: impl Fn(&AdmissionRequest<'_>) -> Result<Value, Denial> + Send + Sync + 'static,
    ) {
        self.shared().with(|inside| inside.server.admission().add(name, resources, Review::Mutating(Box::new(change))));
    }

    /// Lets a function refuse the writes of clients to these resources, once they are valid otherwise. See
    /// [`admit_mutating`](Self::admit_mutating).
    pub fn admit_validating(
        &self,
        name: &str,
        resources: &[&str],
        check: impl Fn(&AdmissionRequest<'_>) -> Result<(), Denial> + Send + Sync + 'static,
    ) {
        self.shared()
            .with(|inside| inside.server.admission().add(name, resources, Review::Validating(Box::new(check))));
    }

    /// Lets a function convert custom resources between the versions of their definition: an object, to a version such as
    /// `example.com/v2`. It returns `None` for a kind that it does not convert. As on a server, it may change labels and
    /// annotations, and no other metadata. It must not use the cluster.
    ///
    /// ```
    /// use listwatch_simulated_cluster::SimulatedCluster;
    ///
    /// let cluster = SimulatedCluster::new();
    /// cluster.convert_versions(|object, version| {
    ///     let mut object = Some(object.clone()).filter(|object| object["kind"] == "Foo")?;
    ///     let (from, to) = if version == "example.com/v2" { ("size", "replicas") } else { ("replicas", "size") };
    ///     object["apiVersion"] = version.into();
    ///     object["spec"][to] = object["spec"][from].take();
    ///     Some(Ok(object))
    /// });
    /// ```
    pub fn convert_versions(
        &self,
        convert: impl Fn(&Value, &str) -> Option<Result<Value, String>> + Send + Sync + 'static,
    ) {
        self.shared().with(|inside| inside.server.conversions().add(Box::new(convert)));
    }

    /// Calls `observer` after each change that is stored, whoever made it, beside the observers before it. It may use the
    /// cluster, which stays in memory with it.
    pub fn on_commit(&self, observer: impl Fn(&Commit) + Send + Sync + 'static) {
        self.shared().observe(Arc::new(observer));
    }

    /// How many processes were given a network of their own so far ([`through`](Self::through)).
    #[must_use]
    pub fn processes(&self) -> u64 {
        self.shared().with(|inside| inside.processes)
    }

    /// A transport for one informer.
    #[must_use]
    pub fn transport(&self) -> ClusterTransport {
        ClusterTransport::new(self.line.clone(), None)
    }

    /// A transport for the informer of a resource. If the resource knows its kind, the cluster does not guess whether the
    /// objects have a namespace; if a fixture has some of another scope, the error says so.
    #[must_use]
    pub fn transport_of(&self, resource: &Resource) -> ClusterTransport {
        ClusterTransport::new(self.line.clone(), resource.is_namespaced())
    }

    /// A transport for single requests, which [`requests`](Self::requests) lists.
    #[must_use]
    pub fn client(&self) -> ClusterClient {
        ClusterClient::new(self.line.clone())
    }

    /// The kinds that are served, by the names of their collections.
    #[must_use]
    pub fn kinds(&self) -> Vec<Arc<ServedKind>> {
        self.shared().kinds()
    }

    /// Answers a request that came over a wire.
    #[must_use]
    pub fn handle(&self, now: Instant, call: &Call<'_>) -> Answer {
        self.line.answer(now, call, Duration::ZERO)
    }

    /// Enters a step of a recording, in the version that was recorded. If the collection has a newer one, which another
    /// recorded client was told of earlier, the step and its object get the next version.
    ///
    /// At [`HistoryChange::Relisted`](listwatch_transport_file::HistoryChange::Relisted), a watch is told of the changes before
    /// it, and then gets a 410, so its client lists again.
    pub fn enter(&self, now: Instant, step: HistoryStep) {
        self.shared().record(now, &ServedKind::of_recorded(&step.resource), step.change);
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.line.shared
    }

    fn place(&self, find: impl FnOnce(&mut Server) -> Result<Place, Refusal>) -> Result<Place, ApiError> {
        self.shared().with(|inside| find(&mut inside.server)).map_err(|refusal| error(refusal.code, &refusal.body().1))
    }

    /// A request of the test.
    fn act(&self, method: &str, place: &Place, body: &Value) -> Result<Value, ApiError> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let now = self.shared().now();
        let answer = self.shared().answer(now, |server, now| server.act(now, method, place, &body));
        let status = answer.head.status;
        if !(200..300).contains(&status) {
            return Err(error(status, &answer.body));
        }
        serde_json::from_slice(&answer.body).map_err(|error| ApiError::Unreadable(error.to_string()))
    }
}

/// The cluster as a client of another program, such as kubectl: its requests are answered at once, and are not among
/// [`requests`](SimulatedCluster::requests). A watch is answered with what it tells at once.
///
/// ```
/// use listwatch_core::Resource;
/// use listwatch_core::api::{Api, DeleteOptions, PropagationPolicy};
/// use listwatch_simulated_cluster::SimulatedCluster;
/// use serde_json::{Value, json};
///
/// let cluster = SimulatedCluster::new();
/// let pods = Api::<Value>::new(&Resource::named("v1/pods")?.in_namespace("web"));
/// pods.create(&json!({ "metadata": { "name": "a" } })).send(&cluster)?;
/// pods.delete("a", &DeleteOptions::default().with_propagation(PropagationPolicy::Orphan)).send(&cluster)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl ApiClient for SimulatedCluster {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        request.may_leave()?;
        let (target, content_type) = (request.to_string(), request.content_type.unwrap_or_default());
        let (method, accept) = (request.method.name(), request.accept);
        let call = Call { method, target: &target, accept, content_type, body: &request.body };
        let now = self.shared().now();
        let mut answer = self.line.answer(now, &call, Duration::ZERO);
        if let Some(mut watch) = answer.watch {
            // A piece is told at a time.
            let mut told = usize::MAX;
            while told != answer.body.len() {
                told = answer.body.len();
                watch.poll(now, &Context::from_waker(Waker::noop()), &mut answer.body);
            }
        }
        Ok(ApiResponse::new(answer.head.status, answer.body).with_retry_after(answer.head.retry_after))
    }
}

impl Default for SimulatedCluster {
    fn default() -> Self {
        Self::new()
    }
}

fn error(code: u16, body: &[u8]) -> ApiError {
    ApiError::Status { status: Box::new(Status::read(code, body)), retry_after: None, request: None }
}
