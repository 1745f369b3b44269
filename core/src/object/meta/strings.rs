//! Strings in one text, each behind its length: a list of them costs one allocation, and is read without `unsafe`.

use alloc::string::String;

/// Six bits of a length in each byte, the lowest first. All bytes are ASCII, so the text stays a text.
const BITS: u32 = 6;
const MORE: u8 = 1 << BITS;

/// Appends a string to a packed text.
pub(super) fn push(packed: &mut String, string: &str) {
    let mut len = string.len();
    while len >= MORE as usize {
        packed.push(char::from((len as u8 % MORE) | MORE));
        len >>= BITS;
    }
    packed.push(char::from(len as u8));
    packed.push_str(string);
}

/// The strings of a packed text.
#[derive(Clone, Debug)]
pub(super) struct Strings<'a>(pub(super) &'a str);

impl<'a> Strings<'a> {
    /// The next string; empty behind the last one.
    #[inline]
    pub(super) fn next_or_empty(&mut self) -> &'a str {
        self.next().unwrap_or_default()
    }

    /// The strings of the next string, which is packed itself.
    pub(super) fn nested(&mut self) -> Self {
        Self(self.next_or_empty())
    }

    /// The strings, two by two.
    pub(super) fn pairs(mut self) -> impl Iterator<Item = (&'a str, &'a str)> {
        core::iter::from_fn(move || Some((self.next()?, self.next_or_empty())))
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        let first = *self.0.as_bytes().first()?;
        let (start, len) = if first < MORE { (1, first.into()) } else { self.long() };
        let (string, rest) = self.0.get(start..)?.split_at_checked(len)?;
        self.0 = rest;
        Some(string)
    }
}

impl Strings<'_> {
    /// The place and the length of a next string of 64 bytes or more.
    #[cold]
    fn long(&self) -> (usize, usize) {
        let (mut len, mut start) = (0, 0);
        for byte in self.0.bytes() {
            len |= usize::from(byte % MORE) << (BITS * start as u32);
            start += 1;
            if byte < MORE {
                break;
            }
        }
        (start, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn strings_of_every_length_come_back() {
        let long = "é".repeat(150_000);
        let lengths = (0..200).chain([4_095, 4_096, 4_097, 262_143, 262_144]);
        let strings: Vec<&str> = lengths.map(|len| &long[..len / 2 * 2]).collect();
        let mut packed = String::new();
        strings.iter().for_each(|string| push(&mut packed, string));
        assert!(Strings(&packed).eq(strings.iter().copied()));
        let pairs: Vec<_> = strings.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or_default())).collect();
        assert!(Strings(&packed).pairs().eq(pairs));
        let mut outer = String::new();
        [&*packed, "x"].iter().for_each(|string| push(&mut outer, string));
        let mut outer = Strings(&outer);
        assert!(outer.nested().eq(strings) && outer.eq(["x"]));
        assert_eq!((Strings("").next(), Strings("").next_or_empty()), (None, ""));
    }
}
