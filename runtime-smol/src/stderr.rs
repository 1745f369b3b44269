//! Lines for operators on standard error, each with its date.

use crate::clock::Clock;
use crate::mutex::Mutex;
use core::fmt::Display;
use core::time::Duration;
use listwatch_core::Instant;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;

/// Writes a line with its date. If standard error is closed, the line is lost.
pub(crate) fn write_line(clock: &Clock, line: impl Display) {
    // In one piece, because other processes may write to the same file.
    let line = format!("{} {line}\n", clock.unwitnessed_wall());
    let _closed = std::io::stderr().write_all(line.as_bytes());
}

/// Writes lines, of which many may be about the same. Of these it writes the 1st, 2nd, 4th, 8th and so on, with a count
/// (client-go's event correlator).
#[derive(Default)]
#[cfg_attr(not(feature = "served"), expect(unreachable_pub, reason = "the module `served` has it"))]
pub struct Folded(Mutex<Repeats>);

impl Folded {
    /// Writes a line. Lines with the same subject and message are counted; one without them is always written.
    #[cfg_attr(not(feature = "served"), expect(unreachable_pub, reason = "the module `served` has it"))]
    pub fn write_line(&self, clock: &Clock, message: Option<(String, String)>, line: impl Display) {
        match message.map_or(1, |message| self.times(clock.now(), &message)) {
            1 => write_line(clock, line),
            times if times.is_power_of_two() => write_line(clock, format_args!("{line} ({times} times)")),
            _ => {}
        }
    }

    fn times(&self, now: Instant, message: &(String, String)) -> u64 {
        self.0.lock().count(now, message)
    }
}

listwatch_core::summary!("Folded" for Folded);

/// How often each message was reported.
#[derive(Default)]
struct Repeats {
    hasher: RandomState,
    /// By the hash of the message.
    counts: HashMap<u64, Count>,
}

struct Count {
    times: u64,
    last: Instant,
}

impl Repeats {
    /// How many messages are known. A further one makes all of them new.
    const MOST: usize = 4096;
    /// A message is new again after this time without it.
    const FORGET: Duration = Duration::from_secs(600);

    /// How often the message was reported, this time included.
    fn count(&mut self, now: Instant, message: &(String, String)) -> u64 {
        let hash = self.hasher.hash_one(message);
        if self.counts.len() >= Self::MOST && !self.counts.contains_key(&hash) {
            self.counts.clear();
        }
        let count = self.counts.entry(hash).or_insert(Count { times: 0, last: now });
        if now.saturating_since(count.last) > Self::FORGET {
            count.times = 0;
        }
        *count = Count { times: count.times + 1, last: now };
        count.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(key: &str) -> (String, String) {
        (key.to_owned(), "failed: no".to_owned())
    }

    #[test]
    fn the_same_failure_of_a_key_is_written_ever_less_often() {
        let (mut repeats, now) = (Repeats::default(), Instant::ZERO);
        let written = (0..100).filter(|_| repeats.count(now, &message("web/a")).is_power_of_two()).count();
        assert_eq!(written, 7, "1, 2, 4, 8, 16, 32, 64");
        assert_eq!(repeats.count(now, &message("web/b")), 1, "another key");
        assert_eq!(repeats.count(now + Repeats::FORGET, &message("web/a")), 101);
        assert_eq!(repeats.count(now + 3 * Repeats::FORGET, &message("web/a")), 1, "it was not seen for long");
    }

    #[test]
    fn the_memory_of_messages_is_bounded() {
        let mut repeats = Repeats::default();
        for key in 0..3 * Repeats::MOST {
            repeats.count(Instant::ZERO, &message(&key.to_string()));
        }
        assert!(repeats.counts.len() <= Repeats::MOST);
    }
}
