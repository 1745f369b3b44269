//! The transport, the configuration of clusters, and the exchange of firmware, against servers on the loopback interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::duplicate_mod, reason = "two modules run the same tests, each over another transport")]

mod exchange;
mod http;
mod polled;
