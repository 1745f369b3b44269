//! The cost of watches that are read by a thread each.

use super::load::cost::{self, WATCHES};

#[test]
fn a_watch_costs_a_thread_and_at_most_125_kb() {
    let (bytes, threads) = cost::plain();
    // 87 KB on one machine, and up to 115 KB on another, by its C library and kernel.
    assert!(bytes <= 125_000, "{bytes}");
    assert_eq!(threads, WATCHES);
}

#[test]
fn a_watch_over_tls_costs_a_thread_and_at_most_200_kb() {
    let (bytes, threads) = cost::tls();
    assert!(bytes <= 200_000, "{bytes}");
    assert_eq!(threads, WATCHES);
}
