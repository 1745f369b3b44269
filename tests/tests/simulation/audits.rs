//! Thousands of worlds in which a store is audited while everything goes wrong.
//!
//! ```sh
//! cargo test -p listwatch-tests --test suite simulation::audits                 # 1,000 seeds
//! SIM_SEED=123 cargo test -p listwatch-tests --test suite simulation::audits    # one of them again
//! ```

use listwatch_tests::sim::{AuditedRun, Seeds};

/// How many seeds run unless it is said otherwise.
const SEEDS: u64 = 1_000;

#[test]
fn an_audit_reports_each_difference_that_is_there_and_none_that_is_not() {
    Seeds::of_env("SIM_SEEDS", SEEDS).check("audits", SEEDS, |seed| AuditedRun::new(seed).finish());
}
