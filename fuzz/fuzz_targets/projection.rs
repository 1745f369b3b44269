//! Projects fields of objects, of lists and of watches: they are those that serde_json reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::projection::run(data));
