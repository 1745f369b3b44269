//! Runs operations on the work queue, in both memories, against its model.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::work_queue::run(data));
