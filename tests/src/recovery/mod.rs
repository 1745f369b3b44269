//! The requests to a sick server, and the return of clients after its recovery, beside client-go.
//!
//! Our clients run in simulated worlds, with the defaults. `tests/peers/client-go/recovery` measured client-go.

mod client_go;
mod door;
mod herd;
mod sick;

pub use client_go::{Herd, Patient, client_go_herds, client_go_patients};
pub use herd::{Return, lose_server};
pub use sick::{Hour, sick_hour};
