//! Counts the values of arrays.

use super::block::Block;
use super::scan::{Scanner, first};

/// How many values arrays have that are read in the order of a text. The arrays inside of an array are counted in the
/// same pass.
#[derive(Debug)]
pub(crate) struct Counts {
    /// The arrays of the last pass, in the order in which they open.
    arrays: [Array; Self::ARRAYS],
    len: usize,
    /// The first one that may still be asked for.
    next: usize,
    /// Where the inside of the first one begins.
    start: usize,
}

#[derive(Clone, Copy, Debug)]
struct Array {
    /// Where the inside begins, from the start on.
    at: u16,
    /// Zero if the array goes on behind the bytes that were looked at.
    values: u16,
    /// The array around it, by its index.
    around: u8,
}

/// The brackets that are open.
struct OpenBrackets {
    /// The innermost array that is counted, by its index.
    array: u8,
    /// A bit for each bracket, the innermost one's lowest: whether it is an array that is counted. One more bit stands
    /// above them.
    counted: u64,
}

impl Counts {
    /// How many arrays a pass counts at most. Those behind them need another pass.
    const ARRAYS: usize = 32;

    /// How many bytes a pass looks at, at most.
    const BYTES: usize = 16 * 1024;

    pub(crate) const fn new() -> Self {
        Self { arrays: [Array { at: 0, values: 0, around: 0 }; Self::ARRAYS], len: 0, next: 0, start: 0 }
    }

    /// How many values the array has whose inside begins here, with these bytes. If it goes on behind those that a pass
    /// looks at, the values that end within them are counted, and the one that is cut.
    pub(crate) fn values_at(&mut self, at: usize, inside: &[u8]) -> usize {
        if let Some(values) = self.known(at) {
            return values;
        }
        (self.len, self.next, self.start) = (0, 0, at);
        let unfinished = self.count(&inside[..inside.len().min(Self::BYTES)]);
        self.forget(unfinished);
        self.arrays[0].values.into()
    }

    #[inline]
    fn known(&mut self, at: usize) -> Option<usize> {
        let at = at.checked_sub(self.start)?;
        let arrays = &self.arrays[..self.len];
        let passed = arrays.get(self.next..)?.iter().take_while(|array| usize::from(array.at) < at).count();
        self.next += passed;
        let array = arrays.get(self.next).filter(|array| usize::from(array.at) == at && array.values > 0)?;
        Some(array.values.into())
    }

    /// Counts the values of an array with this inside, and of the arrays in it. Returns the innermost one whose end did
    /// not come.
    fn count(&mut self, inside: &[u8]) -> u8 {
        /// Joined with these bits, all brackets are one byte. So are `Y`, `y` and `_`, which are no braces below.
        const BRACKETS: u8 = b'[' ^ b'{' | b'[' ^ b']';
        /// Joined with this bit, a bracket is a brace.
        const BRACE: u8 = b'[' ^ b'{';
        let (mut scanner, mut open) = (Scanner::default(), OpenBrackets { array: 0, counted: 1 });
        self.open(&mut open, 0);
        for (start, bytes) in (0..).step_by(Block::LEN).zip(inside.chunks(Block::LEN)) {
            let block = Block::first_of(bytes);
            let quotes = scanner.quotes(block, bytes.len());
            let outside = !scanner.strings(quotes);
            let mut brackets = block.equal_with(BRACKETS, b'[' | BRACKETS) & outside;
            let mut commas = block.equal(b',') & outside;
            loop {
                let bracket = brackets & brackets.wrapping_neg();
                let before = bracket.wrapping_sub(1);
                if open.counted & 1 == 1 {
                    self.array(open.array).values += few(commas & before);
                }
                let Some(at) = first(bracket) else { break };
                match (bytes[at] | BRACE, bytes[at]) {
                    (b'{', _) if open.is_full() => return open.array,
                    (b'{', b'[') => self.open(&mut open, start + at + 1),
                    (b'{', _) => open.counted <<= 1,
                    (b'}', _) if open.is_last() => return 0,
                    (b'}', _) => self.close(&mut open),
                    _ => {}
                }
                (brackets, commas) = (brackets ^ bracket, commas & !before);
            }
        }
        open.array
    }

    fn array(&mut self, index: u8) -> &mut Array {
        &mut self.arrays[usize::from(index) % Self::ARRAYS]
    }

    /// An array begins. It is counted if there is room.
    #[inline]
    fn open(&mut self, open: &mut OpenBrackets, at: usize) {
        open.counted <<= 1;
        if self.len < Self::ARRAYS {
            self.arrays[self.len] = Array { at: at as u16, values: 1, around: open.array };
            (open.array, open.counted) = (self.len as u8, open.counted | 1);
            self.len += 1;
        }
    }

    #[inline]
    fn close(&mut self, open: &mut OpenBrackets) {
        if open.counted & 1 == 1 {
            open.array = self.array(open.array).around;
        }
        open.counted >>= 1;
    }

    /// Forgets what was counted of an array, and of those around it but the first one.
    fn forget(&mut self, mut unfinished: u8) {
        while unfinished > 0 {
            let array = self.array(unfinished);
            (array.values, unfinished) = (0, array.around);
        }
    }
}

impl OpenBrackets {
    /// Whether no more brackets can be noted.
    fn is_full(&self) -> bool {
        self.counted >> (u64::BITS - 1) == 1
    }

    /// Whether nothing is open but the first array.
    fn is_last(&self) -> bool {
        self.counted == 0b11
    }
}

/// Counts bits that are few.
#[inline]
fn few(mut bits: u64) -> u16 {
    let mut count = 0;
    while bits != 0 {
        bits &= bits - 1;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn count(inside: &str) -> usize {
        Counts::new().values_at(0, inside.as_bytes())
    }

    /// The places in `text` where an array's inside begins, each with the number of its values that a pass of its own
    /// counts.
    fn arrays(text: &str) -> Vec<(usize, usize)> {
        let insides = text.match_indices('[').map(|(at, _)| at + 1);
        insides.map(|at| (at, count(&text[at..]))).collect()
    }

    #[test]
    fn the_values_of_an_array_are_counted_whatever_is_inside_of_them() {
        const VALUES: [&str; 8] = [
            "1",
            "[]",
            "{}",
            r#""],[""#,
            r#""\",\\""#,
            r#"{"a":[1,{"b":2}],"y_":"~,"}"#,
            "[[1,2],[3,4,[5]]]",
            "\n null",
        ];
        for len in 1..100 {
            let values: Vec<&str> = (0..len).map(|at| VALUES[at * at % 11 % VALUES.len()]).collect();
            let inside = [&values.join(","), "] ,1,2"].concat();
            assert_eq!(count(&inside), len, "{inside}");
        }
    }

    #[test]
    fn of_an_array_without_its_end_the_values_up_to_there_are_counted() {
        assert_eq!(count("1,[2,3],{"), 3);
        assert_eq!(count(&"1,".repeat(100)), 101);
    }

    #[test]
    fn an_array_inside_of_another_one_is_counted_as_by_itself() {
        let element = r#"{"a":[1,[2,3],{"b":[4]}],"c":"text, of some length"},[[5,6],[7,[8]],9]"#;
        for text in [element.into(), [element; 3].join(","), [element; 20].join(","), [element; 1000].join(",")] {
            let text: String = format!("[{text}]");
            let arrays = arrays(&text);
            for passed_over in 1..5 {
                let mut counts = Counts::new();
                for (at, values) in arrays.iter().step_by(passed_over) {
                    assert_eq!(counts.values_at(*at, &text.as_bytes()[*at..]), *values, "{at} of {text}");
                    assert_eq!(counts.values_at(*at, &text.as_bytes()[*at..]), *values, "{at} of {text}, again");
                }
            }
        }
    }

    #[test]
    fn one_pass_serves_the_arrays_inside_of_an_array() {
        let text = "[[1,2],[3]],[4,5,6]]";
        let mut counts = Counts::new();
        assert_eq!(counts.values_at(0, text.as_bytes()), 2);
        // These bytes have no such arrays, so what they have is not counted.
        assert_eq!([1, 2, 8].map(|at| counts.values_at(at, b"]")), [2, 2, 1]);
        assert_eq!(counts.values_at(13, b"]"), 3);
    }

    #[test]
    fn brackets_that_nest_without_end_are_counted_without_a_panic() {
        for text in ["[", "{", "[1,{", "[{\"a\":"] {
            let text = text.repeat(10_000);
            assert!(count(&text) < 20_000);
            let mut counts = Counts::new();
            let all = (0..1000).map(|at| counts.values_at(at, &text.as_bytes()[at..]));
            assert!(all.max() < Some(20_000));
        }
    }
}
