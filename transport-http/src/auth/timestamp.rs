use std::time::{Duration, SystemTime};

/// Reads a date as RFC 3339 has them: `2026-11-20T10:43:37Z`, with a fraction or an offset if it likes.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let (clock, offset) = split_offset(time)?;
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    let is_one = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    let since = Duration::from_secs(u64::try_from(seconds).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since).filter(|_| is_one)
}

/// The time of day, and by how many seconds it is ahead of UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let [hours, minutes] = numbers(&time[at + 1..], ':')?;
    let seconds = hours * 3600 + minutes * 60;
    Some((&time[..at], if time[at..].starts_with('-') { -seconds } else { seconds }))
}

fn numbers<const N: usize>(text: &str, separator: char) -> Option<[i64; N]> {
    let parts: Option<Vec<i64>> = text.split(separator).map(|part| part.parse::<u16>().ok().map(i64::from)).collect();
    parts?.try_into().ok()
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    // Leap days of the years before, and this year's once February is over.
    let past = if month > 2 { year } else { year - 1 };
    let leap_days = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    let in_year = usize::try_from(month - 1).ok().and_then(|month| BEFORE.get(month)).copied().unwrap_or(0) + day - 1;
    (year - 1970) * 365 + leap_days + in_year
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        parse(text).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn dates_are_read_with_and_without_fraction_and_offset() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2026-11-20T10:43:07Z", 1_795_171_387),
            ("2026-11-20T10:43:07.123456Z", 1_795_171_387),
            ("2026-11-20T12:43:07+02:00", 1_795_171_387),
            ("2026-11-20t09:13:07-01:30", 1_795_171_387),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["", "soon", "2026-11-20", "2026-13-20T10:43:07Z", "2026-00-20T10:43:07Z", "2026-11-20T10:43:07"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        for text in ["1960-11-20T10:43:07Z", "2026-11-20T10:43Z", "2026-11-20T10:43:07+", "99999-11-20T10:43:07Z"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
