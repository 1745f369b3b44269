#[cfg(feature = "k8s-openapi")]
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, Resource};

/// A type of objects that knows its kind in the API: group and version, kind, and plural.
///
/// Any serde type can be the type of an informer's objects, by the name of their resource. A kind is a convenience: its
/// name is written once. [`kind!`](crate::kind) implements it in one line.
///
/// ```
/// use listwatch_core::Resource;
/// use listwatch_core::object::Kind;
///
/// #[derive(serde::Deserialize)]
/// struct Foo {
///     spec: Spec,
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Spec {
///     replicas: i32,
/// }
///
/// listwatch_core::kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");
///
/// assert_eq!(Foo::KIND, "Foo");
/// assert_eq!(Resource::of::<Foo>().path(), "/apis/samplecontroller.k8s.io/v1alpha1/foos");
/// ```
///
/// # Types of other crates
///
/// With the feature `k8s-openapi`, its types are kinds as they are, except subresources. The feature enables no version
/// of Kubernetes, because a program can have one only. The program's own `Cargo.toml` names it:
///
/// ```toml
/// k8s-openapi = { version = "0.29", features = ["v1_33"] }
/// ```
///
/// Without that line, the build of k8s-openapi fails, and says so.
///
/// With the feature, every type that implements `k8s_openapi::Resource` is a kind, also one of the program's own. Such
/// a type leaves out `kind!`, or the compiler reports conflicting implementations (E0119). Another crate can turn the
/// feature on, so a crate that implements `k8s_openapi::Resource` turns it on itself.
///
/// A type that kube's `CustomResource` derives is a kind by one line: `kind!(Document, "example.com/v1", "documents")`.
#[doc(alias("GroupVersionKind", "TypeMeta", "CustomResource"))]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `Kind`: it names neither the group and version of its objects nor their plural",
    label = "not a kind",
    note = "name them once, behind the type: `kind!({Self}, \"example.com/v1\", \"foos\");`",
    note = "or take `informer_of`, with the name of a resource, such as `informer_of(\"example.com/v1/foos\")`"
)]
pub trait Kind {
    /// Group and version, such as `apps/v1`; for the core group the version alone, `v1`.
    const API_VERSION: &'static str;
    /// The name of the kind, such as `Deployment`.
    const KIND: &'static str;
    /// The name of the resource in paths, such as `deployments`.
    const PLURAL: &'static str;
    /// Whether the objects have a namespace.
    const NAMESPACED: bool = true;
}

/// Makes a type a [`Kind`]: its API version and its plural. The kind has the name of the type.
///
/// ```
/// use listwatch_core::kind;
/// use listwatch_core::object::Kind;
///
/// struct Pod;
/// struct Node;
/// struct Policy;
///
/// kind!(Pod, "v1", "pods");
/// kind!(cluster Node, "v1", "nodes"); // without a namespace
/// kind!(Policy as "NetworkPolicy", "networking.k8s.io/v1", "networkpolicies"); // under another name
///
/// assert!(Pod::NAMESPACED && !Node::NAMESPACED);
/// assert_eq!(Policy::KIND, "NetworkPolicy");
/// ```
#[macro_export]
macro_rules! kind {
    (cluster $type:ident as $kind:literal, $version:literal, $plural:literal) => {
        $crate::kind!(@impl $type, $kind, $version, $plural, false);
    };
    (cluster $type:ident, $version:literal, $plural:literal) => {
        $crate::kind!(@impl $type, ::core::stringify!($type), $version, $plural, false);
    };
    ($type:ident as $kind:literal, $version:literal, $plural:literal) => {
        $crate::kind!(@impl $type, $kind, $version, $plural, true);
    };
    ($type:ident, $version:literal, $plural:literal) => {
        $crate::kind!(@impl $type, ::core::stringify!($type), $version, $plural, true);
    };
    (@impl $type:ident, $kind:expr, $version:literal, $plural:literal, $namespaced:literal) => {
        impl $crate::object::Kind for $type {
            const API_VERSION: &'static str = $version;
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = $namespaced;
        }
    };
}

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
#[cfg(feature = "k8s-openapi")]
#[cfg_attr(docsrs, doc(cfg(feature = "k8s-openapi")))]
impl<T: Resource<Scope: Scope>> Kind for T {
    const API_VERSION: &'static str = T::API_VERSION;
    const KIND: &'static str = T::KIND;
    const PLURAL: &'static str = T::URL_PATH_SEGMENT;
    const NAMESPACED: bool = T::Scope::NAMESPACED;
}

/// A scope of a resource that can be listed.
#[cfg(feature = "k8s-openapi")]
pub trait Scope {
    /// Whether the objects have a namespace.
    const NAMESPACED: bool;
}

#[cfg(feature = "k8s-openapi")]
impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

#[cfg(feature = "k8s-openapi")]
impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}
