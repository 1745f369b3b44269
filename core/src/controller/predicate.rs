//! Which changes of an object matter to a controller: controller-runtime's `predicate`.
//!
//! A predicate is a function of an object before and after its update. Creations and deletions always matter, so no
//! predicate is asked about them. The functions here say whether one part of an object changed, and [`and`], [`or`] and
//! [`not`] join them. A closure is a predicate as well.
//!
//! ```
//! use listwatch_core::Object;
//! use listwatch_core::controller::predicate::{generation_changed, labels_changed, or};
//! use listwatch_core::object::MetaBuilder;
//!
//! let object = |generation: i64, uid: &str| {
//!     let mut meta = MetaBuilder::default();
//!     meta.set_name("web");
//!     meta.set_uid(uid);
//!     meta.set_generation(generation);
//!     Object { meta: meta.build().unwrap(), value: () }
//! };
//! let matters = or(generation_changed, labels_changed);
//! assert!(matters(&object(1, "u-1"), &object(2, "u-1")));
//! assert!(!matters(&object(1, "u-1"), &object(1, "u-1")), "only the status changed");
//! assert!(matters(&object(1, "u-1"), &object(1, "u-2")), "it was deleted and created again");
//! ```

use crate::object::Object;

/// Whether the desired state changed: controller-runtime's `GenerationChangedPredicate`.
///
/// Another uid passes even if the generation is the same, because a new object begins at generation 1. If a server
/// keeps no generation for an object, as for a `ConfigMap`, each change of its version passes.
pub fn generation_changed<T>(old: &Object<T>, new: &Object<T>) -> bool {
    match (old.meta.generation(), new.meta.generation()) {
        (0, 0) => version_changed(old, new),
        (before, after) => before != after || is_recreated(old, new),
    }
}

/// Whether the labels changed: controller-runtime's `LabelChangedPredicate`. Their order does not count. Another uid
/// passes.
pub fn labels_changed<T>(old: &Object<T>, new: &Object<T>) -> bool {
    is_recreated(old, new) || !are_same(old.meta.labels(), new.meta.labels())
}

/// Whether the annotations changed: controller-runtime's `AnnotationChangedPredicate`. Their order does not count.
/// Another uid passes.
///
/// If decoding did not keep the annotations, each change of the version passes.
pub fn annotations_changed<T>(old: &Object<T>, new: &Object<T>) -> bool {
    match (old.meta.annotations(), new.meta.annotations()) {
        (Some(before), Some(after)) => is_recreated(old, new) || !are_same(before, after),
        _ => version_changed(old, new),
    }
}

/// Whether the resource version changed: controller-runtime's `ResourceVersionChangedPredicate`. An update without a
/// change is one of a resync or of a relist.
///
/// Without a uid or a version, nothing shows whether an object changed, so each update passes.
pub fn version_changed<T>(old: &Object<T>, new: &Object<T>) -> bool {
    !old.meta.is_same_state(&new.meta)
}

/// Passes what both pass.
pub fn and<T>(
    one: impl Fn(&Object<T>, &Object<T>) -> bool,
    other: impl Fn(&Object<T>, &Object<T>) -> bool,
) -> impl Fn(&Object<T>, &Object<T>) -> bool {
    move |old, new| one(old, new) && other(old, new)
}

/// Passes what one of them passes.
pub fn or<T>(
    one: impl Fn(&Object<T>, &Object<T>) -> bool,
    other: impl Fn(&Object<T>, &Object<T>) -> bool,
) -> impl Fn(&Object<T>, &Object<T>) -> bool {
    move |old, new| one(old, new) || other(old, new)
}

/// Passes what the predicate does not pass.
pub fn not<T>(predicate: impl Fn(&Object<T>, &Object<T>) -> bool) -> impl Fn(&Object<T>, &Object<T>) -> bool {
    move |old, new| !predicate(old, new)
}

/// Whether the uids are known and differ.
fn is_recreated<T>(old: &Object<T>, new: &Object<T>) -> bool {
    matches!((old.meta.uid(), new.meta.uid()), (Some(before), Some(after)) if before != after)
}

/// Whether both have the same pairs, in whatever order. No name occurs twice in one of them.
fn are_same<'a>(
    one: impl Iterator<Item = (&'a str, &'a str)>,
    other: impl Iterator<Item = (&'a str, &'a str)>,
) -> bool {
    let (mut one, mut other) = (one.collect::<alloc::vec::Vec<_>>(), other.collect::<alloc::vec::Vec<_>>());
    one.sort_unstable();
    other.sort_unstable();
    one == other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::MetaBuilder;

    fn object(set: impl FnOnce(&mut MetaBuilder)) -> Object<()> {
        let mut meta = MetaBuilder::default();
        meta.set_name("web");
        set(&mut meta);
        Object { meta: meta.build().unwrap(), value: () }
    }

    fn state(uid: &str, version: &str, generation: i64) -> Object<()> {
        object(|meta| {
            meta.set_uid(uid);
            meta.set_resource_version(version);
            meta.set_generation(generation);
        })
    }

    fn labelled(uid: &str, labels: &[(&str, &str)]) -> Object<()> {
        object(|meta| {
            meta.set_uid(uid);
            labels.iter().for_each(|(name, value)| meta.add_label(name, value));
        })
    }

    fn annotated(uid: &str, version: &str, annotations: &[(&str, &str)]) -> Object<()> {
        object(|meta| {
            meta.set_uid(uid);
            meta.set_resource_version(version);
            annotations.iter().for_each(|(name, value)| meta.add_annotation(name, value));
        })
    }

    #[test]
    fn a_generation_passes_when_it_changes_and_with_another_uid() {
        assert!(generation_changed(&state("u", "1", 1), &state("u", "2", 2)));
        assert!(!generation_changed(&state("u", "1", 1), &state("u", "2", 1)));
        assert!(generation_changed(&state("u", "1", 1), &state("v", "2", 1)));
        assert!(!generation_changed(&state("", "1", 1), &state("v", "2", 1)), "an unknown uid is not another one");
    }

    #[test]
    fn an_object_without_a_generation_passes_by_its_version() {
        assert!(generation_changed(&state("u", "1", 0), &state("u", "2", 0)));
        assert!(!generation_changed(&state("u", "1", 0), &state("u", "1", 0)));
    }

    #[test]
    fn labels_pass_when_a_pair_changes_in_whatever_order() {
        let (a, b, c) = (("a", "1"), ("b", "2"), ("b", "3"));
        assert!(!labels_changed(&labelled("u", &[a, b]), &labelled("u", &[b, a])));
        assert!(labels_changed(&labelled("u", &[a, b]), &labelled("u", &[a, c])));
        assert!(labels_changed(&labelled("u", &[a, b]), &labelled("u", &[a])));
        assert!(labels_changed(&labelled("u", &[a]), &labelled("v", &[a])));
    }

    #[test]
    fn annotations_pass_when_a_pair_changes_and_by_the_version_where_they_were_not_kept() {
        let (a, b) = (("a", "1"), ("b", "2"));
        assert!(!annotations_changed(&annotated("u", "1", &[a, b]), &annotated("u", "2", &[b, a])));
        assert!(annotations_changed(&annotated("u", "1", &[a]), &annotated("u", "2", &[b])));
        assert!(annotations_changed(&annotated("u", "1", &[a]), &annotated("v", "2", &[a])));
        assert!(annotations_changed(&annotated("u", "1", &[]), &annotated("u", "2", &[a])));
        assert!(!annotations_changed(&annotated("u", "1", &[]), &annotated("u", "1", &[])));
    }

    #[test]
    fn a_version_passes_when_it_changes_or_shows_nothing() {
        assert!(version_changed(&state("u", "1", 0), &state("u", "2", 0)));
        assert!(!version_changed(&state("u", "1", 0), &state("u", "1", 0)));
        assert!(version_changed(&state("u", "1", 0), &state("v", "1", 0)));
        assert!(version_changed(&state("", "1", 0), &state("", "1", 0)));
    }

    #[test]
    fn predicates_are_joined() {
        let (yes, no) = (|_: &Object<()>, _: &Object<()>| true, |_: &Object<()>, _: &Object<()>| false);
        let it = object(|_| {});
        let pairs = [(true, true), (true, false), (false, true), (false, false)];
        let joined = [
            (and(yes, yes)(&it, &it), or(yes, yes)(&it, &it)),
            (and(yes, no)(&it, &it), or(yes, no)(&it, &it)),
            (and(no, yes)(&it, &it), or(no, yes)(&it, &it)),
            (and(no, no)(&it, &it), or(no, no)(&it, &it)),
        ];
        assert_eq!(joined, pairs.map(|(one, other)| (one && other, one || other)));
        assert_eq!((not(yes)(&it, &it), not(no)(&it, &it)), (false, true));
    }
}
