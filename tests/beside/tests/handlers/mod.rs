//! What our subscribers are told, beside what client-go's own shared informer tells its handlers for the same bytes.
//!
//! ```sh
//! cargo test -p listwatch-beside --test suite handlers                                     # 10,000 fresh seeds
//! SIM_SEED=123 cargo test -p listwatch-beside --test suite handlers::simulated              # one of them again
//! HANDLER_SEEDS=1000000 cargo test -p listwatch-beside --test suite handlers::simulated -- --nocapture
//! ```
//!
//! An [`Exchange`](exchange::Exchange) is what a server answered to one informer. A [`Cast`](cast::Cast) of handlers joins
//! and leaves meanwhile. Ours run in this process; `tests/peers/client-go/handlers` runs client-go, under virtual time too.

mod cast;
mod client_go;
mod differences;
mod exchange;
mod ours;
mod recorded;
mod rules;
mod simulate;
mod simulated;
mod steps;
mod tape;
mod told;
