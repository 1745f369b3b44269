//! Restarts the pods of a Deployment when a ConfigMap that they mount has changed.
//!
//! The template of the pods gets an annotation with a hash of the ConfigMaps' data. So the Deployment rolls out when
//! the data changes, and not when only metadata does. It concerns the Deployments with this label:
//!
//! ```sh
//! kubectl label deployment web restart-on-configmap-change=true
//! cargo run -p listwatch --example restart-on-configmap-change
//! ```

use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::http::Cluster;
use listwatch::object::hashed_name;
use listwatch::{Found, World, kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const ANNOTATION: &str = "example.com/configmaps";

#[derive(Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default, rename = "binaryData")]
    binary: BTreeMap<String, String>,
}

/// What is kept of a Deployment. A change leaves the rest of it as it is.
#[derive(Clone, Serialize, Deserialize)]
struct Deployment {
    spec: DeploymentSpec,
}

#[derive(Clone, Serialize, Deserialize)]
struct DeploymentSpec {
    template: Template,
}

#[derive(Clone, Serialize, Deserialize)]
struct Template {
    #[serde(default)]
    metadata: TemplateMeta,
    spec: PodSpec,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct TemplateMeta {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct PodSpec {
    #[serde(default)]
    volumes: Vec<Volume>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    #[serde(skip_serializing_if = "Option::is_none")]
    config_map: Option<ConfigMapVolume>,
}

#[derive(Clone, Serialize, Deserialize)]
struct ConfigMapVolume {
    name: String,
}

kind!(ConfigMap, "v1", "configmaps");
kind!(Deployment, "apps/v1", "deployments");

impl Deployment {
    /// The names of the ConfigMaps that the pods mount.
    fn mounts(&self) -> impl Iterator<Item = &str> {
        self.spec.template.spec.volumes.iter().filter_map(|volume| Some(&*volume.config_map.as_ref()?.name))
    }

    /// The hash of the data by which the pods were restarted last.
    fn restarted_by(&self) -> Option<&String> {
        self.spec.template.metadata.annotations.get(ANNOTATION)
    }
}

/// The hash of the data of ConfigMaps.
fn hash_of(configs: &[Found<ConfigMap>]) -> serde_json::Result<String> {
    let data: Vec<_> = configs.iter().map(|config| (&config.data, &config.binary)).collect();
    hashed_name("data", &data)
}

pub(crate) fn restart(world: impl Into<World>) -> Result<(), RunError> {
    let controller = Controller::new("restart-on-configmap-change", world);
    let deployments =
        controller.informer_where::<Deployment>(|all| all.with_label_selector("restart-on-configmap-change=true"));
    let configs = controller.informer::<ConfigMap>();
    let by_config = deployments.add_index(|deployment, emit| {
        deployment.mounts().for_each(|name| emit(deployment.key().sibling(name).as_str()));
    });

    let mounting = deployments.clone();
    let controller = controller.reconciles(&deployments).maps(&configs, move |config, keys| {
        mounting
            .by_index(by_config, config.key().as_str())
            .iter()
            .for_each(|deployment| keys.add(deployment.key().clone()));
    });
    controller.run(async |cx, key| {
        let Some(deployment) = deployments.get(&key) else { return Ok(Outcome::Done) };
        // While one is missing, the pods stay as they are: new ones could not start.
        let cached = deployment.mounts().map(|name| configs.get(&key.sibling(name)));
        let Some(cached) = cached.collect::<Option<Vec<_>>>() else { return Ok(Outcome::Done) };
        let known = deployment.restarted_by();
        if known == Some(&hash_of(&cached)?) {
            return Ok(Outcome::Done);
        }
        // A restart cannot be taken back, and the cache may have old data.
        let mut live = Vec::new();
        for config in &cached {
            let Some(config) = cx.live().get(&configs, config.key()).await? else { return Ok(Outcome::Done) };
            live.push(config);
        }
        let hash = hash_of(&live)?;
        // After a conflict this is called again. If another replica has restarted the pods, it knew newer data.
        let annotate = |it: &mut Deployment| {
            if it.restarted_by() == known {
                it.spec.template.metadata.annotations.insert(ANNOTATION.into(), hash.clone());
            }
        };
        cx.change(&deployment, annotate).await?;
        Ok(Outcome::Done)
    })
}

fn main() -> Result<(), RunError> {
    restart(Cluster::infer()?)
}
