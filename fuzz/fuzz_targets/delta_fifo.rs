//! Runs operations on the delta FIFO, in both memories, against its model.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::delta_fifo::run(data));
