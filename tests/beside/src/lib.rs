//! Nothing but the tests and benchmarks of this package.
