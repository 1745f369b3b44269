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

#[test]
fn every_type_of_object_is_told_alike() {
    for kind in ["raw", "meta", "value"] {
        replays_like_client_go(&CAPTURES, &format!("--type {kind}"));
    }
}

#[test]
fn both_orders_tell_the_same_of_each_key() {
    for order in ["arrival", "key"] {
        replays_like_client_go(&CAPTURES, &format!("--order {order}"));
    }
}

#[test]
fn it_does_not_matter_in_what_pieces_bytes_come() {
    for chunk in [1, 7, 4096] {
        replays_like_client_go(&CAPTURES, &format!("--chunk {chunk}"));
    }
}

#[test]
fn it_does_not_matter_how_many_workers_there_are() {
    for workers in [1, 8] {
        replays_like_client_go(&CAPTURES, &format!("--workers {workers} --index label:app --index namespace"));
    }
}

#[test]
fn twenty_seconds_of_watching_are_the_same_in_real_time_a_hundred_times_as_fast() {
    replays_like_client_go(&["gap"], "--speed 100");
}

#[test]
fn twenty_seconds_of_chaos_are_the_same_in_real_time_twenty_times_as_fast() {
    replays_like_client_go(&["chaos"], "--speed 20");
}
