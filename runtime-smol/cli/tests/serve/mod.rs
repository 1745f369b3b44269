//! `listwatch serve` as a user runs it.

#[expect(dead_code, reason = "the tests beside other programs need the rest")]
mod child;
mod crowd;
mod followers;
mod hostile;
mod requests;
mod serving;
