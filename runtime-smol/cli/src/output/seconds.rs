//! A duration as a reader of a message takes it.

use std::fmt;
use std::time::Duration;

/// A duration in seconds, to the millisecond: `12 s`, `1.5 s`. A moment in this form is one that `--at` takes.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        match format!("{millis:03}").trim_end_matches('0') {
            "" => write!(f, "{seconds} s"),
            fraction => write!(f, "{seconds}.{fraction} s"),
        }
    }
}

/// The seconds of a time, to the millisecond.
pub(crate) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

/// About how long something took: `12 s`, and `16 ms` below a second.
pub(crate) struct Roughly(pub(crate) Duration);

impl fmt::Display for Roughly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => write!(f, "{} ms", self.0.as_millis()),
            seconds => write!(f, "{seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_shows_its_milliseconds() {
        for (millis, text) in [(0, "0 s"), (1, "0.001 s"), (1_500, "1.5 s"), (40_000, "40 s"), (40_120, "40.12 s")] {
            assert_eq!(Seconds(Duration::from_millis(millis)).to_string(), text);
        }
        assert_eq!(Seconds(Duration::from_nanos(1_999_999)).to_string(), "0.001 s", "never after the end");
    }

    #[test]
    fn a_part_of_a_second_is_told_in_milliseconds() {
        let told = [0, 16, 999, 1_000, 12_900].map(|millis| Roughly(Duration::from_millis(millis)).to_string());
        assert_eq!(told, ["0 ms", "16 ms", "999 ms", "1 s", "12 s"]);
        assert!((0..100_000).all(|millis| seconds(Duration::from_millis(millis)).to_string().len() < 7));
    }
}
