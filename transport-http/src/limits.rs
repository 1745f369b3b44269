use listwatch_core::api::Method;
use std::time::Duration;

/// The limits of one cluster's requests. [`ClusterOptions`](crate::ClusterOptions) documents and sets them.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) connect_timeout: Duration,
    /// `None` for no limit.
    pub(crate) idle_timeout: Option<Duration>,
    /// `None` for the system's own.
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) exec_timeout: Duration,
    /// Lists and single requests.
    pub(crate) max_requests: usize,
    pub(crate) max_watches: usize,
    /// How long a request waits where its limit is reached.
    pub(crate) wait_timeout: Duration,
    /// In bytes, decompressed.
    pub(crate) max_response: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Some(Duration::from_secs(60)),
            keep_alive: Some(Duration::from_secs(50)),
            exec_timeout: Duration::from_secs(60),
            max_requests: 256,
            max_watches: 1024,
            wait_timeout: Duration::from_secs(10),
            max_response: 128 << 20,
        }
    }
}

/// For the answer to a write, which is one object: an API server stores none of more than 1.5 MiB.
const MAX_WRITTEN: usize = 16 << 20;

impl Limits {
    /// The most bytes of a response to this method. A delete may be that of a collection, and answered with a list.
    pub(crate) fn max_response_to(&self, method: Method) -> usize {
        match method {
            Method::Get | Method::Delete => self.max_response,
            Method::Post | Method::Put | Method::Patch => self.max_response.min(MAX_WRITTEN),
        }
    }
}
