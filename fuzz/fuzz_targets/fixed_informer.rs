//! Runs operations on an informer in fixed memory of several sizes, one of which is always full.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::informer::run_fixed(data));
