//! Runs operations on the indexer, in both memories, against its model.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::indexer::run(data));
