//! The figures of client-go, which its own run has written.

use crate::sim::{Fault, Which};
use std::time::Duration;

const FIGURES: &str = include_str!("../../peers/client-go/recovery/figures.tsv");

/// A state of a server, and how much of client-go it gets in an hour of it.
#[derive(Clone, Copy, Debug)]
pub struct Patient {
    /// What the state is called.
    pub name: &'static str,
    /// Whether the server was well for an hour before.
    pub was_well: bool,
    /// What it answers.
    pub fault: Fault,
    /// To which requests.
    pub which: Which,
    /// For how long it asks to be left alone.
    pub retry_after: Option<Duration>,
    /// How many requests it answers, one way or the other.
    pub accepted: f64,
    /// How many connections are refused.
    pub refused: f64,
}

/// How a thousand client-gos come back to a server that they lost.
#[derive(Clone, Copy, Debug)]
pub struct Herd {
    /// How long it was away.
    pub outage: Duration,
    /// How many requests it answers in the worst second.
    pub peak: f64,
    /// Seconds until half of them are back.
    pub median: f64,
    /// Until nine of ten are.
    pub p90: f64,
    /// Until all are.
    pub worst: f64,
}

/// All states that client-go was measured in.
pub fn client_go_patients() -> impl Iterator<Item = Patient> {
    lines("sick").map(|line| {
        let name = line[0];
        let (fault, which, retry_after) = state(name);
        Patient {
            name,
            was_well: line[1] == "later",
            fault,
            which,
            retry_after,
            accepted: number(line[2]),
            refused: number(line[3]),
        }
    })
}

/// All outages that client-go was measured after.
pub fn client_go_herds() -> impl Iterator<Item = Herd> {
    lines("herd").map(|line| Herd {
        outage: Duration::from_secs_f64(number(line[0])),
        peak: number(line[1]),
        median: number(line[3]),
        p90: number(line[4]),
        worst: number(line[5]),
    })
}

fn lines(about: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let fields = move |line: &'static str| line.strip_prefix(about)?.strip_prefix('\t').map(|rest| rest.split('\t'));
    FIGURES.lines().filter_map(fields).map(Iterator::collect)
}

/// What goes wrong in a state of that name.
fn state(name: &str) -> (Fault, Which, Option<Duration>) {
    let (name, which) = name.strip_suffix(" to watches").map_or((name, Which::Any), |name| (name, Which::Watches));
    let (name, seconds) = name.split_once(", Retry-After: ").map_or((name, None), |(name, wait)| (name, Some(wait)));
    let fault = match name {
        "401" => Fault::Unauthorized,
        "403" => Fault::Forbidden,
        "404" => Fault::NotFound,
        "429" => Fault::TooManyRequests,
        "500" => Fault::InternalError,
        "503" => Fault::Unavailable,
        "504" => Fault::GatewayTimeout,
        "refused" => Fault::ConnectionRefused,
        _ => panic!("no server is known that is {name:?}"),
    };
    (fault, which, seconds.map(|seconds| Duration::from_secs_f64(number(seconds))))
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}
