#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::ops::Deref;

/// A resource version. Only its server can read it; nearly all servers have decimal numbers of at most 20 digits.
///
/// A text of up to 22 bytes needs no memory of the heap, and a clone copies 24 bytes. Clones of a longer text share it.
/// Without the feature `alloc` there is no longer one.
///
/// ```
/// use listwatch_core::object::Version;
///
/// let version = Version::from("2453");
/// assert_eq!((&*version, version.to_string().as_str()), ("2453", "2453"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version(Form);

/// Each text has one form, so equal texts are equal versions.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    Short {
        len: u8,
        /// Zeros behind the text.
        text: [u8; SHORT],
    },
    #[cfg(feature = "alloc")]
    Long(Arc<str>),
}

/// The bytes of a text that is kept in place.
const SHORT: usize = 22;

impl Version {
    /// The version of this text; `None` if it is too long and there is no heap.
    pub fn copied(text: &str) -> Option<Self> {
        let mut short = [0; SHORT];
        match (short.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(text.as_bytes());
                Some(Self(Form::Short { len, text: short }))
            }
            _ => Self::long(text),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // The bytes were a text, so the default is never taken.
            Form::Short { len, text } => core::str::from_utf8(&text[..usize::from(*len)]).unwrap_or_default(),
            #[cfg(feature = "alloc")]
            Form::Long(text) => text,
        }
    }

    #[cfg(feature = "alloc")]
    #[expect(clippy::unnecessary_wraps, reason = "without a heap there is none")]
    fn long(text: &str) -> Option<Self> {
        Some(Self(Form::Long(text.into())))
    }

    #[cfg(not(feature = "alloc"))]
    fn long(_: &str) -> Option<Self> {
        None
    }
}

#[cfg(feature = "alloc")]
impl From<&str> for Version {
    fn from(text: &str) -> Self {
        Self::copied(text).unwrap_or_else(|| unreachable!("the heap has room"))
    }
}

/// The empty version, for an object that has none.
impl Default for Version {
    fn default() -> Self {
        Self(Form::Short { len: 0, text: [0; SHORT] })
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Version {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}", self.as_str());
    }
}

impl Deref for Version {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Compares two resource versions: decimal numbers of any length, the later one greater (KEP-5504).
///
/// Versions order the changes of one resource. Versions of two resources are not comparable.
///
/// ```
/// use core::cmp::Ordering;
/// use listwatch_core::object::compare_versions;
///
/// assert_eq!(compare_versions("99", "100"), Ok(Ordering::Less));
/// assert_eq!(compare_versions("18446744073709551617", "18446744073709551616"), Ok(Ordering::Greater));
/// assert!(compare_versions("100", "abc").is_err());
/// ```
///
/// # Errors
/// Fails if one of them is not a decimal number: then there is no order.
pub fn compare_versions(one: &str, other: &str) -> Result<Ordering, ParseVersionError> {
    let (one, other) = (digits(one)?, digits(other)?);
    Ok(one.len().cmp(&other.len()).then_with(|| one.cmp(other)))
}

/// Whether `one` is a version before `other`. It is not if they have no order.
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) fn is_older(one: &str, other: &str) -> bool {
    compare_versions(one, other) == Ok(Ordering::Less)
}

/// A resource version is not a decimal number, so it can be compared for equality only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseVersionError;

impl fmt::Display for ParseVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the resource version is not a decimal number, so it has no order")
    }
}

impl core::error::Error for ParseVersionError {}

/// The version without leading zeros.
pub(crate) fn digits(version: &str) -> Result<&str, ParseVersionError> {
    if version.is_empty() || !version.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ParseVersionError);
    }
    Ok(version.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_version_is_kept_in_place_and_equal_by_its_text() {
        assert_eq!(size_of::<Option<Version>>(), 24);
        for text in ["", "7", "18446744073709551615", "größe", "1234567890123456789012"] {
            let version = Version::copied(text).unwrap();
            assert_eq!((version.as_str(), &version), (text, &Version::copied(text).unwrap()));
            assert!(matches!(version.0, Form::Short { .. }));
        }
        assert_ne!(Version::copied("7"), Version::copied("70"));
    }

    #[test]
    fn a_long_version_is_kept_where_there_is_a_heap() {
        let text = "12345678901234567890123";
        let version = Version::copied(text);
        assert_eq!(version.as_deref(), cfg!(feature = "alloc").then_some(text));
    }

    #[test]
    fn leading_zeros_do_not_count() {
        assert_eq!(compare_versions("007", "7"), Ok(Ordering::Equal));
        assert_eq!(compare_versions("0", "00"), Ok(Ordering::Equal));
    }

    #[test]
    fn what_is_no_number_has_no_order() {
        for bad in ["", "-1", "1.0", "1 ", "v1"] {
            assert_eq!(compare_versions(bad, "1"), Err(ParseVersionError), "{bad:?}");
        }
    }
}
