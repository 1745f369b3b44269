//! The cost of watches that are read by a thread each.

use super::load::cost::{self, WATCHES};

#[test]
fn a_watch_costs_a_thread_and_at_most_200_kb() {
    let (bytes, threads) = cost::plain();
    // An optimized build takes 87 to 115 KB, by the C library and the kernel; its frames are smaller.
    assert!(bytes <= 200_000, "{bytes}");
    assert_eq!(threads, WATCHES);
}

#[test]
fn a_watch_over_tls_costs_a_thread_and_at_most_270_kb() {
    let (bytes, threads) = cost::tls();
    assert!(bytes <= 270_000, "{bytes}");
    assert_eq!(threads, WATCHES);
}
