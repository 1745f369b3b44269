//! Configurations: kubeconfigs and service accounts, and the settings that both come down to.

pub(crate) mod in_cluster;
pub(crate) mod settings;

pub(crate) mod yaml;

mod kubeconfig;

pub(crate) use kubeconfig::Kubeconfig;
