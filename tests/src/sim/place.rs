//! The places of objects and collections among the paths of a server.

/// A collection, of one namespace or of all, or an object in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path of the collection, without the namespace.
    collection: String,
    /// The namespace; empty for none, or for all of them.
    namespace: String,
    /// The name; empty for a collection.
    name: String,
}

/// Whether a path is that of an object's status.
pub(super) fn is_status(path: &str) -> bool {
    path.ends_with("/status")
        && Place::parse(path).is_some_and(|place| !place.name.is_empty() && place.name != "status")
}

impl Place {
    /// Reads the path of a collection, an object, or a part of an object such as its status.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let versions = if parts.next()? == "api" { 1 } else { 2 };
        let root: Vec<&str> = parts.by_ref().take(versions).collect();
        let (mut namespace, mut plural) = ("", parts.next()?);
        if plural == "namespaces" {
            (namespace, plural) = (parts.next()?, parts.next()?);
        }
        let group = if versions == 1 { "api" } else { "apis" };
        let collection = format!("/{group}/{}/{plural}", root.join("/"));
        let name = parts.next().unwrap_or_default().to_owned();
        Some(Self { collection, namespace: namespace.to_owned(), name })
    }

    /// The object of this name in this collection.
    #[must_use]
    pub fn with_name(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// The namespace; empty for none, or for all of them.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name; empty for a collection.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the object or the collection at `other` is in this collection.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.collection == other.collection && (self.namespace.is_empty() || self.namespace == other.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_covers_the_objects_of_its_namespace_or_of_all() {
        let place = |path| Place::parse(path).unwrap_or_default();
        let (all, web) = (place("/api/v1/pods"), place("/api/v1/namespaces/web/pods"));
        let status = place("/api/v1/namespaces/web/pods/a/status");
        assert_eq!((status.namespace(), status.name()), ("web", "a"));
        assert_eq!(status, web.with_name("a"));
        assert!(all.covers(&status) && web.covers(&status) && !web.covers(&all));
        assert!(!all.covers(&place("/apis/apps/v1/pods/a")) && !place("/api/v1/namespaces/db/pods").covers(&status));
        assert_eq!(Place::parse("pods"), None);
    }
}
