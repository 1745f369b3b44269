//! Operators of others, ported to this library, on a simulated cluster.

mod postgres_kinds;
pub(crate) mod postgres_operator;
mod postgres_server;
pub(crate) mod postgres_sql;
mod provisioning;
