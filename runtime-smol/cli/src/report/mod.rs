//! Failures and counts, in words.

pub(crate) mod changed;
pub(crate) mod counts;
pub(crate) mod reason;
pub(crate) mod repeats;
pub(crate) mod summary;
pub(crate) mod undecodable;
