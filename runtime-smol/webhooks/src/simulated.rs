//! The same functions in a simulated cluster.

use super::conversion::convert;
use super::webhooks::{Hook, Role, Webhooks};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use listwatch::testing::{AdmissionRequest, Denial, SimulatedCluster};
use serde_json::{Value, json};
use std::sync::Arc;

impl Webhooks {
    /// Lets the functions review the writes of clients to a simulated cluster, and convert its custom resources: as on a
    /// server, by reviews in JSON and JSON patches. A function that fails refuses the write with the status 500.
    ///
    /// A function reviews writes of the version that its type has. It must not use the cluster.
    ///
    /// ```
    /// use listwatch::Resource;
    /// use listwatch::api::Api;
    /// use listwatch::testing::SimulatedCluster;
    /// use listwatch_webhooks::Webhooks;
    /// use serde_json::{Value, json};
    /// use std::collections::BTreeMap;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct ConfigMap {
    ///     #[serde(default)]
    ///     data: BTreeMap<String, String>,
    /// }
    ///
    /// listwatch::kind!(ConfigMap, "v1", "configmaps");
    ///
    /// let cluster = SimulatedCluster::new();
    /// Webhooks::new("sample")
    ///     .validates::<ConfigMap>(|request| match request.object.data.get("size") {
    ///         Some(_) => Ok(()),
    ///         None => Err("a size is needed".into()),
    ///     })
    ///     .admit_in(&cluster);
    /// let maps = Api::<Value>::new(&Resource::of::<ConfigMap>().in_namespace("web"));
    /// let refused = maps.create(&json!({ "metadata": { "name": "a" }, "data": {} })).send(&cluster).unwrap_err();
    /// assert!(refused.to_string().contains("a size is needed"), "{refused}");
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
    pub fn admit_in(self, cluster: &SimulatedCluster) {
        let webhooks = Arc::new(self);
        for (place, hook) in webhooks.hooks.iter().enumerate() {
            let (name, of_hook) = (hook.name(), Arc::clone(&webhooks));
            let resources = [&*format!("{}/{}", hook.resource.api_version, hook.resource.plural)];
            let review = move |write: &AdmissionRequest<'_>| of_hook.admit(&of_hook.hooks[place], write);
            match hook.role {
                Role::Mutates => cluster.admit_mutating(&name, &resources, review),
                Role::Validates => cluster.admit_validating(&name, &resources, move |write| review(write).map(drop)),
            }
        }
        cluster.convert_versions(move |object, version| {
            let known = &webhooks.conversions;
            let converts = known.iter().any(|it| object["kind"] == it.kind && object["apiVersion"] == it.from);
            converts.then(|| convert(object.clone(), version, known))
        });
    }

    /// The patch of a function; null if there is none.
    fn admit(&self, hook: &Hook, write: &AdmissionRequest<'_>) -> Result<Value, Denial> {
        if !hook.operations.contains(&write.operation) {
            return Ok(Value::Null);
        }
        let answer = self.answer(&hook.path, review_of(write).to_string().as_bytes());
        let failed = |why: &str| Denial::new(500, format!("the webhook failed: {why}"));
        if answer.status != 200 {
            return Err(failed(&String::from_utf8_lossy(&answer.body)));
        }
        let review: Value = serde_json::from_slice(&answer.body).map_err(|error| failed(&error.to_string()))?;
        let (response, status) = (&review["response"], &review["response"]["status"]);
        if response["allowed"] != true {
            let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(400);
            return Err(Denial::new(code, status["message"].as_str().unwrap_or_default()));
        }
        let patch = response["patch"].as_str().and_then(|patch| STANDARD.decode(patch).ok());
        Ok(patch.and_then(|patch| serde_json::from_slice(&patch).ok()).unwrap_or_default())
    }
}

/// The review of a write, as a server sends it.
fn review_of(write: &AdmissionRequest<'_>) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "simulated",
            "operation": write.operation,
            "name": write.name,
            "namespace": write.namespace,
            "object": write.object,
            "oldObject": write.old_object,
            "userInfo": { "username": write.user },
            "dryRun": write.is_dry_run,
        },
    })
}
