use core::fmt;

/// A number, and what it counts: in words for one, and in words for any other number.
///
/// ```
/// use listwatch_core::text::Counted;
///
/// let kept = |objects: usize| Counted(objects, "object is kept", "objects are kept").to_string();
/// assert_eq!([0, 1, 2].map(kept), ["0 objects are kept", "1 object is kept", "2 objects are kept"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<N>(pub N, pub &'static str, pub &'static str);

impl<N: Copy + From<u8> + PartialEq + fmt::Display> fmt::Display for Counted<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, one, many) = *self;
        write!(f, "{number} {}", if number == N::from(1) { one } else { many })
    }
}
