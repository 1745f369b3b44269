//! Reads by namespace and by label selector.

use super::{IndexId, Indexer};
use crate::object::{LabelSelector, ObjectHandle};

impl<T> Indexer<ObjectHandle<T>> {
    /// Adds an index by namespace (client-go `MetaNamespaceIndexFunc`), which [`select_in`](Self::select_in) uses from
    /// then on. A second call returns the id of the first one.
    pub fn add_namespace_index(&mut self) -> IndexId {
        if let Some(id) = self.by_namespace {
            return id;
        }
        let id = self.add_index(|object: &ObjectHandle<T>, emit: &mut dyn FnMut(&str)| {
            object.meta().namespace().into_iter().for_each(emit);
        });
        self.by_namespace = Some(id);
        id
    }

    /// The objects that a selector matches, in the order of [`iter`](Self::iter) (client-go `Lister.List`).
    pub fn select<'a>(&'a self, selector: &'a LabelSelector) -> impl Iterator<Item = &'a ObjectHandle<T>> {
        self.iter().filter(|object| selector.matches(|name| object.meta().label(name)))
    }

    /// The objects of a namespace that a selector matches; the namespace `""` stands for all (client-go
    /// `ListAllByNamespace`).
    ///
    /// With a [namespace index](Self::add_namespace_index), this visits the objects of the namespace only, in the order
    /// of [`by_index`](Self::by_index). Without one it visits all, in the order of [`iter`](Self::iter).
    pub fn select_in<'a>(
        &'a self,
        namespace: &'a str,
        selector: &'a LabelSelector,
    ) -> impl Iterator<Item = &'a ObjectHandle<T>> {
        let (index, wanted) = self.index_of(namespace);
        let indexed = index.into_iter().flat_map(move |id| self.by_index(id, namespace));
        let all = index.is_none().then(|| self.iter()).into_iter().flatten();
        indexed.chain(all).filter(move |object| is_selected(object, wanted, selector))
    }

    #[cfg(feature = "json")]
    /// The objects of [`select_in`](Self::select_in) and perhaps others, and the namespace to tell them apart by, if
    /// that is needed.
    pub(in crate::cache) fn snapshot_in<'a>(
        &self,
        namespace: &'a str,
    ) -> (crate::cache::Snapshot<ObjectHandle<T>>, Option<&'a str>) {
        let (index, wanted) = self.index_of(namespace);
        (index.map_or_else(|| self.snapshot(), |id| self.snapshot_by_index(id, namespace)), wanted)
    }

    /// The index that has the objects of a namespace; without one, the namespace that they are to be in.
    fn index_of<'a>(&self, namespace: &'a str) -> (Option<IndexId>, Option<&'a str>) {
        let index = self.by_namespace.filter(|_| !namespace.is_empty());
        (index, Some(namespace).filter(|_| index.is_none() && !namespace.is_empty()))
    }
}

/// Whether an object is in the namespace, if there is one, and matches the selector.
pub(in crate::cache) fn is_selected<T>(
    object: &ObjectHandle<T>,
    namespace: Option<&str>,
    selector: &LabelSelector,
) -> bool {
    (namespace.is_none() || object.meta().namespace() == namespace)
        && selector.matches(|name| object.meta().label(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{MetaBuilder, Object};
    use alloc::vec::Vec;

    fn pods() -> Indexer<ObjectHandle<()>> {
        let mut pods = Indexer::new();
        for (namespace, name, app) in [
            ("a", "web-1", "web"),
            ("b", "web-2", "web"),
            ("a", "db", "db"),
            ("", "node", "web"),
            ("a", "web-3", "web"),
        ] {
            let mut builder = MetaBuilder::default();
            builder.set_namespace(namespace);
            builder.set_name(name);
            builder.add_label("app", app);
            pods.insert(Object { meta: builder.build().unwrap(), value: () }.into());
        }
        pods
    }

    fn names(pods: &Indexer<ObjectHandle<()>>, namespace: &str, selector: &str) -> Vec<alloc::string::String> {
        let selector = LabelSelector::parse(selector).unwrap();
        pods.select_in(namespace, &selector).map(|pod| pod.meta().name().into()).collect()
    }

    #[test]
    fn a_selector_filters_what_is_stored() {
        let (pods, web) = (pods(), LabelSelector::parse("app=web").unwrap());
        let names: Vec<_> = pods.select(&web).map(|pod| pod.meta().name()).collect();
        assert_eq!(names, ["web-1", "web-2", "node", "web-3"]);
        assert_eq!(pods.select(&LabelSelector::default()).count(), 5);
    }

    /// S13
    #[test]
    fn a_namespace_is_read_with_or_without_its_index_and_none_is_all() {
        let mut pods = pods();
        let check = |pods: &Indexer<_>| {
            assert_eq!(names(pods, "a", ""), ["web-1", "db", "web-3"]);
            assert_eq!(names(pods, "a", "app=web"), ["web-1", "web-3"]);
            assert_eq!(names(pods, "", "app=web"), ["web-1", "web-2", "node", "web-3"]);
            assert!(names(pods, "c", "").is_empty());
        };
        check(&pods);
        let id = pods.add_namespace_index();
        assert_eq!(pods.add_namespace_index(), id);
        assert_eq!(pods.index_values(id).collect::<Vec<_>>(), ["a", "b"]);
        check(&pods);
        pods.remove_index(id);
        check(&pods);
        assert_ne!(pods.add_namespace_index(), id);
        check(&pods);
    }

    /// S13: the index is what is walked, which shows in the order.
    #[test]
    fn with_the_index_only_the_namespace_is_looked_at() {
        let mut pods = pods();
        pods.add_namespace_index();
        let first = pods.remove("a/web-1").unwrap();
        pods.insert(first);
        assert_eq!(names(&pods, "a", ""), ["db", "web-3", "web-1"], "in the order in which they came to the namespace");
    }
}
