//! The port of postgres-operator.

#[path = "../../tests/ports/postgres_kinds.rs"]
pub(crate) mod postgres_kinds;
#[path = "../../tests/ports/postgres_operator.rs"]
pub(crate) mod postgres_operator;
#[path = "../../tests/ports/postgres_server.rs"]
pub(crate) mod postgres_server;
#[path = "../../tests/ports/postgres_sql.rs"]
pub(crate) mod postgres_sql;
