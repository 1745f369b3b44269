//! What is counted for a whole process: memory, threads and open files. Each test has a process of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod allocations;
mod endpoint_scrapes;
mod large_tapes;
mod leftovers;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;
