//! Audit logs of API servers as captures.

mod event;
mod log;
mod records;
mod states;
mod stream;
mod summary;
#[cfg(test)]
mod tests;

pub use log::AuditLog;
pub use summary::AuditSummary;
