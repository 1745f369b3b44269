//! Certificates in a Secret, which all replicas of a program read, and each of them may renew.

use super::issue::issue;
use super::rotation::{Step, Stored, step};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::time::Duration;
use listwatch::api::{Api, ApiError};
use listwatch::{Client, Clock, Resource};
use serde_json::{Value, json};

/// The Secret of a program's certificates.
pub(crate) struct Kept {
    secrets: Api<Value>,
    name: String,
    lifetime: Duration,
    /// The names that certificates are for.
    names: Vec<String>,
}

/// All that is stored, as JSON. The other fields of the Secret are for those who mount it.
const STORED: &str = "listwatch.json";

/// How often a write is tried again after another replica's.
const TRIES: usize = 5;

impl Kept {
    pub(crate) fn new(namespace: &str, name: &str, lifetime: Duration, names: Vec<String>) -> Result<Self, String> {
        let secrets = Resource::named("v1/secrets").map_err(|error| error.to_string())?.in_namespace(namespace);
        Ok(Self { secrets: Api::new(&secrets), name: name.to_owned(), lifetime, names })
    }

    /// The certificates as they are to be now. `is_known` tells whether these authorities have been in the configuration
    /// for long enough.
    pub(crate) async fn turn(
        &self,
        client: &Client,
        clock: &Clock,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Stored, String> {
        for _ in 0..TRIES {
            let secret = self.read(client).await.map_err(|error| error.to_string())?;
            let stored = secret.as_ref().and_then(stored_in);
            let known = stored.as_ref().is_some_and(|stored| is_known(&stored.authorities()));
            let next = match (step(stored.as_ref(), &self.names, clock.wall(), known), stored) {
                (Step::Keep, Some(stored)) => return Ok(stored),
                (Step::Promote, Some(stored)) => stored.promoted(),
                (Step::Prepare, Some(stored)) => {
                    let next = self.issue(clock, Some(&stored))?;
                    stored.prepared(next)
                }
                (_, stored) => Stored::begun(self.issue(clock, stored.as_ref())?, stored.as_ref()),
            };
            match self.write(client, secret, &next).await {
                Ok(()) => return Ok(next),
                Err(error) if error.is_conflict() || error.is_already_exists() => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!("the Secret {} has changed each time that it was to be written", self.name))
    }

    fn issue(&self, clock: &Clock, before: Option<&Stored>) -> Result<super::rotation::Pair, String> {
        let names = Stored::names(&self.names, before);
        issue(names, clock.wall(), self.lifetime).map_err(|error| format!("no certificate can be made: {error}"))
    }

    async fn read(&self, client: &Client) -> Result<Option<Value>, ApiError> {
        match client.call(self.secrets.get(&self.name)).await {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    async fn write(&self, client: &Client, secret: Option<Value>, stored: &Stored) -> Result<(), ApiError> {
        let text = |text: &str| json!(STANDARD.encode(text));
        let json = serde_json::to_string(stored)?;
        let data = json!({
            "tls.crt": text(&stored.current.chain),
            "tls.key": text(&stored.current.key),
            "ca.crt": text(&stored.authorities()),
            STORED: text(&json),
        });
        let is_there = secret.is_some();
        let mut secret = secret.unwrap_or_else(|| {
            let metadata = json!({ "name": self.name });
            json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata })
        });
        secret["data"] = data;
        let call = if is_there { self.secrets.replace(&self.name, &secret) } else { self.secrets.create(&secret) };
        client.call(call).await.map(drop)
    }
}

/// What a Secret has, if it can be read.
fn stored_in(secret: &Value) -> Option<Stored> {
    let json = STANDARD.decode(secret["data"][STORED].as_str()?).ok()?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch::testing::SimulatedCluster;
    use listwatch::{Executor, World, run};

    const LIFETIME: Duration = Duration::from_secs(1000);

    fn replica() -> Kept {
        Kept::new("prod", "hooks", LIFETIME, vec!["hooks.prod.svc".to_owned()]).unwrap()
    }

    fn cluster() -> (SimulatedCluster, World) {
        let cluster = SimulatedCluster::new();
        cluster.create(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "prod" } })).unwrap();
        let world = World::from(cluster.clone());
        (cluster, world)
    }

    /// The serial numbers are random, so keys differ.
    fn turn(world: &World, replica: &Kept, is_known: bool) -> Stored {
        let turn = replica.turn(world.client(), world.clock(), |_| is_known);
        run(world.clock(), &Executor::new(), turn).unwrap()
    }

    #[test]
    fn replicas_share_their_certificates_through_all_steps() {
        let (_cluster, world) = cluster();
        let pass = |seconds| run(world.clock(), &Executor::new(), world.clock().sleep(Duration::from_secs(seconds)));
        let [one, other] = [(); 2].map(|()| replica());
        let same = |is_known| {
            let stored = turn(&world, &one, is_known);
            assert!(stored == turn(&world, &other, false));
            stored
        };
        let first = same(true);
        pass(499);
        assert!(first == same(true));
        pass(1);
        let prepared = same(false);
        assert!(prepared.current == first.current && prepared.authorities() != first.authorities());
        let promoted = same(true);
        assert!(promoted.current != first.current);
        assert!(promoted.authorities().contains(&first.current.authority));
    }

    #[test]
    fn a_secret_that_is_gone_or_broken_is_made_anew() {
        let (cluster, world) = cluster();
        let first = turn(&world, &replica(), true);
        cluster.patch("v1/secrets", "prod/hooks", json!({ "data": { STORED: "eA==" } })).unwrap();
        let second = turn(&world, &replica(), true);
        cluster.delete("v1/secrets", "prod/hooks").unwrap();
        let third = turn(&world, &replica(), true);
        assert!(first.current != second.current && second.current != third.current);
        let secret = cluster.get("v1/secrets", "prod/hooks").unwrap();
        let text =
            |name: &str| String::from_utf8(STANDARD.decode(secret["data"][name].as_str().unwrap()).unwrap()).unwrap();
        assert_eq!((&secret["type"], text("tls.crt")), (&json!("kubernetes.io/tls"), third.current.chain.clone()));
        assert_eq!(text("ca.crt"), third.authorities());
    }
}
