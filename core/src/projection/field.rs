//! The types of projected fields.

use core::fmt;
use core::ops::Deref;

/// A type that a projected field may have.
///
/// These are [`Text`], which refuses a text that is too long; [`Beginning`], which cuts it; `bool`; the integers up to
/// 64 bits, but `u64`; and an `Option` of each. A field that is absent or `null` is `None`, or else empty, `false` or 0,
/// as in Go.
pub trait Field: Slot + Sized {
    /// A field that is absent.
    const ABSENT: Self;
}

/// Takes the value of a field, as it is read. A value that it does not take makes the object undecodable.
pub trait Slot {
    /// Forgets the value: the field is absent.
    fn clear(&mut self);

    /// Takes a value, or a piece of one. It is called for a field that is absent, or that has the pieces before.
    ///
    /// # Errors
    /// If the field takes no such value, or not this one.
    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit>;
}

/// A value for a [`Slot`], or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece<'a> {
    /// A piece of a string. The first one is empty; the others are as long as they arrive.
    Text(&'a str),
    /// An integer.
    Integer(i64),
    /// A truth value.
    Bool(bool),
    /// An object, an array or a fraction, which no field takes.
    Other,
}

/// The reason that a field does not take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Misfit {
    /// It is of another type than this one, which the field takes: `a string`, for example.
    WrongType(&'static str),
    /// It has more than this many bytes.
    TooLong(usize),
    /// It is too large or too small a number.
    OutOfRange,
}

/// A text of at most `N` bytes. A longer one is refused: the object counts as undecodable.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>(heapless::String<N, u16>);

impl<const N: usize> Text<N> {
    /// No text.
    pub const fn new() -> Self {
        Self(heapless::String::new())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends a text.
    ///
    /// # Errors
    /// If it does not fit; nothing is appended then.
    pub fn push(&mut self, text: &str) -> Result<(), Misfit> {
        self.0.push_str(text).map_err(|_| Misfit::TooLong(N))
    }
}

impl<const N: usize> Slot for Text<N> {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
        if let Piece::Text(piece) = piece { self.push(piece) } else { Err(Misfit::WrongType("a string")) }
    }
}

impl<const N: usize> core::borrow::Borrow<str> for Text<N> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Field for Text<N> {
    const ABSENT: Self = Self::new();
}

/// The beginning of a text: at most `N` bytes, cut between two characters.
///
/// ```
/// use listwatch_core::projection::{Beginning, Field, Piece, Slot};
///
/// let mut image = Beginning::<8>::ABSENT;
/// image.take(Piece::Text("größe/latest"))?;
/// assert_eq!((image.as_str(), image.is_cut()), ("größe/", true));
/// # Ok::<(), listwatch_core::projection::Misfit>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Beginning<const N: usize> {
    text: Text<N>,
    cut: bool,
}

impl<const N: usize> Beginning<N> {
    /// What was kept of the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the text was longer.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

impl<const N: usize> Slot for Beginning<N> {
    fn clear(&mut self) {
        *self = Self::ABSENT;
    }

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
        let Piece::Text(piece) = piece else { return Err(Misfit::WrongType("a string")) };
        let kept = if self.cut { "" } else { beginning(piece, N - self.text.len()) };
        self.cut |= kept.len() < piece.len();
        self.text.push(kept)
    }
}

/// At most so many bytes, cut between two characters.
fn beginning(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|len| text.get(..len)).unwrap_or_default()
}

impl<const N: usize> Field for Beginning<N> {
    const ABSENT: Self = Self { text: Text::new(), cut: false };
}

macro_rules! text {
    ($($type:ident),+) => {
        $(impl<const N: usize> Deref for $type<N> {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl<const N: usize> PartialEq<&str> for $type<N> {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl<const N: usize> fmt::Display for $type<N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl<const N: usize> fmt::Debug for $type<N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        })+
    };
}

text!(Text, Beginning);

#[cfg(feature = "defmt")]
impl<const N: usize> defmt::Format for Text<N> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}", self.as_str());
    }
}

#[cfg(feature = "defmt")]
impl<const N: usize> defmt::Format for Beginning<N> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let end = if self.cut { "…" } else { "" };
        defmt::write!(f, "{=str}{=str}", self.as_str(), end);
    }
}

impl Slot for bool {
    fn clear(&mut self) {
        *self = false;
    }

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
        let Piece::Bool(value) = piece else { return Err(Misfit::WrongType("true or false")) };
        *self = value;
        Ok(())
    }
}

impl Field for bool {
    const ABSENT: Self = false;
}

macro_rules! integer {
    ($($type:ident),+) => {
        $(impl Slot for $type {
            fn clear(&mut self) {
                *self = 0;
            }

            fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
                let Piece::Integer(value) = piece else { return Err(Misfit::WrongType("an integer")) };
                *self = Self::try_from(value).map_err(|_| Misfit::OutOfRange)?;
                Ok(())
            }
        }

        impl Field for $type {
            const ABSENT: Self = 0;
        })+
    };
}

integer!(i8, i16, i32, i64, u8, u16, u32);

impl<F: Field> Slot for Option<F> {
    fn clear(&mut self) {
        *self = None;
    }

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
        self.get_or_insert(F::ABSENT).take(piece)
    }
}

impl<F: Field> Field for Option<F> {
    const ABSENT: Self = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::borrow::Borrow;
    use core::marker::PhantomData;

    /// Whether `T` may be looked up by a `str`: the inherent constant hides that of the trait where it applies.
    struct Lookup<T>(PhantomData<T>);

    impl<T: Borrow<str>> Lookup<T> {
        const BY_STR: bool = true;
    }

    trait NoLookup {
        const BY_STR: bool = false;
    }

    impl<T> NoLookup for Lookup<T> {}

    #[test]
    fn a_beginning_is_not_looked_up_by_its_text() {
        let (mut whole, mut cut) = (Beginning::<2>::ABSENT, Beginning::<2>::ABSENT);
        assert_eq!((whole.take(Piece::Text("ab")), cut.take(Piece::Text("abc"))), (Ok(()), Ok(())));
        assert_eq!(whole.as_str(), cut.as_str());
        assert_ne!(whole, cut);
        assert_eq!((Lookup::<Beginning<2>>::BY_STR, Lookup::<Text<2>>::BY_STR), (false, true));
    }
}
