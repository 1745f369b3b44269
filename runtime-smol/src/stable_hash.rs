//! Hashes that go into the delays of a tape: another build of the program has to draw the same.

/// FNV-1a of 64 bits (Fowler, Noll and Vo), with the last step of SplitMix64 (Steele, Lea and Flood) to spread the result
/// over all bits. `std`'s hasher may be another one in each release of Rust.
#[derive(Clone, Copy)]
pub(crate) struct StableHash(u64);

impl StableHash {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Takes a text and its end, which is a byte that no text has.
    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    pub(crate) fn finish(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_build_draws_other_delays_than_the_one_that_recorded() {
        let seed = |seed, name| StableHash::new().number(seed).text(name).finish();
        assert_eq!(seed(42, "sample-controller"), 0x6b28_1611_6b74_1711);
        assert_eq!(seed(42, "/apis/apps/v1/deployments"), 0xb77c_1c5f_7c2d_e1af);
        assert_ne!(seed(42, "ab"), StableHash::new().number(42).text("a").text("b").finish());
    }
}
