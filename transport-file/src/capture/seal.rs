//! The end of each line since version 2: its number in the file, and a checksum of the text before.

use crate::error::{CaptureErrorKind, Fault};

/// The version of the format that is written, which ends its lines so.
pub(crate) const VERSION: u64 = 2;

/// The texts around the number and the checksum, which end the line.
const NUMBER: &[u8] = b",\"n\":";
const CHECKSUM: &[u8] = b",\"crc\":\"";
const END: &[u8] = b"\"}";
/// How many digits a checksum has.
const DIGITS: usize = 8;

/// Ends a line, of which all but the closing brace stands behind `start`.
pub(super) fn seal(out: &mut Vec<u8>, start: usize, number: u64) {
    out.extend_from_slice(NUMBER);
    push_number(out, number);
    let checksum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(CHECKSUM);
    out.extend_from_slice(&digits(checksum));
    out.extend_from_slice(END);
}

/// Appends a number in digits, without the machinery of `write!`.
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let (mut digits, mut first) = ([0; 20], 20);
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[first..]);
        }
    }
}

/// Reads the number that a text begins with, and returns the text behind it.
pub(super) fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, rest) = text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count());
    Some((str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// Returns the line without its end, if it has one.
pub(super) fn content(line: &[u8]) -> Option<&[u8]> {
    Seal::of(line).map(|seal| seal.content)
}

/// The end of a line.
struct Seal<'l> {
    /// The text before the end.
    content: &'l [u8],
    number: u64,
    /// The text of the checksum.
    checked: &'l [u8],
    checksum: [u8; DIGITS],
}

impl<'l> Seal<'l> {
    fn of(line: &'l [u8]) -> Option<Self> {
        let (line, checksum) = line.strip_suffix(END)?.split_last_chunk::<DIGITS>()?;
        let checked = line.strip_suffix(CHECKSUM)?;
        let digits = checked.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (content, digits) = checked.split_at(checked.len() - digits);
        let (number, _) = number(digits)?;
        Some(Self { content: content.strip_suffix(NUMBER)?, number, checked, checksum: *checksum })
    }

    fn is_intact(&self) -> bool {
        digits(crc32fast::hash(self.checked)) == self.checksum
    }
}

fn digits(checksum: u32) -> [u8; DIGITS] {
    core::array::from_fn(|place| {
        let nibble = checksum >> (4 * (DIGITS - 1 - place)) & 15;
        b"0123456789abcdef"[nibble as usize]
    })
}

/// Checks the lines of a file against those that were written. Files of version 1 have nothing to check.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineCheck {
    /// Whether the lines have checksums; `None` before the first line.
    is_sealed: Option<bool>,
    /// The number of the last line.
    last: u64,
}

impl LineCheck {
    /// Checks that the line is whole, and follows the last one that was checked.
    pub(crate) fn next(&mut self, line: &[u8]) -> Result<(), Fault> {
        let Some(number) = self.number(line)? else { return Ok(()) };
        let expected = self.last + 1;
        self.last = number;
        if number == expected { Ok(()) } else { Err(out_of_order(number, expected)) }
    }

    /// Checks that the line is whole, wherever it stands.
    pub(crate) fn whole(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.number(line).map(drop)
    }

    /// The number of a whole line; `None` in a file without checksums.
    fn number(&mut self, line: &[u8]) -> Result<Option<u64>, Fault> {
        if !*self.is_sealed.get_or_insert_with(|| is_sealed(line)) {
            return Ok(None);
        }
        match Seal::of(line) {
            Some(seal) if seal.is_intact() => Ok(Some(seal.number)),
            Some(_) => Err(damaged()),
            None => {
                let killed = "as the last line does if the recording was killed";
                Err(Fault::breaks_off(format_args!("column {}, before its checksum, {killed}", line.len())))
            }
        }
    }
}

/// Whether the lines of a file with this first line have checksums.
fn is_sealed(first: &[u8]) -> bool {
    match first.strip_prefix(b"{\"capture\":").and_then(number) {
        Some((version, _)) => version == VERSION,
        // The first line may be missing.
        None => Seal::of(first).is_some(),
    }
}

const REMEDY: &str =
    "copy the file again, or, if it was edited, write \"capture\":1 into its first line to play it unchecked";

fn damaged() -> Fault {
    let message = format!("the line is not as it was recorded, by its checksum; {REMEDY}");
    Fault::new(CaptureErrorKind::Damaged, message)
}

fn out_of_order(found: u64, expected: u64) -> Fault {
    let what = format!("line {found} of the recording stands where line {expected} belongs");
    Fault::new(CaptureErrorKind::Order, format!("{what}: lines are missing or out of order; {REMEDY}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(number: u64) -> Vec<u8> {
        let mut line = b"before{\"t\":1".to_vec();
        seal(&mut line, 6, number);
        line.split_off(6)
    }

    #[test]
    fn a_line_ends_with_its_number_and_the_checksum_of_gzip() {
        let checked = b"{\"t\":1,\"n\":20";
        let expected = format!("{},\"crc\":\"{:08x}\"}}", str::from_utf8(checked).unwrap(), crc32fast::hash(checked));
        assert_eq!(str::from_utf8(&sealed(20)), Ok(&*expected));
        let numbers = [0, 9, 10, u64::MAX].map(|number| Seal::of(&sealed(number)).map(|seal| seal.number));
        assert_eq!(numbers, [0, 9, 10, u64::MAX].map(Some));
    }

    #[test]
    fn each_flipped_bit_of_a_line_is_found() {
        let mut check = LineCheck { is_sealed: Some(true), last: 19 };
        assert!(check.next(&sealed(20)).is_ok());
        for bit in 0..8 * sealed(20).len() {
            let mut line = sealed(20);
            line[bit / 8] ^= 1 << (bit % 8);
            let kind = check.whole(&line).map_err(|fault| fault.kind);
            assert!(matches!(kind, Err(CaptureErrorKind::Damaged | CaptureErrorKind::Garbled)), "{bit}: {kind:?}");
        }
    }

    #[test]
    fn the_first_line_tells_whether_lines_are_checked() {
        let is_sealed = |first: &str| is_sealed(first.as_bytes());
        assert!(is_sealed(r#"{"capture":2,"n":1,"crc":"00000000"}"#) && is_sealed(r#"{"capture":2}"#));
        assert!(is_sealed(r#"{"t":0,"id":1,"end":"eof","n":7,"crc":"00000000"}"#), "the first line is missing");
        for first in [r#"{"capture":1,"n":1,"crc":"00000000"}"#, r#"{"capture": 1}"#, r#"{"capture":3}"#, r#"{"t":0}"#]
        {
            assert!(!is_sealed(first), "{first}");
        }
    }
}
