//! What the crate tells the subscriber of a program, by the crate `tracing` (feature `tracing`).
//!
//! | target | spans and events | level |
//! |---|---|---|
//! | [`CONTROLLER`] | the span `reconcile`: `controller`, `key`, `attempt`, `id` ([`Context::id`]) | `INFO` |
//! | | in it, each write that was answered: `method`, `path`, `status`, `fields` without their values | `DEBUG` |
//! | | its last event: `result` (`done`, `requeue`, `retry`, `terminal`, `dropped`), `duration_s` | `DEBUG` |
//! | | the same of a reconcile that failed or was overdue: `failed`, `overdue`; `retry_in_s` | `WARN` |
//! | | the same of a panic, or of a key that is not retried: `panicked`, `failed` | `ERROR` |
//! | | each other [`Report`], by its `report`, such as `started` | `INFO`, `WARN`, `ERROR` |
//! | [`REFLECTOR`] | each change of an informer's `state`: `resource`, `label_selector`, `field_selector`, `version` | `DEBUG`, `INFO` |
//! | | each failed request: `class`, `status`, `attempts`, `retry_in_s`, `help` | `WARN` |
//! | | each drift audit, by its `audit` (`clean`, `behind`, `failed`): `objects`, `missing`, `extra`, `stale` | `DEBUG`, `WARN` |
//! | | the same of a store that `drifted` | `ERROR` |
//! | [`ELECTION`] | who leads, and each term of this candidate: `lease` | `INFO`, `WARN` |
//! | | the loss of its term | `ERROR` |
//!
//! The span is entered whenever the reconcile is polled, so spans and events of the reconcile's own code are inside of
//! it. A task that the reconcile spawns is not, unless it is instrumented. Times are seconds. Text from a server, and the
//! text of errors and panics, is recorded as [`Printable`]: it has no control characters, whatever the subscriber writes
//! to.
//!
//! While the thread has a subscriber, reports do not go to standard error, whatever the subscriber filters. They still go
//! to the functions of [`on_report`] and [`World::on_report_line`]. Workers have threads of their own, so a subscriber
//! for all of them is a global one (`set_global_default`).
//!
//! Without a subscriber, a reconcile formats and allocates nothing for this. If a subscriber panics, what it was told is
//! lost, and a report goes to standard error; the reconcile goes on. A subscriber that blocks holds up the thread that
//! calls it, as a reconcile does that blocks.
//!
//! A program that has the crate `log` alone turns on the feature `log` of `tracing`:
//! `tracing = { version = "0.1", default-features = false, features = ["log", "std"] }`. Then spans and events are log
//! records, under the same targets. Reports go to standard error too, unless [`on_report`] has a function.
//!
//! [`Context::id`]: crate::controller::Context::id
//! [`Printable`]: crate::text::Printable
//! [`Report`]: crate::controller::Report
//! [`World::on_report_line`]: crate::World::on_report_line
//! [`on_report`]: crate::controller::Reconciler::on_report

#[cfg(feature = "tracing")]
mod emit;
#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod span;
#[cfg(feature = "tracing")]
mod stream;
#[cfg(feature = "tracing")]
mod write;

#[cfg(feature = "tracing")]
pub(crate) use emit::{event_at, told};
#[cfg(not(feature = "tracing"))]
pub(crate) use off::{ReconcileSpan, StreamTrace, answered};
#[cfg(feature = "tracing")]
pub(crate) use span::ReconcileSpan;
#[cfg(feature = "tracing")]
pub(crate) use stream::{StreamTrace, selector};
#[cfg(feature = "tracing")]
pub(crate) use write::answered;

/// The target of reconciles and of reports of controllers.
pub const CONTROLLER: &str = "listwatch::controller";

/// The target of elections.
pub const ELECTION: &str = "listwatch::election";

/// The target of lists and watches.
pub const REFLECTOR: &str = "listwatch::reflector";
