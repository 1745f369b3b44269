//! The table of reactions in ARCHITECTURE.md is the one that the reflector decides by.

use crate::document::check;
use listwatch_core::reflector::RETRY_POLICY;
use std::fmt::Write;

#[test]
fn the_table_of_reactions_in_the_document_is_the_one_that_decides() {
    let mut table = "| operation | failure | reaction | delay |\n|---|---|---|---|\n".to_owned();
    RETRY_POLICY.iter().for_each(|row| writeln!(table, "{row}").unwrap());
    check("ARCHITECTURE.md", "reactions", &table);
}
