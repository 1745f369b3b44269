//! `listwatch serve` as a user runs it.

#[expect(dead_code, reason = "the tests beside other programs need the rest")]
mod child;
mod crowd;
mod hostile;
mod requests;
#[expect(dead_code, reason = "the tests beside other programs need the rest")]
pub(crate) mod serving;
