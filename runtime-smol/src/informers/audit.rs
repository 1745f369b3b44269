//! Drift audits: a store is compared with a fresh list of the server, without disturbing it.
//!
//! The machine is [`Audit`](listwatch_core::audit::Audit); its module says which differences count. This module sends its
//! requests and reads the clock. Lists are of metadata only, in pages, with a pause between them; one request is open at a
//! time. An audit reads the store as any reader does, and the stream does not wait for it. A stream whose store differs
//! reads its whole state again: after a second, and after up to a minute if that does not help.
//!
//! | question | answer |
//! |---|---|
//! | How is a store compared now? | [`InformerHandle::audit`](crate::InformerHandle::audit) |
//! | How is it compared by a schedule? | [`InformerHandle::audit_every`](crate::InformerHandle::audit_every); all of a controller's by [`Reconciler::audit_every`](crate::controller::Reconciler::audit_every) |
//! | What if the server's watch cache is wrong? | [`InformerHandle::audit_against`](crate::InformerHandle::audit_against) and [`Audits::against`] compare with another API server of the cluster, [`AuditConfig::exact`] with what a server before 1.34 reads from etcd |
//! | Where are the differences? | by key in the [`AuditReport`] of each stream; in [`StreamStatus::audit`](super::StreamStatus::audit), the metrics, and the endpoint's `/debug/listwatch` |
//! | What of a store that differs? | a controller [reports](crate::controller::Report::Audited) it; the stream reports a [failure](listwatch_core::reflector::Failure::Drifted), and lists |
//! | Which permission does it need? | `list`, which the informer has |
//!
//! The audits of a [recorded](crate::World::recorded_to) world are not on its tape. In a world that is a recording, there
//! is no newer list, so an audit is [refused](AuditFailure::Recording).
//!
//! ```
//! use listwatch::audit::{AuditReport, Verdict};
//! use listwatch::decode::MetadataOnly;
//! use listwatch::testing::SimulatedCluster;
//! use listwatch::{Executor, Informers, Resource, run};
//! use serde_json::json;
//!
//! let cluster = SimulatedCluster::new();
//! cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } }))?;
//! let informers = Informers::new(cluster); // in a program: `Cluster::infer()?`
//! let (clock, executor) = (informers.clock().clone(), Executor::new());
//! executor.spawn(informers.run()).detach();
//!
//! let maps = informers.informer_of::<MetadataOnly>(Resource::named("v1/configmaps")?);
//! run(&clock, &executor, async {
//!     maps.synced().await?;
//!     for audit in maps.audit().await {
//!         println!("{audit}"); // configmaps: no drift at version 2: 1 objects
//!         assert_eq!(audit.result.as_ref().map(AuditReport::verdict), Ok(Verdict::Clean));
//!     }
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audits;
mod report;

pub use audits::Audits;
pub(crate) use audits::Target;
pub(crate) use report::AuditCounts;
pub use report::{AuditFailure, StreamAudit};

#[doc(no_inline)]
pub use listwatch_core::audit::{
    AuditConfig, AuditError, AuditReport, AuditSchedule, Difference, DifferenceKind, Verdict,
};
