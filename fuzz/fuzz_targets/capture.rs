//! Plays arbitrary bytes as a recording: every playback ends, and its reports come in order.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::capture::run(data));
