//! Changes random objects by types that know some of their fields: a patch loses nothing, and a clear edit is made.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    listwatch_tests::ops::change::run(data);
});
