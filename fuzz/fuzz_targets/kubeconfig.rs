//! Reads arbitrary text as a kubeconfig: nothing panics, and no message shows a credential.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| listwatch_tests::ops::kubeconfig::run(data));
