//! Metrics of controllers and informers, as the text of OpenMetrics.
//!
//! [`Metrics::encode`] reads the state of what was [added](Metrics::add). Nothing is counted for a scrape
//! between scrapes. The names of controller-runtime 0.24 are kept where the meaning is the same:
//!
//! | family | of |
//! |---|---|
//! | `workqueue_*` | the queue of a controller; `priority` is always empty |
//! | `controller_runtime_*` | its reconciles |
//! | `leader_election_master_status` | its candidacy |
//! | `listwatch_parked_keys`, `listwatch_held_keys`, `listwatch_source_*` | its keys and sources |
//! | `listwatch_write_loops` | objects that it was found to write without an end; each is a [report](crate::controller::Report::WriteLoop) |
//! | `listwatch_event_age_seconds` | from the arrival of a change until a reconcile has dealt with it |
//! | `listwatch_stream_*` | each list-and-watch of informers |
//! | `rest_client_requests` | all requests of their worlds, lists and watches among them |
//! | any others | the program's own, by [`Metrics::add_families`] |
//!
//! The age of an event is told by this program's clock: a server's differs, and its dates have whole seconds. It ends with
//! the first success after the change, so failures, waits for a worker and back-offs are in it.
//!
//! All series of a controller or a stream end with it, counters too. A successor of the same name begins at zero, which
//! a query with `rate` takes for a restart. Of two that have one name, the second is labelled `name#2`.

mod controllers;
mod encoder;
mod scrape;
mod streams;

#[cfg(feature = "endpoint")]
pub(crate) use encoder::{bound, named};
pub use scrape::Metrics;

/// A dashboard for Grafana, to be imported.
pub const DASHBOARD: &str = include_str!("metrics/dashboard.json");
