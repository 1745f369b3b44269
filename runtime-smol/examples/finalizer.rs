//! Gives each Folder a directory, says so by a condition in its status, and removes the directory before the Folder goes.
//!
//! `std::fs` blocks its thread, so it is called on one of a pool (`Context::blocking`).
//!
//! It installs its CRD first, and waits until the server serves it. It ends at SIGTERM or Ctrl-C:
//!
//! ```sh
//! cargo run -p listwatch --example finalizer -- /tmp/folders
//! kubectl create -f - <<< '{"apiVersion":"example.com/v1","kind":"Folder","metadata":{"name":"a"}}'
//! ```

use listwatch::api::{Api, Patch};
use listwatch::controller::{Controller, Outcome};
use listwatch::http::Cluster;
use listwatch::informers::wait_for;
use listwatch::object::{Conditions, ObjectHandle};
use listwatch::{Executor, Found, Resource, World, kind, run};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

const FINALIZER: &str = "example.com/directory";

#[derive(Clone, Deserialize, Serialize)]
struct Folder {
    #[serde(default)]
    status: FolderStatus,
}

#[derive(Clone, Default, Deserialize, Serialize)]
struct FolderStatus {
    #[serde(default)]
    conditions: Conditions,
}

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
    // The status has a path of its own. The server would drop the fields that the schema does not name.
    let (status, apart) =
        (json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }), json!({ "status": {} }));
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "status": status } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": apart });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": name },
        "spec": {
            "group": "example.com",
            "names": { "kind": "Folder", "plural": "folders", "singular": "folder" },
            "scope": "Namespaced",
            "versions": [version],
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
        // The cache may still have a Folder that is gone, and nobody would remove its directory.
        let Some(folder) = cx.live().get(&folders, &key).await? else { return Ok(Outcome::Done) };
        let directory = directory_of(&folder);
        let removed = directory.clone();
        let clean_up = async |_: &Found<Folder>| match cx.blocking(|| fs::remove_dir_all(removed)).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        };
        let Some(folder) = cx.finalizer(&folder, FINALIZER, clean_up).await? else { return Ok(Outcome::Done) };
        cx.blocking(|| fs::create_dir_all(directory)).await?;
        let ready = cx.condition(&folder, "Ready", true, "Made");
        cx.change_status(&folder, |folder| _ = folder.status.conditions.set(ready.clone())).await?;
        Ok(Outcome::Done)
    })?;
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args().nth(1).ok_or("name the folder of all directories, as the argument")?;
    folders(Cluster::infer()?, Path::new(&root))
}
