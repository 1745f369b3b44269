//! Packs and unpacks texts, and unpacks blocks of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::packed::run(data));
