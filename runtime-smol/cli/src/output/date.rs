//! Times for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::SystemTime;

/// Now, as people read it on a terminal: the time of the day, in their time zone.
pub(super) fn time_of_day(now: SystemTime) -> String {
    let Ok(now) = Timestamp::try_from(now) else { return String::new() };
    now.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// Now, as it is kept in a file: the date and the time, in UTC.
pub(super) fn date(now: SystemTime) -> String {
    Timestamp::try_from(now).map(|now| now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_is_of_the_day_or_whole() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(date(now), "2027-01-15T08:00:00Z");
        assert_eq!(time_of_day(now).len(), 8);
    }
}
