use crate::text::Printable;
use alloc::string::{String, ToString};
use core::fmt;

/// Why a state cannot be saved, or a saved one not be used. The sentence says what to do; without a saved state, the
/// informer begins with a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedError {
    /// The [`Flash`](super::Flash) failed.
    Flash(String),
    /// It has no end: it was cut, or something stands behind it.
    Cut,
    /// Its checksum is not that of its bytes.
    Damaged,
    /// It is no saved state, or in a format that this version does not know.
    Unknown(String),
    /// It is of something else.
    Other {
        /// What differs: `server`, `certificate authority`, `cluster`, `resource` or `type of objects`.
        what: &'static str,
        /// That of the saved state.
        saved: String,
        /// That of the informer.
        here: String,
    },
    /// Neither a server nor a cluster names what it is of, so it may be another cluster's.
    Unnamed,
    /// An object of it cannot be written or read.
    Object(String),
    /// It is larger than the limit, in bytes.
    TooLarge(usize),
    /// The resource is confidential, and nobody asked for it to be saved.
    Confidential(String),
}

impl SavedError {
    pub(super) fn of_flash(error: impl fmt::Display) -> Self {
        Self::Flash(error.to_string())
    }
}

/// How many characters of a text from a file are shown.
const SHOWN: usize = 200;

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(error) => write!(f, "{}", Printable::new(error)),
            Self::Cut => f.write_str("its end is missing, so it was cut or changed"),
            Self::Damaged => f.write_str("its checksum is wrong, so its bytes are not those that were saved"),
            Self::Unknown(found) => write!(f, "it is no saved state of a known format: {}", Printable::new(found)),
            Self::Other { what, saved, here } => {
                let [saved, here] = [saved, here].map(|text| Printable::new(text).at_most(SHOWN));
                write!(f, "it is of another {what}: {saved}, and this is {here}")
            }
            Self::Unnamed => f.write_str("nothing names its cluster: name the server (`SaveTo::of`, `Origin::server`)"),
            Self::Object(error) => write!(f, "an object of it: {}", Printable::new(error)),
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes (`max_list_bytes`)"),
            Self::Confidential(resource) => write!(
                f,
                "{} may contain secrets, which are saved only on request (`include_secrets`)",
                Printable::new(resource).at_most(SHOWN)
            ),
        }
    }
}

impl core::error::Error for SavedError {}
