use super::space::ShardSpace;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

/// The label of the leases of a group: its value is the group's name.
pub const GROUP_LABEL: &str = "listwatch.dev/shards";

/// The configuration of a [`ShardHolder`](super::ShardHolder). A program starts from [`new`](Self::new) and sets fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardConfig {
    /// The namespace of the leases.
    pub namespace: String,
    /// The name of the group, which is that of its map: a label's value, such as `pages`.
    pub group: String,
    /// The name of this member's own lease, which no other life of a program has.
    pub member: String,
    /// The shards. All members of a group need the same.
    pub space: ShardSpace,
    /// For how long the others leave an unchanged lease of a member to it: that of its election. Default: 15 s.
    pub lease_duration: Duration,
    /// The time after which a request that failed is repeated, and by which the next member acts later. Default: 2 s.
    pub retry_period: Duration,
    /// The deadline of one request. Default: 5 s.
    pub request_timeout: Duration,
    /// The seed of the jitter.
    pub seed: u64,
}

/// Why a [`ShardConfig`] cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardConfigError {
    /// The group's name is no value of a label.
    Group,
    /// The names of the member, the group and the namespace are not three names of their own.
    Names,
    /// A period is zero.
    NoPeriod,
}

impl ShardConfig {
    /// The defaults, for a member of a group.
    pub fn new(namespace: &str, group: &str, member: &str, space: ShardSpace) -> Self {
        Self {
            namespace: namespace.into(),
            group: group.into(),
            member: member.into(),
            space,
            lease_duration: Duration::from_secs(15),
            retry_period: Duration::from_secs(2),
            request_timeout: Duration::from_secs(5),
            seed: 0,
        }
    }

    pub(super) fn check(&self) -> Result<(), ShardConfigError> {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_label = (1..=63).contains(&self.group.len())
            && self.group.bytes().all(is_inner)
            && !self.group.starts_with('-')
            && !self.group.ends_with('-');
        if !is_label {
            return Err(ShardConfigError::Group);
        }
        let has_no_name = |text: &str| matches!(text, "" | "." | "..");
        if has_no_name(&self.namespace) || has_no_name(&self.member) || self.member == self.group {
            return Err(ShardConfigError::Names);
        }
        if self.lease_duration.is_zero() || self.retry_period.is_zero() || self.request_timeout.is_zero() {
            return Err(ShardConfigError::NoPeriod);
        }
        Ok(())
    }
}

impl fmt::Display for ShardConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Group => "the group's name is no label: use up to 63 lowercase letters, digits and dashes",
            Self::Names => "the shards need a namespace and a member: neither may be empty, `.` or `..`",
            Self::NoPeriod => "a period of the shards is zero: set lease_duration, retry_period and request_timeout",
        })
    }
}

impl core::error::Error for ShardConfigError {}
