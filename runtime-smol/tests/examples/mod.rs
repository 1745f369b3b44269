//! The examples, as they stand in their folder: what each does in a simulated world, and how its binary ends.

mod edge_agent;
mod finalizer;
mod inside_tokio;
mod manifests;
mod process;
mod restart;
mod sample_controller;
mod stage;
mod workqueue;
