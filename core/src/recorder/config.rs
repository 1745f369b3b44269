use crate::object::is_qualified_name;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

/// The configuration of an [`EventRecorder`](super::EventRecorder). A program starts from [`new`](Self::new) and sets
/// fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderConfig {
    /// The controller, such as `example.com/foo-controller` (`reportingController`).
    pub controller: String,
    /// This process of it, such as the name of its pod (`reportingInstance`).
    pub instance: String,
    /// How many writes about one object follow on each other. Default: 25, as in client-go `tools/record`.
    pub burst: u32,
    /// After which time one more follows. Default: 300 s, as in client-go `tools/record`.
    pub refill: Duration,
    /// How many Events wait to be written. The oldest one gives way. Default: 1,000, as in client-go, which drops the
    /// newest one.
    pub queue: usize,
    /// How many series are remembered. The one that was seen least recently gives way. Default: 4,096, as in client-go
    /// `tools/record`.
    pub remembered: usize,
    /// The deadline of one request. Default: 10 s.
    pub request_timeout: Duration,
    /// The seed of the jitter, and of a name that takes the place of one that another client has. Processes differ by
    /// `instance` too. Default: 0.
    pub seed: u64,
}

/// The reason that a [`RecorderConfig`] cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecorderConfigError {
    /// A server would refuse `controller`.
    Controller,
    /// A server would refuse `instance`.
    Instance,
    /// Without a write, an object would have all its tokens after more than a hundred years.
    Refill,
    /// `burst`, `refill`, `queue`, `remembered` or `request_timeout` is zero.
    Zero,
}

impl RecorderConfig {
    /// The defaults, for a process of a controller.
    pub fn new(controller: impl Into<String>, instance: impl Into<String>) -> Self {
        Self {
            controller: controller.into(),
            instance: instance.into(),
            burst: 25,
            refill: Duration::from_secs(300),
            queue: 1000,
            remembered: 4096,
            request_timeout: Duration::from_secs(10),
            seed: 0,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn check(&self) -> Result<(), RecorderConfigError> {
        if !is_qualified_name(&self.controller) {
            return Err(RecorderConfigError::Controller);
        }
        if !(1..=LONGEST_INSTANCE).contains(&self.instance.len()) {
            return Err(RecorderConfigError::Instance);
        }
        let durations = [self.refill, self.request_timeout];
        if durations.contains(&Duration::ZERO) || self.burst == 0 || [self.queue, self.remembered].contains(&0) {
            return Err(RecorderConfigError::Zero);
        }
        if self.refill.saturating_mul(self.burst) > LONGEST_REFILL {
            return Err(RecorderConfigError::Refill);
        }
        Ok(())
    }
}

/// A hundred years: a longer time may not be told from the end of a clock.
const LONGEST_REFILL: Duration = Duration::from_secs(100 * 365 * 86_400);
/// In bytes, by `ValidateEventCreate` (kube-apiserver).
const LONGEST_INSTANCE: usize = 128;

impl fmt::Display for RecorderConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Controller => {
                "the controller's name has to be letters, digits, `-`, `_` and `.`, at most 63, behind a domain and `/` perhaps"
            }
            Self::Instance => "the instance needs a name of at most 128 bytes",
            Self::Refill => "refill is too long: `burst` times as long has to be at most a hundred years",
            Self::Zero => "burst, refill, queue, remembered and request_timeout have to be more than zero",
        })
    }
}

impl core::error::Error for RecorderConfigError {}
