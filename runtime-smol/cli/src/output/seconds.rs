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
}
