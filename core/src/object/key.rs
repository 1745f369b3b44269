use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// Names an object within its resource: `namespace/name`, or `name` where there are no namespaces.
///
/// The text is that of client-go's `MetaNamespaceKeyFunc`. A clone shares the text: cache, queues and events have one
/// allocation for each key.
///
/// ```
/// use listwatch_core::Key;
///
/// let pod = Key::new(Some("team-0"), "web-1");
/// assert_eq!(pod.to_string(), "team-0/web-1");
/// assert_eq!((pod.namespace(), pod.name()), (Some("team-0"), "web-1"));
/// assert_eq!(Key::from("node-7").namespace(), None);
/// assert_eq!(Key::from(String::from("team-0/web-1")).as_ref(), pod.as_str());
/// ```
#[derive(Clone, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "keys are equal where their texts are")]
pub struct Key(Arc<str>);

impl Key {
    /// The key of `name` in `namespace`. An empty namespace counts as none.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            None | Some("") => Self(name.into()),
            Some(namespace) => Self([namespace, "/", name].concat().into()),
        }
    }

    /// The namespace, if the object has one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.get(..self.slash()?)
    }

    /// The name without the namespace.
    pub fn name(&self) -> &str {
        self.slash().and_then(|slash| self.0.get(slash + 1..)).unwrap_or(&self.0)
    }

    /// The key of another object in the same namespace.
    ///
    /// ```
    /// use listwatch_core::Key;
    ///
    /// assert_eq!(Key::from("web/a").sibling("b"), Key::from("web/b"));
    /// assert_eq!(Key::from("a").sibling("b"), Key::from("b"));
    /// ```
    #[must_use]
    pub fn sibling(&self, name: &str) -> Self {
        Self::new(self.namespace(), name)
    }

    /// The whole key, as displayed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Looks at each byte: a namespace is short, and index functions ask for it with every event.
    fn slash(&self) -> Option<usize> {
        self.0.bytes().position(|byte| byte == b'/')
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// Takes a key as [`Key`] displays it (client-go `SplitMetaNamespaceKey`).
impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self(key.into())
    }
}

/// The same key.
impl From<&Self> for Key {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

/// As from a `&str`.
impl From<String> for Key {
    fn from(key: String) -> Self {
        Self(key.into())
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl core::borrow::Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Key {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}", self.as_str());
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

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

/// A type of another crate may mean something else by its text: that of a [`Key`] is no namespace.
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
