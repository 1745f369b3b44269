//! A port of rabbitmq/cluster-operator 2.10.0 (github.com/rabbitmq/cluster-operator) to listwatch.
//!
//! It keeps the Services, ConfigMaps, Secrets, the account with its role, and the StatefulSet of each RabbitmqCluster.
//! The kind, the names and the contents are the original's. Left out are commands in pods, TLS, Vault, overrides, and
//! the growth of volumes.

mod children;
mod conf;
mod kinds;
mod operator;
mod status;

use listwatch::http::Cluster;
use operator::{Settings, operate};
use std::env::var;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let namespace = var("OPERATOR_NAMESPACE").map_err(|_| "OPERATOR_NAMESPACE names no namespace")?;
    let secrets = var("DEFAULT_IMAGE_PULL_SECRETS").unwrap_or_default();
    let settings = Settings {
        namespace,
        default_image: var("DEFAULT_RABBITMQ_IMAGE").unwrap_or_else(|_| "rabbitmq:3.13.7-management".into()),
        controls_image: var("CONTROL_RABBITMQ_IMAGE").is_ok_and(|value| value == "true"),
        default_pull_secrets: secrets.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
    };
    Ok(operate(Cluster::infer()?, settings)?)
}
