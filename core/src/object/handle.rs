use super::{Key, Meta, Object};
use crate::storage::{Keyed, Versioned};
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// A decoded object as caches, events and snapshots hand it out: shared, and never changed.
///
/// It dereferences to the decoded type, so `pod.spec.node_name` reads the user's own field. The metadata are beside it:
/// [`meta`](Self::meta) and [`key`](Self::key). A clone copies the handle and shares the object, for any `T`. The
/// [`Debug`](fmt::Debug) output names the object by key, uid and version, and needs nothing of `T`.
///
/// Where the memory of an object lies is not part of the interface. (client-go hands out a pointer that callers must
/// not write to, and kube-rs an `Arc<K>`. The `ObjectRef` of kube-rs, a name without an object, is [`Key`] here.)
///
/// ```
/// use listwatch_core::object::{MetaBuilder, Object, ObjectHandle};
///
/// struct Pod {
///     node: Option<&'static str>,
/// }
///
/// let mut meta = MetaBuilder::default();
/// meta.set_name("web-1");
/// let pod = Object { meta: meta.build().unwrap(), value: Pod { node: Some("n1") } };
///
/// let pod = ObjectHandle::from(pod);
/// assert_eq!((pod.key().as_str(), pod.node), ("web-1", Some("n1")));
/// assert!(pod.clone().ptr_eq(&pod));
/// ```
pub struct ObjectHandle<T>(Arc<Object<T>>);

impl<T> ObjectHandle<T> {
    /// The metadata: key, uid, version, labels, owners.
    pub fn meta(&self) -> &Meta {
        &self.0.meta
    }

    /// The key, `namespace/name`, which a handler enqueues.
    pub fn key(&self) -> &Key {
        self.0.meta.key()
    }

    /// The metadata and the value together.
    pub fn as_object(&self) -> &Object<T> {
        &self.0
    }

    /// Whether both handles share one object in memory. Two decodings of one state do not.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The object, taken out of the handle; a copy where other handles share it. To change an object, change this.
    pub fn into_object(self) -> Object<T>
    where
        T: Clone,
    {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> From<Object<T>> for ObjectHandle<T> {
    fn from(object: Object<T>) -> Self {
        Self(Arc::new(object))
    }
}

impl<T> Deref for ObjectHandle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Keyed for ObjectHandle<T> {
    type Key = Key;

    fn key(&self) -> &Key {
        self.0.meta.key()
    }

    fn bytes(&self) -> usize {
        self.0.meta.json_len()
    }
}

impl<T> Versioned for ObjectHandle<T> {
    fn resource_version(&self) -> &str {
        self.meta().resource_version()
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.meta().uid() == other.meta().uid()
    }

    fn is_same_state(&self, other: &Self) -> bool {
        self.meta().is_same_state(other.meta())
    }

    /// Shares the key, and the text of labels and owners, unless this handle has clones already.
    fn share_with(&mut self, earlier: &Self) {
        if let Some(object) = Arc::get_mut(&mut self.0) {
            object.meta.share_with(earlier.meta());
        }
    }
}

impl<T> Clone for ObjectHandle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Compares metadata and decoded values.
impl<T: PartialEq> PartialEq for ObjectHandle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Eq> Eq for ObjectHandle<T> {}

impl<T> fmt::Debug for ObjectHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meta().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::MetaBuilder;
    use alloc::format;

    /// Counts its copies.
    #[derive(Debug, PartialEq)]
    struct Copies(u32);

    impl Clone for Copies {
        fn clone(&self) -> Self {
            Self(self.0 + 1)
        }
    }

    fn pod() -> ObjectHandle<Copies> {
        let mut meta = MetaBuilder::default();
        meta.set_name("web-1");
        meta.set_uid("u-1");
        Object { meta: meta.build().unwrap(), value: Copies(0) }.into()
    }

    #[test]
    fn an_object_is_copied_only_where_its_handle_is_shared() {
        let pod = pod();
        assert_eq!(pod.clone().into_object().value, Copies(1));
        assert_eq!(pod.into_object().value, Copies(0));
    }

    #[test]
    fn equal_objects_are_equal_and_share_memory_only_where_one_handle_was_cloned() {
        let one = pod();
        assert!(one.ptr_eq(&one.clone()));
        assert!(one == pod() && !one.ptr_eq(&pod()));
    }

    #[test]
    fn a_handle_shows_key_uid_and_version_and_leaves_out_what_is_absent() {
        assert_eq!(format!("{:?}", pod()), r#"Meta { key: "web-1", uid: "u-1", resource_version: "", .. }"#);
        let mut meta = MetaBuilder::default();
        meta.set_name("n1");
        let node = ObjectHandle::from(Object { meta: meta.build().unwrap(), value: () });
        assert_eq!(format!("{node:?}"), r#"Meta { key: "n1", resource_version: "", .. }"#);
    }
}
