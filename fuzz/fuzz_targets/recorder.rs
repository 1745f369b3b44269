//! Runs operations on a recorder of Events, whose server answers anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::recorder::run(data));
