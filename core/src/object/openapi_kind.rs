use super::Kind;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, Resource};

/// Every type of k8s-openapi that stands for a resource of its own. A subresource, such as `TokenRequest`, is no kind.
///
/// A program's own type that is a `k8s_openapi::Resource` is a kind by that:
///
/// ```
/// use k8s_openapi::NamespaceResourceScope;
/// use listwatch_core::Resource;
///
/// struct Foo;
///
/// impl k8s_openapi::Resource for Foo {
///     const API_VERSION: &'static str = "samplecontroller.k8s.io/v1alpha1";
///     const GROUP: &'static str = "samplecontroller.k8s.io";
///     const KIND: &'static str = "Foo";
///     const VERSION: &'static str = "v1alpha1";
///     const URL_PATH_SEGMENT: &'static str = "foos";
///     type Scope = NamespaceResourceScope;
/// }
///
/// assert_eq!(Resource::of::<Foo>().path(), "/apis/samplecontroller.k8s.io/v1alpha1/foos");
/// ```
///
/// With `kind!` beside it, the two implementations conflict:
///
/// ```compile_fail,E0119
/// # use k8s_openapi::NamespaceResourceScope;
/// # struct Foo;
/// # impl k8s_openapi::Resource for Foo {
/// #     const API_VERSION: &'static str = "samplecontroller.k8s.io/v1alpha1";
/// #     const GROUP: &'static str = "samplecontroller.k8s.io";
/// #     const KIND: &'static str = "Foo";
/// #     const VERSION: &'static str = "v1alpha1";
/// #     const URL_PATH_SEGMENT: &'static str = "foos";
/// #     type Scope = NamespaceResourceScope;
/// # }
/// listwatch_core::kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");
/// ```
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
