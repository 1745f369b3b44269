use core::cmp::Ordering;
use core::fmt;

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
