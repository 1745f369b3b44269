use super::Backoff;
use core::time::Duration;

/// How a [`Reflector`](crate::Reflector) goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorConfig {
    /// How new the state has to be that a server answers with.
    pub consistency: Consistency,
    /// How many objects a page of a list has at most; `None` for no pages. client-go's is 500. A list that is not to be
    /// older than a version has no pages, as with client-go: so a server can answer it from memory.
    pub page_size: Option<u32>,
    /// Whether the initial state is asked for as a stream first (watch-list), with a list where the server refuses.
    pub watch_list: bool,
    /// Between which durations the time is drawn after which a watch is ended by the server, in whole seconds and at
    /// least one; `None` to leave it to the server. client-go's are five and ten minutes.
    ///
    /// With `None`, the reflector sets no limit for a silent watch before two bookmarks have come. A half-open
    /// connection is then detected by the transport alone. [`bookmark_overdue`](Self::bookmark_overdue) only changes
    /// the status. client-go uses HTTP/2 pings (30 s of silence, 15 s for the answer).
    pub watch_timeout: Option<(Duration, Duration)>,
    /// How much longer than its timeout, or than its last byte, a watch may live before it is given up.
    pub watch_margin: Duration,
    /// For how long a list, the initial events of a watch-list, or a server that was asked for anything, may be silent
    /// before it is given up; `None` for ever.
    pub answer_timeout: Option<Duration>,
    /// How many bytes of a list, of initial events, or of a refusal have to come within five `answer_timeout`s, unless
    /// it ends before. 0 sets no limit. The default is 64 KiB, with the default timeout 218 bytes a second: an object
    /// of 1.5 MB may take two hours, and a list at a byte a second is given up after five minutes.
    pub min_list_progress: usize,
    /// How many pages a list may have before it is given up as too large. The default of 10,000 pages of 500 objects each
    /// is more than an API server holds.
    pub max_pages: u32,
    /// For how long a watch may bring neither event nor bookmark before its version counts as overdue; `None` for ever.
    /// Servers that send bookmarks send one a minute. Once two have come about a minute apart, a limit applies: two and
    /// a half times their distance, or this long. A watch that brings nothing for that time is made again, because its
    /// connection may be half open. Otherwise an overdue watch goes on, and the status shows it. If such a watch ends
    /// without an event, a relist follows. Of several in a row, the 2nd, 4th, 8th and 16th lead to a relist, then every
    /// 16th. The server may have been restored from a backup.
    pub bookmark_overdue: Option<Duration>,
    /// The delays after failures.
    pub backoff: Backoff,
    /// The time over which clients spread that lost a healthy watch at the same moment. Clients with the same
    /// `Retry-After` spread over it too, or over a quarter of that where it is longer. Zero for a client that has no
    /// company.
    pub reconnect_jitter: Duration,
    /// Where the jitter and the hashes begin. `None` leaves it to the program that drives the informer: a runtime draws
    /// it from the system ([`Informer::seed_unless_chosen`](crate::Informer::seed_unless_chosen)). Informers with the
    /// same seed would end their watches, and return after an outage, at the same moment. Where nobody draws one, it is
    /// 0.
    pub seed: Option<u64>,
}

/// How new the state has to be that a server answers a list or a watch-list with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Consistency {
    /// At first, whatever the server has at hand (`resourceVersion=0`), as with client-go: the cheapest, but after a
    /// restart of the client it may be older than what was seen before. Then as [`NotOlderThan`](Self::NotOlderThan).
    Any,
    /// At first, the most recent state; then nothing older than what was seen (`resourceVersionMatch=NotOlderThan`),
    /// which a server can answer from memory. Where it cannot, because the version is gone or is not there yet, the most
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
