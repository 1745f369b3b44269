//! Runs operations on the log of changes, in both memories, against its model and its rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::event_log::run(data));
