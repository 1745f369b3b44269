use std::time::Duration;

/// What is limited.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) exec_timeout: Duration,
    pub(crate) max_requests: usize,
    pub(crate) max_answer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Some(Duration::from_secs(60)),
            keep_alive: Some(Duration::from_secs(50)),
            exec_timeout: Duration::from_secs(60),
            max_requests: 256,
            max_answer: 128 << 20,
        }
    }
}
