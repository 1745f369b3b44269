use super::Kind;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, Resource};

/// Every type of k8s-openapi that stands for a resource of its own. A subresource, such as `TokenRequest`, is no kind.
#[cfg_attr(docsrs, doc(cfg(feature = "k8s-openapi")))]
impl<T: Resource<Scope: Scope>> Kind for T {
    const API_VERSION: &'static str = T::API_VERSION;
    const KIND: &'static str = T::KIND;
    const PLURAL: &'static str = T::URL_PATH_SEGMENT;
    const NAMESPACED: bool = T::Scope::NAMESPACED;
}

/// A scope of a resource that can be listed.
pub trait Scope {
    /// Whether the objects have a namespace.
    const NAMESPACED: bool;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}
