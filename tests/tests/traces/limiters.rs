use crate::traces::files;
use listwatch_core::queue::{ExponentialBackoff, FastSlow, MaxOf, MaxWait, RateLimiter, WorkQueueIn};
use listwatch_core::storage::{Fixed, Heap, Mem};
use listwatch_core::{Instant, Key};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn the_limiters_answer_as_client_go_on_the_heap() {
    replay::<Heap>();
}

#[test]
fn the_limiters_answer_as_client_go_in_fixed_memory() {
    replay::<Fixed<64>>();
}

fn replay<M: Mem>() {
    files::each(&["limiters"], |name, lines| {
        let mut queues = BTreeMap::<&str, WorkQueueIn<Key, Limiter, M>>::new();
        for (number, line) in lines.iter().enumerate().skip(1) {
            let limiter = line["limiter"].as_str().unwrap();
            let queue = queues.entry(limiter).or_insert_with(|| WorkQueueIn::new(Limiter::parse(limiter)));
            step(queue, line, &format!("{name}, line {}: {line}", number + 1));
        }
    });
}

fn step<M: Mem>(queue: &mut WorkQueueIn<Key, Limiter, M>, line: &Value, at: &str) {
    let key = Key::from(line["key"].as_str().unwrap());
    match line["op"].as_str().unwrap() {
        "when" => {
            let delay = queue.try_when(Instant::ZERO, key).ok().expect("room for every key");
            assert_eq!(line["out_us"], delay.as_micros() as u64, "{at}");
        }
        "forget" => queue.forget(&key),
        "num_requeues" => assert_eq!(line["out"], queue.num_requeues(&key), "{at}"),
        _ => panic!("{at}: unknown operation"),
    }
}

/// Any of the traced limiters, as its name in the trace describes it.
enum Limiter {
    Exponential(ExponentialBackoff),
    FastSlow(FastSlow),
    MaxOf(Box<MaxOf<Self, Self>>),
    MaxWait(Box<MaxWait<Self>>),
}

impl Limiter {
    /// Reads `max_of(exponential(1ms,100s),fast_slow(5ms,3s,3))` and the like.
    fn parse(text: &str) -> Self {
        let (kind, arguments) = text.strip_suffix(')').unwrap().split_once('(').unwrap();
        match (kind, &arguments_of(arguments)[..]) {
            ("exponential", [base, max]) => Self::Exponential(ExponentialBackoff::new(duration(base), duration(max))),
            ("fast_slow", [fast, slow, max_fast]) => {
                Self::FastSlow(FastSlow::new(duration(fast), duration(slow), max_fast.parse().unwrap()))
            }
            ("max_of", [one, other]) => Self::MaxOf(MaxOf(Self::parse(one), Self::parse(other)).into()),
            ("max_wait", [limiter, max]) => {
                Self::MaxWait(MaxWait { limiter: Self::parse(limiter), max: duration(max) }.into())
            }
            _ => panic!("no limiter is called {text}"),
        }
    }
}

impl RateLimiter for Limiter {
    fn delay(&mut self, now: Instant, failures: u32) -> Duration {
        match self {
            Self::Exponential(limiter) => limiter.delay(now, failures),
            Self::FastSlow(limiter) => limiter.delay(now, failures),
            Self::MaxOf(limiter) => limiter.delay(now, failures),
            Self::MaxWait(limiter) => limiter.delay(now, failures),
        }
    }
}

/// Splits at the commas that are in no parentheses.
fn arguments_of(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let outer_comma = |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(outer_comma).collect()
}

fn duration(text: &str) -> Duration {
    match text.strip_suffix("ms") {
        Some(millis) => Duration::from_millis(millis.parse().unwrap()),
        None => Duration::from_secs(text.strip_suffix('s').unwrap().parse().unwrap()),
    }
}
