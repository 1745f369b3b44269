/// The beginning of a text, of at most `N` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Short<N> {
    pub(super) const EMPTY: Self = Self { bytes: [0; N], len: 0 };

    /// The beginning of `text`.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut short = Self::EMPTY;
        text.iter().take(N).for_each(|byte| short.push(*byte));
        short
    }

    /// Appends a byte, if there is room.
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The text; empty if it is no UTF-8.
    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == N
    }

    pub(super) fn make_ascii_lowercase(&mut self) {
        self.bytes.make_ascii_lowercase();
    }
}
