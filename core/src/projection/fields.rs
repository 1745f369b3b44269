//! The fields that a walk looks for: those of the caller's, and those that the protocol has.

use super::path::{Path, Step};

/// A set of fields: a bit for each.
pub(super) type Mask = u32;

/// The paths of the fields, by their numbers: first those of the protocol, then the caller's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) shape: Shape,
    pub(super) projected: &'static [Path],
}

/// What the value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// An event of a watch, whose object is its member `object`.
    Event,
    Object,
    /// The metadata of a list.
    ListMeta,
    Status,
}

pub(super) const TYPE: u32 = 0;
pub(super) const NAME: u32 = 1;
pub(super) const NAMESPACE: u32 = 2;
pub(super) const UID: u32 = 3;
pub(super) const VERSION: u32 = 4;
pub(super) const INITIAL_EVENTS_END: u32 = 5;
pub(super) const CODE: u32 = 6;
pub(super) const REASON: u32 = 7;
pub(super) const MESSAGE: u32 = 8;
pub(super) const RETRY_AFTER: u32 = 9;
pub(super) const TOO_LARGE: u32 = 10;
pub(super) const LIST_VERSION: u32 = 11;
pub(super) const CONTINUE: u32 = 12;
/// The number of the caller's first field.
pub(super) const PROJECTED: u32 = 13;

pub(super) const METADATA: Mask = 1 << NAME | 1 << NAMESPACE | 1 << UID | 1 << VERSION;
pub(super) const BOOKMARK: Mask = METADATA | 1 << INITIAL_EVENTS_END;
pub(super) const STATUS: Mask = 1 << CODE | 1 << REASON | 1 << MESSAGE | 1 << RETRY_AFTER | 1 << TOO_LARGE;
pub(super) const LIST_META: Mask = 1 << LIST_VERSION | 1 << CONTINUE;

/// The most fields of a projection.
pub(super) const MOST: usize = (Mask::BITS - PROJECTED) as usize;

static PROTOCOL: [Path; PROJECTED as usize] = [
    Path::new("type"),
    Path::new("metadata.name"),
    Path::new("metadata.namespace"),
    Path::new("metadata.uid"),
    Path::new("metadata.resourceVersion"),
    Path::new("metadata.annotations['k8s.io/initial-events-end']"),
    Path::new("code"),
    Path::new("reason"),
    Path::new("message"),
    Path::new("details.retryAfterSeconds"),
    Path::new("details.causes[reason=ResourceVersionTooLarge].reason"),
    Path::new("resourceVersion"),
    Path::new("continue"),
];

/// The paths of a projection, checked.
///
/// # Panics
/// If there are too many, or one leads through the value of another one, or of a field that is always read.
pub const fn checked(paths: &'static [Path]) -> &'static [Path] {
    assert!(paths.len() <= MOST, "a projection has too many fields");
    let mut at = 0;
    while at < paths.len() {
        let mut other = 0;
        while other < at {
            assert!(!paths[at].collides_with(&paths[other]), "a field is a part of another one");
            other += 1;
        }
        let mut own = NAME;
        while own <= INITIAL_EVENTS_END {
            assert!(
                !paths[at].collides_with(&PROTOCOL[own as usize]),
                "a field is a part of the metadata, or holds it"
            );
            own += 1;
        }
        at += 1;
    }
    paths
}

impl Fields {
    /// All that the value may have.
    pub(super) fn all(self) -> Mask {
        match self.shape {
            Shape::Event => 1 << TYPE | BOOKMARK | STATUS | self.projected(),
            Shape::Object => METADATA | self.projected(),
            Shape::ListMeta => LIST_META,
            Shape::Status => STATUS,
        }
    }

    /// The caller's fields.
    pub(super) fn projected(self) -> Mask {
        ((1 << self.projected.len()) - 1) << PROJECTED
    }

    /// The text of a field's path.
    pub(super) fn text(self, field: u32) -> &'static str {
        self.path(field).as_str()
    }

    fn path(self, field: u32) -> &'static Path {
        match field.checked_sub(PROJECTED) {
            Some(projected) => &self.projected[projected as usize],
            None => &PROTOCOL[field as usize],
        }
    }

    /// The step of a field's path out of the value that is this deep.
    pub(super) fn step(self, field: u32, depth: usize) -> Option<Step> {
        let depth = match (self.shape, depth) {
            (Shape::Event, 0) if field != TYPE => return Some(Step::Member(b"object")),
            (Shape::Event, _) if field != TYPE => depth - 1,
            _ => depth,
        };
        self.path(field).step(depth)
    }

    /// Those of `fields` whose step out of the value that is this deep is so.
    pub(super) fn filter(self, fields: Mask, depth: usize, is: &dyn Fn(Step) -> bool) -> Mask {
        retain(fields, |field| self.step(field, depth).is_some_and(is))
    }

    /// Those of `fields` whose value is this deep.
    pub(super) fn ending_at(self, fields: Mask, depth: usize) -> Mask {
        retain(fields, |field| self.step(field, depth).is_none())
    }
}

/// The numbers of the fields.
pub(super) fn bits(mut fields: Mask) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let field = (fields != 0).then(|| fields.trailing_zeros())?;
        fields &= fields - 1;
        Some(field)
    })
}

/// The fields for which `is` is true.
pub(super) fn retain(fields: Mask, is: impl Fn(u32) -> bool) -> Mask {
    bits(fields).filter(|field| is(*field)).fold(0, |kept, field| kept | 1 << field)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expected {
    /// Before a value.
    Value,
    /// Behind the bracket that opens an object.
    FirstName,
    /// Behind the comma in an object.
    NextName,
    Name,
    Colon,
    /// Behind the bracket that opens an array.
    FirstElement,
    /// Behind a value in an object or an array.
    Behind,
    Text,
    Literal,
    /// In a value that no field reads, or in one that is no JSON.
    PassingOver,
    Done,
}

/// An object or an array that was entered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    pub(super) is_array: bool,
    /// The fields inside of it.
    pub(super) fields: Mask,
    /// In an object that is an element: the fields whose condition it fulfils.
    pub(super) fulfilled: Mask,
    /// In an array: the fields whose element was found.
    pub(super) found: Mask,
    /// In an array: the place of the element that comes.
    pub(super) index: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// The fields inside of the value.
    pub(super) inside: Mask,
    /// The fields whose value it is.
    pub(super) fields: Mask,
    /// The fields whose condition it decides.
    pub(super) conditions: Mask,
}
