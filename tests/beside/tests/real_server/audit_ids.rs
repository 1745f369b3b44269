//! The reconcile behind each write, as the audit log of a real server names it.

use crate::real_server::audit::AuditLog;
use crate::real_server::plane::own_plane;
use listwatch::World;
use listwatch::controller::{Controller, ControllerHandle, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch_core::api::{Api, Patch};
use listwatch_core::{Key, Resource};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

const MAPS: usize = 50;

#[test]
fn the_audit_log_names_the_reconcile_behind_each_write() {
    let Some(mut plane) = own_plane() else { return };
    let mut log = AuditLog::begin(&mut plane);
    let namespace = plane.namespace("audit-ids");
    let maps = plane.filled(&namespace, MAPS);
    // The last id of each object's reconciles: the first one writes twice, and its change brings the second one.
    let (handle, ids) = (ControllerHandle::default(), Mutex::new(BTreeMap::<Key, Vec<String>>::new()));
    let controller = Controller::new("audited", World::from(plane.cluster.clone()));
    let ours = controller.informer_of::<MetadataOnly>(maps).with_kind("ConfigMap");
    let ended = controller.reconciles(&ours).keys(&handle).run(async |cx, key| {
        let Some(map) = ours.get(&key) else { return Ok(Outcome::Done) };
        let attempt = {
            let mut ids = ids.lock().unwrap();
            let of_key = ids.entry(key.clone()).or_default();
            of_key.push(cx.id().to_string());
            of_key.len()
        };
        if attempt == 1 {
            for field in ["first", "second"] {
                cx.patch(&map, &Patch::Merge(&json!({ "data": { field: cx.id().to_string() } }))).await?;
            }
            return Ok(Outcome::Done);
        }
        let ids = ids.lock().unwrap();
        if ids.len() == MAPS && ids.values().all(|ids| ids.len() > 1) {
            handle.stop();
        }
        Ok(Outcome::Done)
    });
    ended.unwrap();
    plane.control().audit(false);

    let of_reconciles =
        |write: &&crate::real_server::audit::Write| write.namespace == namespace && write.verb == "patch";
    let writes = log.read();
    let writes: Vec<_> = writes.iter().filter(of_reconciles).collect();
    assert_eq!(writes.len(), 2 * MAPS, "each patch is in the log by itself");
    assert_eq!(writes.iter().map(|write| &write.id).collect::<BTreeSet<_>>().len(), 2 * MAPS);
    let ids = ids.into_inner().unwrap();
    for write in &writes {
        let (id, _request) = write.id.rsplit_once('-').unwrap();
        let key = Key::from(format!("{namespace}/{}", write.name));
        assert_eq!(id, ids[&key][0], "{write:?}");
    }
    // What the server keeps has the same ids as what it logged.
    for object in Api::<Value>::new(&Resource::named("v1/configmaps").unwrap().in_namespace(&namespace))
        .list()
        .send(&plane.client)
        .unwrap()
        .items
    {
        let name = object["metadata"]["name"].as_str().unwrap();
        let key = Key::from(format!("{namespace}/{name}"));
        let Some(of_key) = ids.get(&key) else { continue };
        assert_eq!((&object["data"]["first"], &object["data"]["second"]), (&json!(of_key[0]), &json!(of_key[0])));
    }
}
