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

/// The age of an object (`duration.HumanDuration` of apimachinery), or `<unknown>`.
pub(super) fn age(created: Option<&str>, now: SystemTime) -> String {
    let created = created.and_then(|created| created.parse::<Timestamp>().ok());
    match (created, Timestamp::try_from(now)) {
        (Some(created), Ok(now)) => words(now.as_second() - created.as_second()),
        _ => "<unknown>".to_owned(),
    }
}

fn words(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let parts = |unit: i64, name: &str, lesser: i64, lesser_name: &str| match seconds % unit / lesser {
        0 => format!("{}{name}", seconds / unit),
        rest => format!("{}{name}{rest}{lesser_name}", seconds / unit),
    };
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1..=0 => "0s".to_owned(),
        1..120 => format!("{seconds}s"),
        120..600 => parts(MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => parts(HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => parts(DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => parts(YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The table of `TestHumanDuration`.
    #[test]
    fn an_age_is_written_as_kubectl_does() {
        let (minute, hour, day, year) = (60, 3_600, 86_400, 365 * 86_400);
        for (seconds, written) in [
            (1, "1s"),
            (70, "70s"),
            (190, "3m10s"),
            (70 * minute, "70m"),
            (47 * hour, "47h"),
            (49 * hour, "2d1h"),
            (8 * day + 2 * hour, "8d"),
            (367 * day, "367d"),
            (2 * year + 25 * day, "2y25d"),
            (8 * year + 2 * day, "8y"),
            (-1, "0s"),
            (-2, "<invalid>"),
        ] {
            assert_eq!(words(seconds), written, "{seconds}");
        }
    }

    #[test]
    fn a_time_is_of_the_day_or_whole() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(date(now), "2027-01-15T08:00:00Z");
        assert_eq!(time_of_day(now).len(), 8);
        assert_eq!(age(Some("2027-01-15T07:59:00Z"), now), "60s");
        assert_eq!(age(Some("yesterday"), now), "<unknown>");
    }
}
