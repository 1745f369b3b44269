use super::field::{Slot, Text};
use super::path::Path;
use crate::storage::{Keyed, Versioned};

/// A type whose values are fields of an object. [`projection!`](crate::projection!) implements it.
pub trait Projection: Clone {
    /// The paths of the fields, in their order.
    const FIELDS: &'static [Path];
    /// The value where every field is absent.
    const ABSENT: Self;

    /// The field of this number. It is below the number of [`FIELDS`](Self::FIELDS).
    fn slot(&mut self, number: usize) -> &mut dyn Slot;
}

/// Declares a struct of fields that are projected out of an object, each with its path ([`Path`]).
///
/// The struct derives `Clone`, `Debug`, `PartialEq` and `Eq`. A path that is none does not compile, and neither does a
/// field that is a part of another one.
///
/// ```
/// use listwatch_core::projection;
/// use listwatch_core::projection::{Beginning, Text};
///
/// projection! {
///     /// What a display shows of a pod.
///     pub struct PodLine {
///         /// Empty until the pod is scheduled.
///         node: Text<63> = "spec.nodeName",
///         image: Beginning<40> = "spec.containers[0].image",
///         ready: Text<7> = "status.conditions[type=Ready].status",
///         restarts: u32 = "status.containerStatuses[0].restartCount",
///         zone: Option<Text<63>> = "metadata.labels['topology.kubernetes.io/zone']",
///         owner: Text<63> = "metadata.ownerReferences[controller=true].name",
///     }
/// }
/// ```
///
/// ```compile_fail
/// use listwatch_core::projection::Text;
///
/// listwatch_core::projection! {
///     struct PodLine { node: Text<63> = "spec..nodeName" }
/// }
/// ```
///
/// ```compile_fail
/// use listwatch_core::projection::Text;
///
/// listwatch_core::projection! {
///     struct PodLine { spec: Text<63> = "spec", node: Text<63> = "spec.nodeName" }
/// }
/// ```
#[macro_export]
macro_rules! projection {
    ($(#[$of_struct:meta])* $vis:vis struct $name:ident {
        $($(#[$of_field:meta])* $field_vis:vis $field:ident: $type:ty = $path:literal),+ $(,)?
    }) => {
        $(#[$of_struct])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$of_field])* $field_vis $field: $type,)+
        }

        impl $crate::projection::Projection for $name {
            const FIELDS: &'static [$crate::projection::Path] =
                $crate::projection::checked(&[$($crate::projection::Path::new($path)),+]);
            const ABSENT: Self = Self { $($field: <$type as $crate::projection::Field>::ABSENT),+ };

            fn slot(&mut self, number: usize) -> &mut dyn $crate::projection::Slot {
                let slots: [&mut dyn $crate::projection::Slot; <Self as $crate::projection::Projection>::FIELDS.len()] =
                    [$(&mut self.$field),+];
                let mut slots = slots.into_iter();
                match slots.nth(number) {
                    Some(slot) => slot,
                    None => panic!("a projection has no field of this number"),
                }
            }
        }
    };
}

/// No field: of the object, key, uid and version alone are kept.
impl Projection for () {
    const FIELDS: &'static [Path] = &[];
    const ABSENT: Self = ();

    fn slot(&mut self, _: usize) -> &mut dyn Slot {
        panic!("this projection has no fields")
    }
}

/// The bytes that a uid may have: the length of the canonical form.
pub const UID: usize = 36;
/// The bytes that a version may have. Those of an API server are numbers of 64 bits.
pub const VERSION: usize = 20;

/// An object of which a projection is kept. Its key has at most `KEY` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected<P, const KEY: usize = 128> {
    pub(super) key: Text<KEY>,
    pub(super) uid: Text<UID>,
    pub(super) version: Text<VERSION>,
    /// The fields.
    pub value: P,
}

impl<P, const KEY: usize> Projected<P, KEY> {
    /// `namespace/name`, or the name of an object without a namespace.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The namespace, if the object has one.
    pub fn namespace(&self) -> Option<&str> {
        self.key.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name without the namespace.
    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// `metadata.uid`; empty where the object has none.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// `metadata.resourceVersion`; empty where the object has none.
    pub fn resource_version(&self) -> &str {
        &self.version
    }
}

/// The key, the version and the fields.
#[cfg(feature = "defmt")]
impl<P: defmt::Format, const KEY: usize> defmt::Format for Projected<P, KEY> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}@{=str} {}", self.key(), self.resource_version(), self.value);
    }
}

impl<P, const KEY: usize> Keyed for Projected<P, KEY> {
    type Key = Text<KEY>;

    fn key(&self) -> &Text<KEY> {
        &self.key
    }
}

impl<P, const KEY: usize> Versioned for Projected<P, KEY> {
    fn resource_version(&self) -> &str {
        &self.version
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.uid == other.uid
    }

    fn is_same_state(&self, other: &Self) -> bool {
        let known = !self.uid.is_empty() && !self.version.is_empty();
        known && self.uid == other.uid && self.version == other.version
    }
}
