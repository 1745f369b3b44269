//! The marks of Rancher's `apply`, by which the original finds the Jobs of a plan, and what it last wanted of them.

use crate::go;
use crate::job::Job;
use crate::plan::Plan;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use listwatch::Found;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use std::io::{Read, Write};

const APPLIED: &str = "objectset.rio.cattle.io/applied";

/// Fields by which elements of lists are told apart. Their texts are not cut.
const KEYS: [&str; 10] =
    ["apiVersion", "containerPort", "devicePath", "ip", "kind", "mountPath", "name", "port", "topologyKey", "type"];

pub fn mark(job: &mut Value, plan: &Found<Plan>, name: &str, controller: &str) {
    let (owner, namespace) = (plan.meta().name(), plan.meta().namespace().unwrap_or_default());
    let gvk = "upgrade.cattle.io/v1, Kind=Plan";
    let annotations = &mut job["metadata"]["annotations"];
    annotations["objectset.rio.cattle.io/id"] = controller.into();
    annotations["objectset.rio.cattle.io/owner-gvk"] = gvk.into();
    annotations["objectset.rio.cattle.io/owner-name"] = owner.into();
    annotations["objectset.rio.cattle.io/owner-namespace"] = namespace.into();
    let hash = Sha1::digest([controller, gvk, owner, namespace].concat());
    job["metadata"]["labels"]["objectset.rio.cattle.io/hash"] = go::hex(&hash).into();
    let mut applied = pruned(job, false);
    applied["metadata"]["name"] = name.into();
    applied["metadata"]["namespace"] = namespace.into();
    job["metadata"]["annotations"][APPLIED] = packed(&go::json(&applied)).into();
}

/// Whether the template of the pods is another one than was applied last. Servers do not let it change.
pub fn is_other_template(found: &Job, wanted: &Value) -> bool {
    let last = wanted["metadata"]["annotations"][APPLIED].as_str();
    let known = found.annotation(APPLIED);
    known != last && known.and_then(template) != last.and_then(template)
}

fn template(applied: &str) -> Option<Value> {
    let bytes = STANDARD_NO_PAD.decode(applied).ok()?;
    let mut text = String::new();
    GzDecoder::new(&*bytes).read_to_string(&mut text).ok()?;
    let mut template = serde_json::from_str::<Value>(&text).ok()?["spec"]["template"].take();
    // Go writes a struct that is empty, too.
    for list in ["containers", "initContainers"] {
        for container in template["spec"][list].as_array_mut().into_iter().flatten() {
            if container["resources"] == json!({}) {
                container.as_object_mut()?.remove("resources");
            }
        }
    }
    Some(template)
}

fn packed(text: &str) -> String {
    let mut writer = GzEncoder::new(Vec::new(), Compression::default());
    let packed = writer.write_all(text.as_bytes()).and_then(|()| writer.finish());
    packed.map_or_else(|_| text.to_owned(), |bytes| STANDARD_NO_PAD.encode(bytes))
}

/// The value with its long texts cut.
fn pruned(value: &Value, is_element: bool) -> Value {
    match value {
        Value::Object(fields) => {
            let cut = |(name, value): (&String, &Value)| match value {
                Value::String(text) if !(is_element && KEYS.contains(&&**name)) => (name.clone(), head(text).into()),
                other => (name.clone(), pruned(other, false)),
            };
            Value::Object(fields.iter().map(cut).collect())
        }
        Value::Array(elements) => Value::Array(elements.iter().map(|it| pruned(it, it.is_object())).collect()),
        other => other.clone(),
    }
}

/// The first 64 bytes.
fn head(text: &str) -> &str {
    let end = (0..=text.len().min(64)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
