//! Reads texts that differ in a few places from captured events, or from values in them: `neighbours COUNT [SEED]`.
//!
//! Each text goes through `ops::reader`, as in the fuzz target `reader`, but without a fuzzing engine, so that a machine
//! reads a hundred million of them in less than an hour.

use listwatch_core::framing::Scanner;
use listwatch_tests::captures;
use listwatch_tests::ops::reader;
use std::process::ExitCode;

/// One of so many texts is a whole event. The others are short.
const WHOLE: usize = 128;
const SHORT: usize = 300;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(count)), seed) = (numbers.next(), numbers.next().unwrap_or(Ok(1))) else { return usage() };
    let Ok(seed) = seed else { return usage() };
    let events = events();
    read(&events, count, seed);
    println!("{count} texts read, seed {seed}, from {} events", events.len());
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: neighbours COUNT [SEED]");
    ExitCode::from(2)
}

/// The objects of the events of all watches.
fn events() -> Vec<String> {
    let values = captures::values(&["pods-rollout", "chaos", "gap"]).into_iter();
    values.map(|event| event["object"].to_string()).filter(|object| object.starts_with('{')).collect()
}

fn read(events: &[String], count: u64, seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as usize % below.max(1)
    };
    for _ in 0..count {
        let event = events[random(events.len())].as_bytes();
        let text = if random(WHOLE) == 0 { event } else { value(event, &mut random) };
        let header = [random(256) as u8, random(256) as u8];
        reader::run(&[&header, &*reader::neighbour(text, &mut random)].concat());
    }
}

/// A short value in an event.
fn value(event: &[u8], mut random: impl FnMut(usize) -> usize) -> &[u8] {
    loop {
        let from = random(event.len());
        let opening = event[from..].iter().position(|byte| b"{[\":".contains(byte));
        let Some(text) = opening.map(|at| &event[from + at..]) else { continue };
        let text = text.strip_prefix(b":").unwrap_or(text);
        match Scanner::default().end_of_value(text) {
            Some(len) if len <= SHORT => return &text[..len],
            _ => {}
        }
    }
}
