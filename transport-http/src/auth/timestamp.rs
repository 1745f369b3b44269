use std::time::{Duration, SystemTime};

/// Reads a date as RFC 3339 has them: `2026-11-20T10:43:37Z`, with a fraction or an offset if it likes.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let (clock, offset) = split_offset(time)?;
    let there = humantime::parse_rfc3339_weak(&format!("{date}T{clock}Z")).ok()?;
    let by = Duration::from_secs(offset.unsigned_abs());
    if offset < 0 { there.checked_add(by) } else { there.checked_sub(by) }
}

/// The time of day, and by how many seconds it is ahead of UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60;
    (hours < 24 && minutes < 60).then(|| (&time[..at], if time[at..].starts_with('-') { -seconds } else { seconds }))
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
        for text in [
            "2026-11-20T10:43:07+99:00",
            "1960-11-20T10:43:07Z",
            "2026-11-20T10:43Z",
            "2026-11-20T10:43:07+",
            "2026-02-30T10:43:07Z",
            "99999-11-20T10:43:07Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
