//! Gives each Folder a directory, and removes the directory before the Folder goes.
//!
//! `std::fs` blocks the thread of its reconcile. One worker can do that; of several, each needs a thread
//! (`Reconciler::threads`), or `smol::unblock`.
//!
//! It installs its CRD first, and waits until the server serves it. It ends at SIGTERM or Ctrl-C:
//!
//! ```sh
//! cargo run -p listwatch-runtime-smol --example finalizer -- /tmp/folders
//! kubectl create -f - <<< '{"apiVersion":"example.com/v1","kind":"Folder","metadata":{"name":"a"}}'
//! ```

use listwatch_runtime_smol::api::{Api, Patch};
use listwatch_runtime_smol::controller::{Controller, Outcome};
use listwatch_runtime_smol::http::Cluster;
use listwatch_runtime_smol::informers::wait_for;
use listwatch_runtime_smol::object::{Conditions, ObjectHandle};
use listwatch_runtime_smol::{Executor, Found, Resource, World, kind, run};
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

const FINALIZER: &str = "example.com/directory";

#[derive(Deserialize)]
struct Folder {}

kind!(Folder, "example.com/v1", "folders");

/// What is kept of a CustomResourceDefinition.
#[derive(Deserialize)]
struct Crd {
    status: Option<CrdStatus>,
}

#[derive(Deserialize)]
struct CrdStatus {
    conditions: Option<Conditions>,
}

kind!(cluster Crd as "CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions");

impl Crd {
    fn is_established(&self) -> bool {
        let conditions = self.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|conditions| conditions.is_true("Established"))
    }
}

/// Applies the CRD, and waits until the server serves its objects.
async fn install(world: &World) -> Result<(), Box<dyn Error>> {
    let name = "folders.example.com";
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": name },
        "spec": {
            "group": "example.com",
            "names": { "kind": "Folder", "plural": "folders", "singular": "folder" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    });
    let crds = Resource::of::<Crd>();
    let apply = Patch::Apply { manager: "folders", force: true, object: &crd };
    world.client().call(Api::<Value>::new(&crds).patch(name, &apply)).await?;
    let is_established = |crd: Option<&ObjectHandle<Crd>>| crd.is_some_and(|crd| crd.is_established());
    wait_for::<Crd>(world, crds, name, is_established, Duration::from_secs(30)).await?;
    Ok(())
}

pub(crate) fn folders(world: impl Into<World>, root: &Path) -> Result<(), Box<dyn Error>> {
    let world = world.into();
    run(world.clock(), &Executor::new(), install(&world))?;

    let controller = Controller::new("folders", world);
    let folders = controller.informer::<Folder>();
    let directory_of = |folder: &Found<Folder>| root.join(folder.key().as_str()); // namespace/name
    controller.reconciles(&folders).run(async |cx, key| {
        let Some(folder) = folders.get(&key) else { return Ok(Outcome::Done) };
        let clean_up = async |folder: &Found<Folder>| match fs::remove_dir_all(directory_of(folder)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        };
        if let Some(folder) = cx.finalizer(&folder, FINALIZER, clean_up).await? {
            fs::create_dir_all(directory_of(&folder))?;
        }
        Ok(Outcome::Done)
    })?;
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args().nth(1).ok_or("name the folder of all directories, as the argument")?;
    folders(Cluster::infer()?, Path::new(&root))
}
