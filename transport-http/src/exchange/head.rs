use super::short::Short;
use core::fmt;
use core::time::Duration;
use listwatch_core::transport::ResponseHead;

/// The status of an answer, and the headers that the machines use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) media_type: Option<Short<48>>,
}

impl Head {
    /// The status code: 200 to 999, without 1xx.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The delay that the server requests (`Retry-After`). A date counts from the answer's own `Date`.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The media type, in lower case and without parameters; 48 bytes of it at most.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.media_type.as_ref().map(Short::as_str)
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("status", &self.status)
            .field("retry_after", &self.retry_after)
            .field("content_type", &self.content_type())
            .finish()
    }
}

/// Without core's feature `alloc`, a media type that the machines do not tell apart is left out.
impl From<Head> for ResponseHead {
    fn from(head: Head) -> Self {
        let header = |name: &str| head.content_type().filter(|_| name == "content-type");
        Self { retry_after: head.retry_after, ..Self::from_headers(head.status, header) }
    }
}
