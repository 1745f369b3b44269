use core::ops::Deref;

/// A namespace to read: its name, or that of a key ([`Key::namespace`](super::Key::namespace)), which may have none. No
/// namespace stands for all, as an empty name does.
///
/// ```
/// use listwatch_core::Key;
/// use listwatch_core::object::AsNamespace;
///
/// fn name<'n>(namespace: impl AsNamespace<'n>) -> &'n str {
///     namespace.as_namespace()
/// }
///
/// assert_eq!((name("web"), name(&String::from("web"))), ("web", "web"));
/// assert_eq!((name(Key::from("web/a").namespace()), name(Key::from("a").namespace())), ("web", ""));
/// ```
pub trait AsNamespace<'n>: Sealed {
    /// The name; empty for all namespaces.
    fn as_namespace(&self) -> &'n str;
}

/// A type of another crate may mean something else by its text: that of a [`Key`](super::Key) is no namespace.
pub trait Sealed {}

impl<'n> AsNamespace<'n> for &'n str {
    fn as_namespace(&self) -> &'n str {
        self
    }
}

/// A `String`, and what else is a text by reference.
impl<'n, S: Deref<Target = str>> AsNamespace<'n> for &'n S {
    fn as_namespace(&self) -> &'n str {
        self
    }
}

impl<'n> AsNamespace<'n> for Option<&'n str> {
    fn as_namespace(&self) -> &'n str {
        self.unwrap_or_default()
    }
}

impl Sealed for &str {}
impl<S: Deref<Target = str>> Sealed for &S {}
impl Sealed for Option<&str> {}
