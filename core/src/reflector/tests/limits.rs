//! What is given up: lists without an end, or without progress, and watches whose other side is gone.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A reflector with the defaults whose list is being answered.
fn listing() -> Talk {
    let mut talk = talk(ReflectorConfig { watch_list: false, ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    talk.head(200);
    talk
}

impl Talk {
    /// So many bytes come every second, for so long. Returns what the answer is given up for, and after how long.
    fn trickles(&mut self, bytes: usize, time: Duration) -> Option<(Failure, Duration)> {
        let began = self.now;
        while self.now < began + time {
            self.now = self.now + SECOND;
            let _ = self.says(|id| Input::Response(id, Response::Data(bytes)));
            let _ = self.says(|_| Input::Timeout);
            if let Some(report) = self.reflector.poll_failure() {
                return Some((report.failure, self.now.saturating_since(began)));
            }
        }
        None
    }

    /// A bookmark comes after a minute, so many times.
    fn bookmarked(&mut self, times: u32) {
        for _ in 0..times {
            self.now = self.now + 60 * SECOND;
            let _ = self.says(|_| Input::Timeout);
            let _ = self.says(|id| bookmark(id, "9", false));
        }
    }

    /// Nothing comes until the next timeout. Returns how long that was.
    fn falls_silent(&mut self) -> Duration {
        let before = self.now;
        self.now = self.reflector.poll_timeout().unwrap();
        let _ = self.says(|_| Input::Timeout);
        self.now.saturating_since(before)
    }
}

#[test]
fn a_list_at_a_byte_a_second_is_given_up() {
    let mut talk = listing();
    assert_eq!(talk.trickles(1, 3600 * SECOND), Some((Failure::TooSlow, 300 * SECOND)));
    assert_eq!(talk.reflector.phase(), Phase::BackingOff);
}

#[test]
fn an_object_of_a_megabyte_and_a_half_over_a_slow_link_is_not_given_up() {
    for bytes in [1_000, 12_000] {
        let time = SECOND * (1_500_000 / bytes as u32);
        assert_eq!(listing().trickles(bytes, time), None, "{bytes} bytes a second");
    }
}

/// No time is counted in which events were to be taken first.
#[test]
fn a_reader_that_takes_its_time_does_not_make_the_server_slow() {
    let mut talk = listing();
    for _ in 0..10 {
        assert_eq!(talk.trickles(1, 200 * SECOND), None);
        assert_eq!(talk.says(|_| Input::Listening), Step::Nothing);
    }
}

#[test]
fn a_list_of_more_pages_than_the_limit_is_given_up() {
    let mut talk = talk(ReflectorConfig { max_pages: 3, ..alone() });
    talk.reflector.server.lists_since = Some(talk.now);
    let _ = talk.says(|_| Input::Start);
    for token in ["t1", "t2", "t3"] {
        assert!(talk.asks().is_some());
        assert_eq!(talk.says(|id| object(id, "")), Step::Stage);
        let _ = talk.says(|id| list_end(id, "5", token));
    }
    let report = talk.reflector.poll_failure().unwrap();
    assert_eq!((report.failure, report.reaction), (Failure::TooManyPages { limit: 3 }, Reaction::Relist));
    assert!(report.operation == Operation::Page && talk.reflector.phase() == Phase::BackingOff);
}

#[test]
fn a_half_open_watch_behind_a_proxy_is_noticed_by_missing_bookmarks() {
    let mut talk = recovery::watching(1);
    talk.bookmarked(2);
    assert_eq!(talk.falls_silent(), 150 * SECOND);
    assert_eq!(
        talk.reflector.poll_failure().map(|report| report.failure),
        Some(Failure::Stalled { silence: 150 * SECOND })
    );
    assert!(talk.waits() < SECOND);
    assert_eq!(talk.asks().map(|asked| asked.contains("resourceVersion=9")), Some(true));
    assert_eq!(talk.aborted.len(), 1);
    talk.head(200);
    assert_eq!(talk.falls_silent(), 150 * SECOND, "the next one is known to be one with bookmarks");
}

/// Servers send none to a watch while their version does not move, and not all servers do.
#[test]
fn a_server_that_sends_no_bookmarks_any_more_is_suspected_once() {
    let mut talk = recovery::watching(1);
    talk.bookmarked(2);
    talk.falls_silent();
    talk.waits();
    let _ = talk.asks();
    talk.head(200);
    assert_eq!(talk.falls_silent(), 150 * SECOND);
    talk.waits();
    let _ = talk.asks();
    talk.head(200);
    assert!(talk.falls_silent() > 300 * SECOND, "its timeout");
}

#[test]
fn bookmarks_that_do_not_come_by_the_clock_say_nothing() {
    for gap in [1, 29, 121] {
        let mut talk = recovery::watching(1);
        for _ in 0..2 {
            talk.now = talk.now + gap * SECOND;
            let _ = talk.says(|id| bookmark(id, "9", false));
        }
        assert_eq!(talk.reflector.server.bookmarks, None, "{gap} s");
    }
}

/// Each duration of the configuration, as short and as long as can be, through every class of failure.
#[test]
fn extreme_durations_of_the_configuration_do_not_panic() {
    const EXTREMES: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
    type Set = fn(&mut ReflectorConfig, Duration);
    const SETS: [Set; 10] = [
        |config, time| config.watch_timeout = Some((time, time)),
        |config, time| config.watch_timeout = Some((time, Duration::MAX)),
        |config, time| config.watch_timeout = Some((Duration::MAX, time)),
        |config, time| config.watch_margin = time,
        |config, time| config.answer_timeout = Some(time),
        |config, time| config.bookmark_overdue = Some(time),
        |config, time| config.backoff.initial = time,
        |config, time| config.backoff.max = time,
        |config, time| config.backoff.probe = time,
        |config, time| config.reconnect_jitter = time,
    ];
    for (one, other) in SETS.iter().flat_map(|one| SETS.iter().map(move |other| (one, other))) {
        for (first, second) in EXTREMES.iter().flat_map(|first| EXTREMES.map(move |second| (*first, second))) {
            let mut config = ReflectorConfig::default();
            one(&mut config, first);
            other(&mut config, second);
            go_through_failures(config);
        }
    }
}

fn go_through_failures(config: ReflectorConfig) {
    let mut talk = talk(config);
    let _ = talk.says(|_| Input::Start);
    for class in FailureClass::ALL {
        while talk.asks().is_some() {
            talk.head(200);
            let _ = talk.says(|id| bookmark(id, "5", true));
            let _ = talk.says(|id| list_end(id, "5", ""));
        }
        talk.bookmarked(2);
        let _ = talk.says(|id| broken(id, rules::failure(class)));
        if let Some(due) = talk.reflector.poll_timeout() {
            talk.now = talk.now.max(due);
            let _ = talk.says(|_| Input::Timeout);
        }
    }
}
