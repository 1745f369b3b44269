//! The schemas of custom resources, as a kube-apiserver treats them (apiextensions `apiserver/schema`).

mod correlation;
pub(super) mod defaults;
pub(super) mod embedded;
#[cfg(feature = "cel")]
mod expressions;
mod formats;
pub(super) mod list_types;
pub(super) mod pruning;
#[cfg(feature = "cel")]
pub(super) mod rules;
pub(super) mod soundness;
pub(super) mod structural;
pub(super) mod validation;
