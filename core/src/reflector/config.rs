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
    /// With `None` nothing here limits how long a watch may be silent before two bookmarks have come: one whose other side
    /// is gone without a word (a machine that lost its power, a firewall that forgot the connection) is noticed by the
    /// transport or by nobody, and only [`bookmark_overdue`](Self::bookmark_overdue) makes the status say that something is
    /// odd. client-go has HTTP/2 pings there, after 30 s of silence and with 15 s for the answer.
    pub watch_timeout: Option<(Duration, Duration)>,
    /// How much longer than its timeout, or than its last byte, a watch may live before it is given up.
    pub watch_margin: Duration,
    /// For how long a list, the initial events of a watch-list, or a server that was asked for anything, may be silent
    /// before it is given up; `None` for ever.
    pub answer_timeout: Option<Duration>,
    /// How many bytes have to come of a list, of the initial events of a watch-list, or of a refusal, within five
    /// `answer_timeout`s, unless it ends before; 0 for no such limit. The default is 64 KiB, with the default timeout 218
    /// bytes a second: an object of 1.5 MB may take two hours, and a list at a byte a second is given up after five
    /// minutes.
    pub min_list_progress: usize,
    /// How many pages a list may have before it is given up as too large. The default of 10,000 pages of 500 objects each
    /// is more than an API server holds.
    pub max_pages: u32,
    /// For how long a watch may bring neither event nor bookmark before its version counts as overdue; `None` for ever.
    /// Servers that send bookmarks send one a minute. Once two have come about a minute apart, a watch that brings nothing
    /// for two and a half times as long, or for this long, is given up and made again: its connection may be half open.
    /// Otherwise an overdue watch goes on, and the status says so; but one that
    /// ends without a word is followed by a relist, and so are the 2nd, 4th, 8th, 16th, 32nd, 48th … in a row: the server may have been
    /// restored from a backup, and wait for a version that it is yet to reach.
    pub bookmark_overdue: Option<Duration>,
    /// The delays after failures.
    pub backoff: Backoff,
    /// Over how much time clients come back that lost a healthy watch at the same moment, or that the server told to come
    /// back after the same time (`Retry-After`; a quarter of that where it is longer). Zero for a client that has no
    /// company.
    pub reconnect_spread: Duration,
    /// Where the jitter and the hashes begin. `None` leaves it to the program that drives the informer: a runtime draws
    /// it from the system ([`Informer::seed_unless_chosen`](crate::Informer::seed_unless_chosen)), because informers with
    /// the same seed end their watches, and return after an outage, at the same moment. Where nobody draws one, it is 0.
    pub seed: Option<u64>,
}

/// How new the state has to be that a server answers a list or a watch-list with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
            reconnect_spread: Duration::from_secs(1),
            seed: None,
        }
    }
}
