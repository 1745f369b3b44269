//! One of two certificates is never made, because a crash comes between them and the first one stands for both.

use super::{Model, Step, ensure, holds, living, object, serving};
use listwatch::World;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use serde_json::{Value, json};

const DATABASES: &str = "example.com/v1/xtradbs";
const CERTIFICATES: &str = "example.com/v1/certificates";

pub(super) const MODEL: Model = Model {
    name: "missing certificate",
    source: "percona/percona-xtradb-cluster-operator 1043, for K8SPXC-896 and 897, of Sieve's: both secrets are created if \
             the first one is not found, so a crash after the first leaves the second out for ever",
    buggy,
    fixed,
    cluster,
    steps: &[
        Step { what: "the user creates a database", take: |cluster| cluster.create(database("one")).map(drop) },
        Step { what: "the user creates another one", take: |cluster| cluster.create(database("two")).map(drop) },
    ],
    always: holds,
    in_the_end: |cluster| {
        let certificates = living(cluster, CERTIFICATES).len();
        ensure(certificates == 4, || format!("two databases have {certificates} certificates"))
    },
};

pub(crate) fn buggy(world: World) -> Result<(), RunError> {
    let controller = Controller::new("xtradb", world);
    let databases = controller.informer_of::<Value>(DATABASES).with_kind("Xtradb");
    let certificates = controller.informer_of::<Value>(CERTIFICATES).with_kind("Certificate");
    controller.reconciles(&databases).owns(&certificates).run(async |cx, key| {
        let Some(database) = databases.get(&key) else { return Ok(Outcome::Done) };
        if certificates.get(&key.sibling(&format!("{}-ssl", key.name()))).is_some() {
            return Ok(Outcome::Done);
        }
        for name in ["ssl", "ssl-internal"] {
            let name = key.sibling(&format!("{}-{name}", key.name()));
            cx.create(&certificates, name, &json!({ "spec": { "years": 3 } })).owned_by(&database).await?;
        }
        Ok(Outcome::Done)
    })
}

pub(crate) fn fixed(world: World) -> Result<(), RunError> {
    let controller = Controller::new("xtradb", world);
    let databases = controller.informer_of::<Value>(DATABASES).with_kind("Xtradb");
    let certificates = controller.informer_of::<Value>(CERTIFICATES).with_kind("Certificate");
    controller.reconciles(&databases).owns(&certificates).run(async |cx, key| {
        let Some(database) = databases.get(&key) else { return Ok(Outcome::Done) };
        for name in ["ssl", "ssl-internal"] {
            let name = key.sibling(&format!("{}-{name}", key.name()));
            cx.ensure(&certificates, name, &json!({ "spec": { "years": 3 } })).owned_by(&database).await?;
        }
        Ok(Outcome::Done)
    })
}

pub(crate) fn cluster() -> SimulatedCluster {
    serving(&[("Xtradb", "xtradbs"), ("Certificate", "certificates")])
}

fn database(name: &str) -> Value {
    object("Xtradb", name, &json!({}))
}
