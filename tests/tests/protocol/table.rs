//! The documented table of reactions is the one that the reflector decides by.

use crate::protocol::document::check;
use listwatch_core::reflector::RETRY_POLICY;
use std::fmt::Write;

#[test]
fn the_documented_table_of_reactions_is_the_one_that_decides() {
    let mut table = "| operation | failure | reaction | delay |\n|---|---|---|---|\n".to_owned();
    RETRY_POLICY.iter().for_each(|row| writeln!(table, "{row}").unwrap());
    check("core/src/reflector/retry_policy.md", "reactions", &table);
}
