//! Keeps certificates and the configuration as they are to be, while webhooks are served.

use super::address::Address;
use super::certificates::{Source, read_folder};
use super::configuration::CONFIGURATIONS;
use super::keyring::{Identity, Keyring};
use super::report::Reports;
use super::webhooks::{Registration, Webhooks};
use core::time::Duration;
use listwatch::api::{Api, ApiError, Patch};
use listwatch::time::Instant;
use listwatch::{Resource, World};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

#[cfg(feature = "managed")]
use super::certificates::managed::Kept;
#[cfg(feature = "managed")]
use super::certificates::rotation::grace;

pub(crate) struct Keeper {
    pub(crate) world: World,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) address: Address,
    pub(crate) source: Source,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) reports: Arc<Reports>,
    /// Set once a certificate is served, and the configuration is written.
    pub(crate) ready: Arc<OnceLock<()>>,
}

/// What the cluster knows.
#[derive(Default)]
struct Known {
    authorities: Option<String>,
    /// Since when it knows these authorities.
    since: Option<Instant>,
    /// When it was written last.
    written: Option<Instant>,
}

/// How often the configuration is written, even if nothing has changed here.
const REPEATED: Duration = Duration::from_secs(600);

impl Keeper {
    /// Runs for ever. What fails is tried again.
    pub(crate) async fn run(self) {
        let mut known = Known::default();
        loop {
            match self.turn(&mut known).await {
                Ok(()) => _ = self.ready.set(()),
                Err(why) => self.reports.tell("certificates", &why),
            }
            smol::Timer::after(self.source.period()).await;
        }
    }

    async fn turn(&self, known: &mut Known) -> Result<(), String> {
        let (identity, authorities) = self.certificates(known).await?;
        self.keyring.install(&identity)?;
        if self.webhooks.registration == Registration::Own && self.is_due(known, authorities.as_deref()) {
            self.register(authorities.as_deref()).await.map_err(|error| error.to_string())?;
            known.written = Some(self.world.clock().now());
        }
        if known.authorities != authorities || known.since.is_none() {
            *known = Known { authorities, since: Some(self.world.clock().now()), written: known.written };
        }
        Ok(())
    }

    /// The certificate to serve, and the authorities to tell.
    async fn certificates(&self, known: &Known) -> Result<(Identity, Option<String>), String> {
        match &self.source {
            Source::Folder(folder) => read_folder(folder).await,
            #[cfg(feature = "managed")]
            Source::Managed { namespace, secret, lifetime } => {
                let kept = Kept::new(namespace, secret, *lifetime, self.address.names())?;
                let is_known = |authorities: &str| {
                    let is_same = known.authorities.as_deref() == Some(authorities);
                    let now = self.world.clock().now();
                    is_same && known.since.is_some_and(|since| now.saturating_since(since) >= grace(*lifetime))
                };
                let stored = kept.turn(self.world.client(), self.world.clock(), is_known).await?;
                let authorities = stored.authorities();
                Ok((Identity { chain: stored.current.chain.into(), key: stored.current.key.into() }, Some(authorities)))
            }
        }
    }

    fn is_due(&self, known: &Known, authorities: Option<&str>) -> bool {
        let now = self.world.clock().now();
        known.authorities.as_deref() != authorities
            || known.written.is_none_or(|written| now.saturating_since(written) >= REPEATED)
    }

    /// Writes the configuration. What others add to it stays.
    async fn register(&self, authorities: Option<&str>) -> Result<(), ApiError> {
        let (webhooks, client) = (&self.webhooks, self.world.client());
        let manager = format!("{}-webhooks", webhooks.name);
        for (role, kind, resource) in CONFIGURATIONS {
            let api = api(resource)?;
            let has_functions = webhooks.hooks.iter().any(|hook| hook.role == role);
            // Those of an earlier version of the program are taken back.
            if has_functions || client.call(api.get(&webhooks.name)).await.is_ok() {
                let object = &webhooks.configuration(role, kind, &self.address, authorities);
                let apply = Patch::Apply { manager: &manager, force: true, object };
                client.call(api.patch(&webhooks.name, &apply)).await?;
            }
        }
        let definitions = api("apiextensions.k8s.io/v1/customresourcedefinitions")?;
        for mut definition in webhooks.definitions(&self.address, authorities) {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            // A server takes one of both.
            let client_config = &mut definition["spec"]["conversion"]["webhook"]["clientConfig"];
            let other = if client_config["url"].is_null() { "url" } else { "service" };
            client_config[other] = Value::Null;
            let patch = json!({ "spec": definition["spec"] });
            client.call(definitions.patch(&name, &Patch::Merge(&patch))).await?;
        }
        Ok(())
    }
}

fn api(resource: &str) -> Result<Api<Value>, ApiError> {
    let resource = Resource::named(resource).map_err(|error| ApiError::Unwritable(error.to_string()))?;
    Ok(Api::new(&resource))
}
