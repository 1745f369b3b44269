//! Informers against a real kube-apiserver: what they hold is what the server has, whatever happens in between.

mod access;
mod acting;
mod audit;
mod audit_captures;
mod audit_ids;
mod by_hand;
mod client;
mod crashes;
mod definitions;
mod drift;
mod election;
mod fleet;
mod follower;
#[cfg(target_os = "linux")]
mod hard_day;
mod incidents;
#[cfg(unix)]
mod made;
mod plane;
mod recorder;
mod requests;
mod resources;
mod sample_controller;
mod shards;
mod simulated_cluster;
mod size;
mod stand_ins;
mod tables;
mod webhooks;
