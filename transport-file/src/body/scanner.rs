/// The lowest bit of each byte of a word.
const ONES: u64 = u64::MAX / 0xff;
/// The highest bit of each byte of a word.
const HIGH: u64 = ONES << 7;
const WORD: usize = size_of::<u64>();
const BLOCK: usize = 8 * WORD;

/// Finds the end of a JSON value of any size by its brackets.
///
/// Every byte of a large list passes through, so blocks are scanned a word at a time if they are simple enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueScanner {
    depth: u64,
    in_string: bool,
    /// Whether a backslash escapes the next byte.
    escaped: bool,
    closed: bool,
}

impl ValueScanner {
    /// Whether the value has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns how many of `bytes` belong to the value or are white space behind it.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while !self.closed && at < bytes.len() {
            let rest = &bytes[at..];
            match rest.first_chunk().and_then(|block| self.after_block(block)) {
                Some(after) => {
                    *self = after;
                    at += BLOCK;
                }
                None => at += self.follow_bytes(&rest[..rest.len().min(BLOCK)]),
            }
        }
        at + bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
    }

    /// Scans byte by byte, up to the last bracket, and returns how many bytes that were.
    fn follow_bytes(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            let escaped = std::mem::replace(&mut self.escaped, false);
            match byte {
                b'\\' => self.escaped = !escaped,
                b'"' if !escaped => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed = self.depth == 0;
                }
                _ => {}
            }
            if self.closed {
                return at + 1;
            }
        }
        bytes.len()
    }

    /// The state behind a block.
    ///
    /// `None` if it must be scanned byte by byte, because the value may end in it or a backslash escapes another.
    fn after_block(&self, block: &[u8; BLOCK]) -> Option<Self> {
        let mut in_string = if self.in_string { ONES } else { 0 };
        let mut escape = u64::from(self.escaped) << 7;
        let (mut opening, mut closing, mut double) = (0, 0, 0);
        for word in block.as_chunks::<WORD>().0 {
            let word = u64::from_le_bytes(*word);
            let backslashes = matches(word, b'\\');
            let escaped = (backslashes << 8) | escape;
            double |= backslashes & escaped;
            escape = backslashes >> (u64::BITS - 8);
            // The product adds to each byte those before it. The lowest bit is the parity of the quotes up to there.
            let quotes = (matches(word, b'"') & !escaped) >> 7;
            in_string ^= quotes.wrapping_mul(ONES) & ONES;
            // This bit is the difference between brackets and braces.
            let braces = word | (ONES * 0x20);
            opening += (matches(braces, b'{') >> 7) & !in_string;
            closing += (matches(braces, b'}') >> 7) & !in_string;
            in_string = (in_string >> (u64::BITS - 8)) * ONES;
        }
        let (opening, closing) = (sum(opening), sum(closing));
        (double == 0 && self.depth > closing).then(|| Self {
            depth: self.depth + opening - closing,
            in_string: in_string != 0,
            escaped: escape != 0,
            closed: false,
        })
    }
}

/// Sets the highest bit of each byte of `word` that equals `byte`.
const fn matches(word: u64, byte: u8) -> u64 {
    let others = word ^ (ONES * byte as u64);
    !(((others & !HIGH) + !HIGH) | others) & HIGH
}

/// The sum of the bytes, which must be below 256.
const fn sum(bytes: u64) -> u64 {
    bytes.wrapping_mul(ONES) >> (u64::BITS - 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of `text` belongs to the value, and whether it is closed, however it is cut into two pieces.
    fn follow(text: &str) -> (&str, bool) {
        let mut found = (0..=text.len()).map(|cut| {
            let (mut outline, (head, tail)) = (ValueScanner::default(), text.as_bytes().split_at(cut));
            let mut len = outline.follow(head);
            if len == cut {
                len += outline.follow(tail);
            }
            (&text[..len], outline.is_closed())
        });
        let first = found.next().unwrap();
        assert!(found.all(|other| other == first), "{text}");
        first
    }

    #[test]
    fn a_value_is_closed_by_its_last_bracket_however_it_is_cut() {
        for whole in ["{}", r#" {"a":[{"b":"}\"]\\"},7]} "#, "{\"a\":[]}\n\n"] {
            assert_eq!(follow(whole), (whole, true));
        }
        for open in ["", "{", r#"{"a":[{}]"#, r#"{"a":"}"#, r#"{"a":"\"}"#] {
            assert_eq!(follow(open), (open, false));
        }
    }

    #[test]
    fn what_is_behind_the_white_space_does_not_belong_to_the_value() {
        assert_eq!(follow("{} \n{}"), ("{} \n", true));
        assert_eq!(follow("{}]"), ("{}", true));
    }

    #[test]
    fn any_text_is_followed_by_words_as_it_is_by_bytes() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut closed = 0;
        for _ in 0..2000 {
            let mut text = b"[[{[{[".to_vec();
            text.extend((0..500).map(|_| b"\"\\{}[]{}:,a \x7f\xff\x02Z|~\xdb\xfb"[random(20)]));
            let (mut by_words, mut by_bytes) = (ValueScanner::default(), ValueScanner::default());
            let len = by_bytes.follow_bytes(&text);
            let white = text[len..].iter().take_while(|byte| **byte == b' ').count();
            assert_eq!(by_words.follow(&text), len + white);
            assert_eq!(format!("{by_words:?}"), format!("{by_bytes:?}"));
            closed += usize::from(by_words.is_closed());
        }
        assert!((200..1800).contains(&closed), "{closed}");
    }
}
