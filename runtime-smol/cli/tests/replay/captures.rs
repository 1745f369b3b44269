//! The bundled captures, and what client-go told its handlers when it was played the same.

use crate::command::{bundled, replay};
use crate::notifications::{Notifications, client_go};

const CAPTURES: [&str; 3] = ["gap", "chaos", "pods-rollout"];

#[track_caller]
fn replays_like_client_go(names: &[&str], options: &str) {
    for name in names {
        let played = replay(bundled(&format!("{name}.jsonl.gz")), &format!("--print events --format json {options}"));
        Notifications::read(&played.output()).assert_same(&client_go(name), &format!("{name} {options}"));
    }
}

#[test]
fn without_options_every_key_is_told_as_client_go_tells_it() {
    replays_like_client_go(&CAPTURES, "");
}

/// `tests/tests/captures` has every type, order and chunk size with each other.
#[test]
fn type_order_chunks_indexes_and_workers_change_nothing_that_is_told() {
    let indexes = "--index label:app --index namespace";
    replays_like_client_go(&CAPTURES, &format!("--type value --order key --chunk 7 --workers 4 {indexes}"));
}

#[test]
fn twenty_seconds_of_watching_are_the_same_in_real_time_a_hundred_times_as_fast() {
    replays_like_client_go(&["gap"], "--speed 100");
}
