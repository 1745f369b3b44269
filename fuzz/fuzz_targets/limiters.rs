//! Runs operations on a rate limiter that joins all kinds, against its model.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::limiters::run(data));
