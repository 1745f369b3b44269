//! How much a sick server is asked, and how soon and in what company clients are back when it is well again, beside
//! client-go: ours in simulated worlds, with the defaults; client-go as `tests/peers/client-go/recovery` measured it.

mod client_go;
mod door;
mod herd;
mod sick;

pub use client_go::{Herd, Patient, client_go_herds, client_go_patients};
pub use herd::{Return, lose_server};
pub use sick::{Hour, sick_hour};
