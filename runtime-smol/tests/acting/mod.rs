//! What a reconcile does to objects, against a simulated server under a simulated clock.

mod adopting;
mod applying;
mod changing;
mod children;
mod conditions;
mod controllers;
mod creating;
mod deleting;
mod ensuring;
mod finalizing;
mod looping;
mod refused;
mod settling;
mod stage;
mod worlds;
