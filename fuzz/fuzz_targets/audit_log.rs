//! Converts arbitrary bytes, and arbitrary writes, as an audit log: what it becomes is a history in order.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::audit_log::run(data));
