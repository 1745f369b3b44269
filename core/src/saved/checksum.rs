/// FNV-1a of 64 bits: a flipped bit always shows, because each step maps different sums to different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checksum(pub(super) u64);

impl Checksum {
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_published_vectors_however_the_text_is_cut() {
        for (text, sum) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            for cut in 0..=text.len() {
                let mut checksum = Checksum::new();
                let (head, tail) = text.as_bytes().split_at(cut);
                checksum.update(head);
                checksum.update(tail);
                assert_eq!(checksum, Checksum(sum), "{text}");
            }
        }
    }
}
