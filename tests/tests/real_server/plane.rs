//! The control plane that the tests share, one at a time.

use listwatch_tests::control_plane::ControlPlane;
use listwatch_transport_http::{Cluster, ClusterOptions};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) type Plane = MutexGuard<'static, ControlPlane>;

/// The control plane, if there can be one. It ends with the process.
pub(crate) fn plane() -> Option<Plane> {
    static PLANE: OnceLock<Option<Mutex<ControlPlane>>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real_server");
    let plane = PLANE.get_or_init(|| ControlPlane::start(&folder).map(Mutex::new)).as_ref()?;
    // A test that failed holding it leaves it usable: what it created is in a namespace of its own.
    Some(plane.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The cluster, as the user of a context sees it.
pub(crate) fn cluster(plane: &Plane, context: &str) -> Cluster {
    ClusterOptions::new().context(context).kubeconfig(plane.kubeconfig()).unwrap()
}

/// The cluster, as its administrator sees it.
pub(crate) fn admin(plane: &Plane) -> Cluster {
    cluster(plane, "kubernetes-admin@kubernetes")
}

/// A namespace of its own for a test.
pub(crate) fn namespace(plane: &mut Plane, name: &str) {
    plane.create("/api/v1/namespaces", &format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
}
