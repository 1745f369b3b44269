//! Caches that are saved to a file, and restored by the next run of their program.

mod files;
mod kills;
mod restarts;
mod shelf;
