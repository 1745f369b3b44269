//! Deadlines.

use super::*;

#[test]
fn a_watch_that_outlives_its_timeout_is_given_up() {
    let seconds = Duration::from_secs;
    let config =
        ReflectorConfig { watch_list: false, watch_timeout: Some((seconds(300), seconds(600))), ..Default::default() };
    let mut talk = talk(config);
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "5", ""));
    let _ = talk.asks();
    let watch = talk.id;
    talk.head(200);
    talk.now = talk.reflector.poll_timeout().unwrap();
    assert!(talk.now >= Instant::ZERO + seconds(330) && talk.now < Instant::ZERO + seconds(630), "{:?}", talk.now);
    let _ = talk.says(|_| Input::Timeout);
    talk.waits();
    assert_eq!(talk.asks().as_deref().map(|asked| asked.contains("resourceVersion=5")), Some(true));
    assert_eq!(talk.aborted, [watch]);
}

#[test]
fn time_that_goes_back_is_clamped() {
    let mut talk = lists().synced();
    talk.now = Instant::from_nanos(1_000_000_000_000);
    let _ = talk.fails(status(500));
    talk.now = Instant::ZERO;
    assert_eq!(talk.says(|_| Input::Timeout), Step::Nothing);
    assert!(talk.reflector.poll_timeout().unwrap() > Instant::from_nanos(1_000_000_000_000));
}

#[test]
fn a_list_that_falls_silent_is_given_up_and_one_that_goes_on_is_not() {
    let mut talk = talk(ReflectorConfig { watch_list: false, ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    talk.head(200);
    for _ in 0..100 {
        talk.now = talk.now + Duration::from_secs(50);
        assert_eq!(talk.says(|id| Input::Response(id, Response::Data(100_000))), Step::Nothing);
        assert_eq!(talk.says(|_| Input::Timeout), Step::Nothing);
    }
    talk.now = talk.now + Duration::from_secs(60);
    assert_eq!(talk.says(|_| Input::Timeout), Step::Discard);
    talk.waits();
    assert_eq!(talk.aborted, [talk.id]);
}

#[test]
fn a_watch_that_is_not_answered_is_given_up() {
    let mut talk = talk(ReflectorConfig { watch_list: false, ..Default::default() });
    let _ = talk.says(|_| Input::Start);
    let _ = talk.asks();
    let _ = talk.says(|id| list_end(id, "5", ""));
    let _ = talk.asks();
    assert_eq!(talk.reflector.poll_timeout(), Some(Instant::ZERO + Duration::from_secs(60)));
}

/// Rule 4 of the contract, with the most impatient configuration there is.
#[test]
fn every_deadline_that_was_handled_is_followed_by_a_later_one() {
    let zero = Duration::ZERO;
    let config = ReflectorConfig {
        watch_timeout: Some((zero, zero)),
        watch_margin: zero,
        answer_timeout: Some(Duration::from_nanos(1)),
        backoff: Backoff { initial: zero, max: zero, probe: zero },
        ..Default::default()
    };
    let mut talk = talk(config);
    let _ = talk.says(|_| Input::Start);
    for _ in 0..100 {
        while talk.asks().is_some() {
            talk.head(200);
        }
        let deadline = talk.reflector.poll_timeout().unwrap();
        assert!(deadline > talk.now, "{deadline:?} at {:?}", talk.now);
        talk.now = deadline;
        let _ = talk.says(|_| Input::Timeout);
    }
}
