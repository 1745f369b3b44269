//! The time since a date.

use core::time::Duration;
use listwatch::time::WallTime;
use serde_json::Value;

/// The time since a date, as kubectl prints it (apimachinery `duration.HumanDuration`).
pub(crate) fn age(since: &Value, now: WallTime) -> String {
    let since = since.as_str().and_then(|since| since.parse::<WallTime>().ok());
    since.map_or_else(|| "<unknown>".into(), |since| human(now.saturating_since(since)))
}

/// A duration in one or two units.
pub(crate) fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: u64, unit: char, small: u64, of: char| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{of}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, 'd', hours % 24, 'h'),
        () if days < 2 * 365 => format!("{days}d"),
        () if days < 8 * 365 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_the_units_that_kubectl_prints() {
        for (seconds, expected) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(Duration::from_secs(seconds)), expected);
        }
    }
}
