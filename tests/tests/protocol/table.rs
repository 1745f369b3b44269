//! The table of reactions in the documents is the one that the reflector decides by.

use crate::protocol::document::check;
use listwatch_core::reflector::RETRY_POLICY;
use std::fmt::Write;

#[test]
fn the_table_of_reactions_in_the_documents_is_the_one_that_decides() {
    let mut table = "| operation | failure | reaction | delay |\n|---|---|---|---|\n".to_owned();
    RETRY_POLICY.iter().for_each(|row| writeln!(table, "{row}").unwrap());
    for document in ["ARCHITECTURE.md", "core/src/reflector/retry_policy.md"] {
        check(document, "reactions", &table);
    }
}
