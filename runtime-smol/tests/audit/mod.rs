//! Drift audits of informers and controllers, on a simulated cluster behind a proxy that loses events.

mod controllers;
mod failures;
mod lies;
mod on_demand;
mod recorded;
mod schedules;
pub(crate) mod stage;
