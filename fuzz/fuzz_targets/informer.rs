//! Runs operations on an informer and its server: the notifications keep their order, and the cache is their sum.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::informer::run(data));
