//! Divides a body into pieces: the frames do not depend on the division, and the limit holds.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::framer::run(data));
