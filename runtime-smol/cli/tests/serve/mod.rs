//! `listwatch serve` as a user runs it: followed by client-go, kube-rs, kubectl and listwatch itself.

mod child;
mod crowd;
mod followers;
mod hostile;
mod kubectl;
mod requests;
mod serving;
