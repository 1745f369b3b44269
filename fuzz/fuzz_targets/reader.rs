//! Reads a text as one of several types: the value is serde_json's, or both refuse the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::reader::run(data));
