use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The configuration of a [`LeaderElector`](super::LeaderElector). A program starts from [`new`](Self::new) and sets
/// fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionConfig {
    /// The name of this candidate, as `spec.holderIdentity` has it. Two candidates need two names, and so do two lives
    /// of one program: a host's name with a random part.
    pub identity: String,
    /// For how long the others leave an unchanged lease to its holder. Whole seconds. Default: 15 s, as in client-go.
    pub lease_duration: Duration,
    /// For how long a leader works after it sent its last successful renewal. Default: 10 s, as in client-go.
    ///
    /// client-go counts from the answer, and up to one retry period later.
    pub renew_deadline: Duration,
    /// The time between two renewals. A candidate waits 1 to 2.2 times as long. Default: 2 s, as in client-go.
    pub retry_period: Duration,
    /// The deadline of one request. Default: 5 s, half of the renew deadline, as in client-go.
    pub request_timeout: Duration,
    /// Whether a lease is released at the end, so that another candidate need not wait for its expiry. Default: `true`;
    /// client-go's `ReleaseOnCancel` is off by default, because it releases while work goes on.
    pub release: bool,
    /// Labels of the lease. Other labels are kept.
    pub labels: Vec<(String, String)>,
    /// The seed of the jitter. Candidates need different ones.
    pub seed: u64,
}

/// Why an [`ElectionConfig`] cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionConfigError {
    /// `identity` is empty.
    NoIdentity,
    /// `lease_duration` is not a whole number of seconds between 1 and 2,147,483,647.
    LeaseDuration(Duration),
    /// The name or the namespace of the lease cannot be in a path.
    NoName,
    /// `request_timeout` is zero, or `retry_period` is shorter than a hundredth of `renew_deadline`.
    NoPeriod,
    /// After a request that hangs, no time is left for another one.
    RenewDeadline {
        /// The configured `renew_deadline`.
        is: Duration,
        /// The least that `retry_period` and `request_timeout` allow.
        least: Duration,
    },
    /// Clocks that run 5 % fast and 5 % slow would let two candidates lead.
    LeaseTooShort {
        /// The configured `lease_duration`.
        is: Duration,
        /// The least that `renew_deadline` allows.
        least: Duration,
    },
}

impl ElectionConfig {
    /// The defaults, for a candidate of this name.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            request_timeout: Duration::from_secs(5),
            release: true,
            labels: Vec::new(),
            seed: 0,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// The first field that does not fit the others. client-go checks less: with its defaults but a renew deadline of
    /// 14 s, two clocks that differ by 5 % make two leaders.
    pub fn check(&self) -> Result<(), ElectionConfigError> {
        let least_renewal = self.retry_period.saturating_add(self.request_timeout);
        let least_lease = self.renew_deadline.saturating_add(self.renew_deadline / DRIFT);
        if self.identity.is_empty() {
            return Err(ElectionConfigError::NoIdentity);
        }
        if self.lease_duration.subsec_nanos() != 0 || !SECONDS.contains(&self.lease_duration.as_secs()) {
            return Err(ElectionConfigError::LeaseDuration(self.lease_duration));
        }
        if self.retry_period < (self.renew_deadline / ATTEMPTS).max(MILLISECOND) || self.request_timeout.is_zero() {
            return Err(ElectionConfigError::NoPeriod);
        }
        if self.renew_deadline < least_renewal {
            return Err(ElectionConfigError::RenewDeadline { is: self.renew_deadline, least: least_renewal });
        }
        if self.lease_duration < least_lease {
            return Err(ElectionConfigError::LeaseTooShort { is: self.lease_duration, least: least_lease });
        }
        Ok(())
    }
}

/// `leaseDurationSeconds` is a positive `int32`.
const SECONDS: core::ops::RangeInclusive<u64> = 1..=i32::MAX as u64;

/// As many writes may be on their way within a renew deadline, and each is remembered.
const ATTEMPTS: u32 = 100;

const MILLISECOND: Duration = Duration::from_millis(1);

/// The part of the renew deadline by which a lease has to be longer. A clock that is 5 % slow beside one that is 5 % fast
/// makes 1.05 / 0.95, which is 1.106.
const DRIFT: u32 = 9;

impl fmt::Display for ElectionConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIdentity => f.write_str("the identity is empty: give each candidate a name of its own"),
            Self::LeaseDuration(is) => {
                write!(f, "lease_duration is {is:?}: set whole seconds, at least one")
            }
            Self::NoName => f.write_str("the lease needs a namespace and a name: neither may be empty, `.` or `..`"),
            Self::NoPeriod => f.write_str(
                "request_timeout is zero, or retry_period too short: set at least a hundredth of renew_deadline",
            ),
            Self::RenewDeadline { is, least } => write!(
                f,
                "renew_deadline is {is:?}, shorter than retry_period and request_timeout together: set at least {least:?}"
            ),
            Self::LeaseTooShort { is, least } => write!(
                f,
                "lease_duration is {is:?}, too short for the renew_deadline if clocks differ: set at least {least:?}"
            ),
        }
    }
}

impl core::error::Error for ElectionConfigError {}
