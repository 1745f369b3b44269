//! Guides for users: how to deploy and operate a controller, and what the command does.
//!
//! | page | answers |
//! |---|---|
//! | [`production`] | How does a type become an operator in production? |
//! | [`deploy`] | Which image and permissions does a controller need? How do several replicas take turns? |
//! | [`operate`] | Where are metrics, probes, traces, audits and Events? |
//! | [`offline`] | What does an agent know that starts without its server? |
//! | [`replay`] | What is on a tape of a controller, and what does its replay compare? |
//! | [`command`] | How does `listwatch` follow, record, replay and serve resources? |
//! | [`coming_from`](crate::coming_from) | How does an operator of controller-runtime or kube-rs look here? What is it called that they, or client-go, call X? |

#[doc = include_str!("guide/command.md")]
pub mod command {}
#[doc = include_str!("guide/deploy.md")]
pub mod deploy {}
#[doc = include_str!("guide/offline.md")]
pub mod offline {}
#[doc = include_str!("guide/operate.md")]
#[doc = "```rust,ignore"]
#[doc = include_str!("guide/otlp.rs")]
#[doc = "```"]
pub mod operate {}
#[doc = include_str!("guide/production.md")]
pub mod production {}
#[doc = include_str!("guide/replay.md")]
pub mod replay {}
