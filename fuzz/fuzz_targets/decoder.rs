//! Decodes a frame into several types: all see the same metadata, and the text of a `Raw` is its `Value`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::decoder::run(data));
