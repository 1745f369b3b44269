//! Runs operations on a candidate of a leader election, whose server answers anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::election::run(data));
