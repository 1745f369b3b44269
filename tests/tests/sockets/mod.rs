//! The simulated world over real sockets, with real TLS: every run comes out as it does in memory.
//!
//! ```sh
//! cargo test -p listwatch-tests --test suite sockets -- --nocapture
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite sockets -- --nocapture        # one seed again
//! SIM_FIRST=1000 SOCKET_SEEDS=1000 cargo test -p listwatch-tests --test suite sockets -- --nocapture
//! ```

mod answer;
mod certificates;
mod cluster;
mod connection;
mod near;
mod seeds;
mod server;
mod site;
mod wire;

use std::time::Duration;

/// How long anything is waited for. It only ends what would never end.
const LIMIT: Duration = Duration::from_secs(60);
