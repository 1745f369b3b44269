//! Runs operations on an audit, whose store loses events and whose server answers anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::audit::run(data));
