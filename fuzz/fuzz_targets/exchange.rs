//! Divides an answer of HTTP/1.1 into pieces: what is read does not depend on them, and is what httparse reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::exchange::run(data));
