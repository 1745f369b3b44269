use super::field::{Beginning, Field};
use crate::text::write_status;
use core::fmt;
use core::time::Duration;

/// `metav1.Status`: the reason that an API server gives for a failure. A field of the wrong type counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status code, also of an error event in a watch.
    pub code: u16,
    /// The reason for programs, such as `Expired`.
    pub reason: Beginning<{ Self::REASON }>,
    /// The beginning of the message for operators.
    pub message: Beginning<{ Self::MESSAGE }>,
    pub(super) retry_after: u32,
    /// Cut where a cause says that the version is too large.
    pub(super) too_large: Beginning<0>,
}

impl Status {
    pub(super) const ABSENT: Self = Self {
        code: 0,
        reason: Beginning::ABSENT,
        message: Beginning::ABSENT,
        retry_after: 0,
        too_large: Beginning::ABSENT,
    };

    /// The bytes of a reason that are kept.
    pub const REASON: usize = 32;
    /// The bytes of a message that are kept.
    pub const MESSAGE: usize = 160;

    /// Whether the requested version or continue token has expired: `410`, by code or by reason (client-go
    /// `isExpiredError`).
    pub fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    /// Whether the requested version is newer than the server's (client-go `isTooLargeResourceVersionError`).
    pub fn is_version_too_large(&self) -> bool {
        self.too_large.is_cut() || self.reason == "Timeout" && names_version(self.message.as_bytes())
    }

    /// The delay that the server requests (`details.retryAfterSeconds`); `None` where it is zero or absent.
    pub fn retry_after(&self) -> Option<Duration> {
        (self.retry_after > 0).then(|| Duration::from_secs(self.retry_after.into()))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_status(f, self.code, &self.reason, &self.message)
    }
}

/// Whether a message says that a version is too large. The search of strings takes twice the code.
fn names_version(message: &[u8]) -> bool {
    const TOLD: &[u8] = b"Too large resource version";
    message.windows(TOLD.len()).any(|part| part == TOLD)
}
