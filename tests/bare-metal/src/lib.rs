//! The parts of the firmware images: what they follow, what they make of it, what they print.
//!
//! | module | contents |
//! |---|---|
//! | `machine` | the emulated machine: its entry, its stack, its end |
//! | [`output`] | lines that are printed without `core::fmt` |
//! | [`tape`] | the recorded answers of an API server, in flash |
//! | [`line`] | what is kept of an object, and how it is printed |
//! | [`told`] | what an image is told of an object |
//! | [`panel`] | a work queue and its reconcile: a display with a row for each app |
//! | [`fixed`] | the machines without an allocator |
//! | [`large`] | an object of any size, as a server would send it |
//! | `sensors` | sensors that an interrupt reads |
//! | [`transport`] | a tape as a transport, and an informer that follows it |
//! | `wire` | a connection to a server that answers as a tape says |
//! | `pod` | a type of serde's with the same fields |
//! | `heap` | the allocator, which counts |
#![cfg_attr(target_os = "none", no_std)]

pub mod output;
pub mod tape;

pub mod line;
pub mod told;
pub mod transport;

pub mod panel;

pub mod fixed;
pub mod large;

#[cfg(feature = "http")]
pub mod wire;

#[cfg(feature = "heap")]
extern crate alloc;

#[cfg(all(target_os = "none", feature = "heap"))]
pub mod heap;
#[cfg(target_os = "none")]
pub mod machine;
#[cfg(feature = "heap")]
pub mod pod;
#[cfg(all(target_os = "none", target_arch = "arm"))]
pub mod sensors;
