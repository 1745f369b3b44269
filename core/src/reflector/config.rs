use super::Backoff;
use core::time::Duration;

/// The configuration of a [`Reflector`](crate::Reflector). A program starts from [`default`](Self::default) and sets
/// fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorConfig {
    /// How recent a state the server must return. Default: [`Consistency::NotOlderThan`].
    pub consistency: Consistency,
    /// How many objects a page of a list has at most; `None` for no pages. A list with a minimum version has no pages,
    /// as in client-go, so that a server can answer it from its watch cache. Default: 500, as in client-go.
    pub page_size: Option<u32>,
    /// Whether the state is requested by a watch-list first (`sendInitialEvents`). If the server refuses, a list
    /// follows. Default: `true`.
    pub watch_list: bool,
    /// The least and the greatest `timeoutSeconds` of a watch. The reflector draws one between them, in whole seconds
    /// and at least one. `None` leaves the timeout to the server. Default: 5 to 10 minutes, as in client-go.
    ///
    /// With `None`, the reflector sets no limit for a silent watch before two bookmarks have come. A half-open
    /// connection is then detected by the transport alone. [`bookmark_overdue`](Self::bookmark_overdue) only changes
    /// the status. client-go uses HTTP/2 pings (30 s of silence, 15 s for the answer).
    pub watch_timeout: Option<(Duration, Duration)>,
    /// For how long after its timeout, or after its last byte, a watch may stay open before the reflector aborts it.
    /// Default: 30 s.
    pub watch_margin: Duration,
    /// The limit of silence for a request without a response, a list, or the initial events of a watch-list. After it,
    /// the reflector aborts the request. `None` sets no limit. Default: 60 s.
    pub answer_timeout: Option<Duration>,
    /// The bytes of a list, of initial events, or of a refusal that must arrive within five `answer_timeout`s. A
    /// response may end before. 0 sets no limit. Default: 64 KiB, which is 218 bytes a second with the default timeout.
    /// An object of 1.5 MB may take two hours. A list at a byte a second is aborted after five minutes.
    pub min_list_progress: usize,
    /// How many pages a list may have before the reflector rejects it as too large. Default: 10,000. With 500 objects
    /// each, that is more than an API server holds.
    pub max_pages: u32,
    /// For how long a watch may bring neither event nor bookmark before its version counts as overdue; `None` for no
    /// limit. Default: 180 s.
    ///
    /// Servers that send bookmarks send one a minute. Once two have come about a minute apart, a limit applies: two and
    /// a half times their distance, or this long. A watch that brings nothing for that time is made again, because its
    /// connection may be half open. Otherwise an overdue watch goes on, and the status shows it. If such a watch ends
    /// without an event, a relist follows. Of several in a row, the 2nd, 4th, 8th and 16th lead to a relist, then every
    /// 16th. The server may have been restored from a backup.
    pub bookmark_overdue: Option<Duration>,
    /// The delays after failures. Default: [`Backoff::default`].
    pub backoff: Backoff,
    /// Over how much time clients spread their requests after they lost a healthy watch at the same moment. Clients
    /// with the same `Retry-After` spread over it too, or over a quarter of that header's time where it is longer. Zero
    /// suits a client that is the only one. Default: 1 s.
    pub reconnect_jitter: Duration,
    /// The seed of jitter and hashes. If it is `None`, the runtime draws one from the system
    /// ([`Informer::seed_unless_chosen`](crate::Informer::seed_unless_chosen)). Informers with the
    /// same seed would end their watches, and return after an outage, at the same moment. Without a
    /// runtime, `None` stands for 0. Default: `None`.
    pub seed: Option<u64>,
}

/// How recent a state the server must return for a list or a watch-list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Consistency {
    /// First any state in the server's watch cache (`resourceVersion=0`), as in client-go. This is the cheapest
    /// request. After a restart of the client the state may be older than the one before. Then as
    /// [`NotOlderThan`](Self::NotOlderThan).
    Any,
    /// First the most recent state, then no state older than the last version (`resourceVersionMatch=NotOlderThan`),
    /// which a server can answer from its watch cache. If the server no longer has that version, or not yet, the most
    /// recent state once.
    #[default]
    NotOlderThan,
    /// Always the most recent state.
    MostRecent,
}

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            consistency: Consistency::default(),
            page_size: Some(500),
            watch_list: true,
            watch_timeout: Some((Duration::from_secs(300), Duration::from_secs(600))),
            watch_margin: Duration::from_secs(30),
            answer_timeout: Some(Duration::from_secs(60)),
            min_list_progress: 64 << 10,
            max_pages: 10_000,
            bookmark_overdue: Some(Duration::from_secs(180)),
            backoff: Backoff::default(),
            reconnect_jitter: Duration::from_secs(1),
            seed: None,
        }
    }
}
