//! The cluster that the tests share, one at a time: a control plane of their own, or the cluster of the kubeconfig that
//! `KUBECONFIG_FOR_TESTS` names. There, what they create has names of its own and is deleted at the end.

use listwatch_core::Resource;
use listwatch_core::api::{Api, ApiCall, ApiError, DeleteOptions, Patch};
use listwatch_core::object::Uid;
use listwatch_tests::control_plane::ControlPlane;
use listwatch_tests::told::State;
use listwatch_transport_http::{Cluster, ClusterOptions, HttpClient};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const BINDINGS: &str = "rbac.authorization.k8s.io/v1/clusterrolebindings";

type Turn = MutexGuard<'static, OnceCell<Option<ControlPlane>>>;

/// A cluster, and an administrator in it.
pub(crate) struct Plane {
    turn: Turn,
    kubeconfig: PathBuf,
    pub(crate) cluster: Cluster,
    pub(crate) client: HttpClient,
    /// What is to be deleted in the end, if the cluster is somebody's.
    created: Vec<(Resource, String)>,
    pub(crate) is_own: bool,
}

/// A cluster, if there can be one.
pub(crate) fn plane() -> Option<Plane> {
    match std::env::var_os("KUBECONFIG_FOR_TESTS").filter(|path| !path.is_empty()) {
        Some(kubeconfig) => Some(Plane::new(turn(), kubeconfig.into(), false)),
        None => own_plane(),
    }
}

/// A control plane that can be killed, if there can be one. It ends with the process.
pub(crate) fn own_plane() -> Option<Plane> {
    let turn = turn();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real_server");
    let kubeconfig = turn.get_or_init(|| ControlPlane::start(&folder)).as_ref()?.kubeconfig().to_owned();
    Some(Plane::new(turn, kubeconfig, true))
}

/// A cluster that a test has started itself, while no other one is used.
pub(crate) fn plane_at(kubeconfig: PathBuf) -> Plane {
    Plane::new(turn(), kubeconfig, true)
}

/// A test that failed leaves the cluster usable: what it created is in a namespace of its own.
fn turn() -> Turn {
    static OWN: Mutex<OnceCell<Option<ControlPlane>>> = Mutex::new(OnceCell::new());
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plane {
    fn new(turn: Turn, kubeconfig: PathBuf, is_own: bool) -> Self {
        let cluster = ClusterOptions::new().kubeconfig(&kubeconfig).unwrap();
        let client = cluster.client().unwrap();
        Self { turn, kubeconfig, cluster, client, created: Vec::new(), is_own }
    }

    /// The cluster, found in another way, or by somebody else.
    pub(crate) fn cluster_of(&self, options: &ClusterOptions) -> Cluster {
        options.kubeconfig(&self.kubeconfig).unwrap()
    }

    /// What can be done to a control plane of one's own.
    pub(crate) fn control(&mut self) -> &mut ControlPlane {
        self.turn.get_mut().and_then(Option::as_mut).unwrap()
    }

    /// The kubeconfig of the administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A name that nothing has, for something that no namespace has.
    pub(crate) fn name(&self, name: &str) -> String {
        format!("listwatch-{name}-{}", std::process::id())
    }

    /// A namespace for a test.
    pub(crate) fn namespace(&mut self, name: &str) -> String {
        let name = self.name(name);
        let namespaces = Resource::named("v1/namespaces").unwrap();
        self.create(&namespaces, &json!({ "metadata": { "name": name } }));
        self.created.push((namespaces, name.clone()));
        name
    }

    /// Creates what belongs to no namespace.
    pub(crate) fn create_global(&mut self, resource: &str, object: &Value) {
        let resource = Resource::named(resource).unwrap();
        self.create(&resource, object);
        self.created.push((resource, object["metadata"]["name"].as_str().unwrap().to_owned()));
    }

    /// Gives a role to a user or an account, by a binding of this name.
    pub(crate) fn bind(&mut self, name: &str, role: &str, subject: &Value) {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role });
        let metadata = json!({ "name": name });
        self.create_global(BINDINGS, &json!({ "metadata": metadata, "roleRef": role, "subjects": [subject] }));
    }

    pub(crate) fn create(&self, resource: &Resource, object: &Value) -> Value {
        self.send(&Api::new(resource).create(object)).unwrap()
    }

    pub(crate) fn change(&self, resource: &Resource, name: &str, change: &Value) {
        let _changed: Value = self.send(&Api::new(resource).patch(name, &Patch::Merge(change))).unwrap();
    }

    pub(crate) fn change_status(&self, resource: &Resource, name: &str, change: &Value) {
        let _changed: Value = self.send(&Api::new(resource).status().patch(name, &Patch::Merge(change))).unwrap();
    }

    /// An object, if there is one of this name.
    pub(crate) fn get(&self, resource: &Resource, name: &str) -> Option<Value> {
        match self.send(&Api::new(resource).get(name)) {
            Err(error) if error.is_not_found() => None,
            found => Some(found.unwrap()),
        }
    }

    pub(crate) fn delete(&self, resource: &Resource, name: &str) -> Result<(), ApiError> {
        self.send(&Api::<Value>::new(resource).delete(name, &DeleteOptions::default()))
    }

    /// Whether the server knows the collection.
    pub(crate) fn has(&self, resource: &Resource) -> bool {
        self.send(&Api::<Value>::new(resource).list()).is_ok()
    }

    fn send<T>(&self, call: &ApiCall<T>) -> Result<T, ApiError> {
        call.send(&self.client)
    }

    /// What the server has of a collection: for each key, uid and version.
    pub(crate) fn list(&self, resource: &Resource) -> State {
        state_of(&self.objects(resource).unwrap())
    }

    /// The objects of a collection. A server that has just started may refuse to tell.
    pub(crate) fn objects(&self, resource: &Resource) -> Result<Vec<Value>, ApiError> {
        self.send(&Api::new(resource).list()).map(|list| list.items)
    }

    /// ConfigMaps in a namespace, after so many of them were created.
    pub(crate) fn filled(&self, namespace: &str, count: usize) -> Resource {
        let maps = Resource::named("v1/configmaps").unwrap().in_namespace(namespace);
        let api = Api::<Value>::new(&maps);
        self.write(count, |number, client| _ = api.create(&config_map(number)).send(client).unwrap());
        maps
    }

    /// Calls `write` for each number below `count`, on several threads.
    pub(crate) fn write(&self, count: usize, write: impl Fn(usize, &HttpClient) + Sync) {
        const WRITERS: usize = 8;
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (write, client) = (&write, &self.client);
                scope.spawn(move || (writer..count).step_by(WRITERS).for_each(|number| write(number, client)));
            }
        });
    }
}

impl Drop for Plane {
    /// What was created for a test alone goes with it.
    fn drop(&mut self) {
        if !self.is_own {
            for (resource, name) in std::mem::take(&mut self.created) {
                if let Err(error) = self.delete(&resource, &name)
                    && !error.is_not_found()
                {
                    eprintln!("{} {name} stays: {error}", resource.path());
                }
            }
        }
    }
}

/// A user, as a binding names it.
pub(crate) fn user(name: &str) -> Value {
    json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name })
}

/// Uid and version of each object.
pub(crate) fn state_of(objects: &[Value]) -> State {
    let entry = |object: &Value| {
        let text = |name: &str| object["metadata"][name].as_str().map(str::to_owned);
        let namespace = text("namespace").map(|namespace| namespace + "/").unwrap_or_default();
        (namespace + &text("name").unwrap(), (text("uid").as_deref().map(Uid::from), text("resourceVersion").unwrap()))
    };
    objects.iter().map(entry).collect()
}

fn config_map(number: usize) -> Value {
    let labels = json!({ "parity": (number % 2).to_string() });
    json!({ "metadata": { "name": filled(number), "labels": labels }, "data": { "number": number.to_string() } })
}

/// The name of one of those that are there when a namespace was filled.
pub(crate) fn filled(number: usize) -> String {
    format!("filled-{number:05}")
}
