use alloc::sync::Arc;
use core::fmt;

/// The uid of an object: `metadata.uid` (apimachinery `types.UID`).
///
/// The API server gives every object a new one when it is created, so two objects of one name differ by it.
///
/// A uid is text, and this type keeps it exactly. The canonical form (RFC 4122), in lowercase, takes 16 bytes and no
/// allocation. Any other text, such as that of the kubelet's static pods, is allocated once, and its clones share it.
///
/// ```
/// use listwatch_core::object::Uid;
///
/// let uid = Uid::from("0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04");
/// assert_eq!(uid.to_string(), "0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04");
/// assert_ne!(uid, Uid::from("0A8B15C2-7D23-4B6B-9A3E-5F1F6D2C9E04"), "the API server compares the text, too");
/// ```
///
/// The order is total. Among uids in the canonical form it is that of their text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Form);

/// Each text has one form, so equal texts are equal uids.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Canonical([u8; 16]),
    Other(Arc<str>),
}

/// Where the canonical form has its dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];

impl Uid {
    /// The length of the canonical form, in bytes: that of the buffer of [`encode`](Self::encode).
    pub const CANONICAL_LEN: usize = 36;

    /// The text, without an allocation: written to the buffer, or borrowed where the uid has no common form.
    ///
    /// ```
    /// use listwatch_core::object::Uid;
    ///
    /// let uid = Uid::from("0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04");
    /// let mut buffer = [0; Uid::CANONICAL_LEN];
    /// assert_eq!(uid.encode(&mut buffer), "0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04");
    /// ```
    pub fn encode<'a>(&'a self, buffer: &'a mut [u8; Self::CANONICAL_LEN]) -> &'a str {
        match &self.0 {
            Form::Canonical(bytes) => write(bytes, buffer),
            Form::Other(text) => text,
        }
    }
}

/// Takes the text as it is. Empty text stands for no uid wherever the API has it: [`Meta::uid`](super::Meta::uid) is
/// `None` then.
impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(pack(text).map_or_else(|| Form::Other(text.into()), Form::Canonical))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.encode(&mut [0; Self::CANONICAL_LEN]))
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.encode(&mut [0; Self::CANONICAL_LEN]))
    }
}

/// Sixteen bytes in the canonical form; `None` for any other text.
fn pack(text: &str) -> Option<[u8; 16]> {
    if text.len() != Uid::CANONICAL_LEN {
        return None;
    }
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (at, byte) in text.bytes().enumerate() {
        let digit = match byte {
            b'-' if DASHES.contains(&at) => continue,
            _ if DASHES.contains(&at) => return None,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        bytes[digits / 2] = bytes[digits / 2] << 4 | digit;
        digits += 1;
    }
    Some(bytes)
}

/// The text that [`pack`] has read.
fn write<'a>(bytes: &[u8; 16], buffer: &'a mut [u8; Uid::CANONICAL_LEN]) -> &'a str {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| b"0123456789abcdef"[digit as usize]);
    let mut len = 0;
    for digit in digits {
        if DASHES.contains(&len) {
            buffer[len] = b'-';
            len += 1;
        }
        buffer[len] = digit;
        len += 1;
    }
    core::str::from_utf8(&buffer[..len]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const CANONICAL: &str = "0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04";
    const OF_STATIC_POD: &str = "3c9d1e6a0b7f48d2a5e4c6b8f0123456";

    #[test]
    fn every_text_comes_back_exactly() {
        let others = ["", "u-1", "-", "0A8B15C2-7D23-4B6B-9A3E-5F1F6D2C9E04", "0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9eé"];
        let displaced = "0a8b15c27-d23-4b6b-9a3e-5f1f6d2c9e04";
        let long = "0a8b15c2-7d23-4b6b-9a3e-5f1f6d2c9e04-and-more";
        for text in others.into_iter().chain([CANONICAL, OF_STATIC_POD, displaced, long]) {
            assert_eq!(Uid::from(text).to_string(), text);
            assert_eq!(Uid::from(text), Uid::from(text));
        }
    }

    #[test]
    fn the_canonical_form_is_packed() {
        assert!(matches!(Uid::from(CANONICAL).0, Form::Canonical(_)));
        assert!(matches!(Uid::from(OF_STATIC_POD).0, Form::Other(_)));
        assert!(size_of::<Option<Uid>>() <= 24, "{}", size_of::<Option<Uid>>());
    }

    #[test]
    fn texts_that_differ_only_in_form_are_not_one_uid() {
        let bare = CANONICAL.replace('-', "");
        let texts = [CANONICAL, &bare, &CANONICAL.to_uppercase()];
        for (n, one) in texts.iter().enumerate() {
            assert!(texts[n + 1..].iter().all(|other| Uid::from(*one) != Uid::from(*other)), "{one}");
        }
    }

    #[test]
    fn canonical_uids_are_in_the_order_of_their_text() {
        let texts = ["00000000-0000-0000-0000-00000000000a", CANONICAL, "f0000000-0000-0000-0000-000000000000"];
        assert!(texts.is_sorted() && texts.map(Uid::from).is_sorted());
    }
}
