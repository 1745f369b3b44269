//! The text of a body as a string of JSON, eight bytes at a time.

/// Appends a text as a string of JSON, as `serde_json` writes it.
///
/// A body of JSON has a quotation mark every few bytes. `serde_json` copies what stands between two of them by a call
/// each, which takes four times as long.
pub(super) fn escape(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + text.len() / 4 + 2);
    out.push(b'"');
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    for word in words {
        match special(u64::from_le_bytes(*word)) {
            0 => out.extend_from_slice(word),
            special => escape_word(word, special, out),
        }
    }
    rest.iter().for_each(|byte| escape_byte(*byte, out));
    out.push(b'"');
}

/// Appends a word, of which these bytes are special.
fn escape_word(word: &[u8; 8], mut special: u64, out: &mut Vec<u8>) {
    let (mut word, mut left) = (u64::from_le_bytes(*word), 8);
    while special != 0 {
        let plain = special.trailing_zeros() as usize / 8;
        push_first(word, plain, out);
        word >>= 8 * plain;
        escape_byte(word as u8, out);
        // In two steps, because all bits may go.
        (word, special) = (word >> 8, special >> (8 * plain) >> 8);
        left -= plain + 1;
    }
    push_first(word, left, out);
}

/// Appends the first bytes of a word. A copy of a whole word takes less than a call that copies some bytes.
fn push_first(word: u64, count: usize, out: &mut Vec<u8>) {
    let len = out.len() + count;
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(len);
}

/// The highest bit of each byte that may need an escape. Behind one that does, another one may be marked by a carry, so
/// that each byte is looked at again.
fn special(word: u64) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let below = |word: u64, limit: u64| word.wrapping_sub(LOW * limit) & !word;
    let equal = |byte: u8| below(word ^ (LOW * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH
}

fn escape_byte(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' => return out.extend_from_slice(b"\\\""),
        b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..0x20 => {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
        _ => return out.push(byte),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_escaped_as_serde_json_escapes_it() {
        let all: String = (0..=0x7f_u8).map(char::from).chain("äß\u{1f642}€".chars()).collect();
        let marked = ["\"a\\b\n!#[]", r#"{"kind":"Pod","n":"\"\\"}"#, "\u{1}\u{2}!\"#\u{1f}\u{20}"];
        for text in marked.into_iter().chain([all.as_str()]) {
            for (from, _) in text.char_indices() {
                for (to, _) in text.char_indices().filter(|(to, _)| *to >= from) {
                    let mut escaped = Vec::new();
                    escape(&text[from..to], &mut escaped);
                    assert_eq!(str::from_utf8(&escaped), Ok(&*serde_json::to_string(&text[from..to]).unwrap()));
                }
            }
        }
    }
}
