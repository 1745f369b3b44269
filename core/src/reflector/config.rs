use super::Backoff;
use core::time::Duration;

/// How a [`Reflector`](crate::Reflector) goes about it. Lists ask for the most recent state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorConfig {
    /// How many objects a page of a list has at most; `None` for no pages. client-go's is 500.
    pub page_size: Option<u32>,
    /// Whether the initial state is asked for as a stream first (watch-list), with a list where the server refuses.
    pub watch_list: bool,
    /// Between which durations the time is drawn after which a watch is ended by the server, in whole seconds and at
    /// least one; `None` to leave it to the server. client-go's are five and ten minutes.
    pub watch_timeout: Option<(Duration, Duration)>,
    /// How much longer than its timeout, or than its last byte, a watch may live before it is given up.
    pub watch_margin: Duration,
    /// For how long a list, the initial events of a watch-list, or a server that was asked for anything, may be silent
    /// before it is given up; `None` for ever.
    pub answer_timeout: Option<Duration>,
    /// The delays after failures.
    pub backoff: Backoff,
    /// Where the jitter and the hashes begin; to be drawn at random in production.
    pub seed: u64,
}

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            page_size: Some(500),
            watch_list: true,
            watch_timeout: Some((Duration::from_secs(300), Duration::from_secs(600))),
            watch_margin: Duration::from_secs(30),
            answer_timeout: Some(Duration::from_secs(60)),
            backoff: Backoff::default(),
            seed: 0,
        }
    }
}
