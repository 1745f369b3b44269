//! Comparing short texts.

/// Whether both are equal. Index values and names of labels are short, so that calling the system's `memcmp` takes
/// longer than comparing.
#[inline]
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len()
        && match a.len() {
            0..2 => a.first() == b.first(),
            2..4 => have_same_ends::<2>(a, b),
            4..8 => have_same_ends::<4>(a, b),
            8..=16 => have_same_ends::<8>(a, b),
            _ => a == b,
        }
}

/// Whether the first and the last bytes are the same, which may overlap.
#[inline]
fn have_same_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk() && a.last_chunk::<N>() == b.last_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_at_any_place_of_any_length_is_seen() {
        let text = "abcdefghijklmnopqrstuvwxyz";
        for len in 0..text.len() {
            let text = &text[..len];
            assert!(is_same(text, text) && !is_same(text, &text[..len.saturating_sub(1)]) || len == 0);
            for at in 0..len {
                let other = [&text[..at], "!", &text[at + 1..]].concat();
                assert!(!is_same(text, &other) && !is_same(&other, text), "{other}");
            }
        }
    }
}
