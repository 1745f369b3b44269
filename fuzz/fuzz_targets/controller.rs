//! Runs operations on the reconciler, in both memories, against its model.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::controller::run(data));
