use crate::files;
use listwatch_core::{ExponentialBackoff, Fixed, Heap, Instant, Key, Mem, WorkQueueIn};
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
    let mut replayed = 0;
    files::each(&["limiters"], |name, lines| {
        let mut queues = BTreeMap::<&str, WorkQueueIn<Key, ExponentialBackoff, M>>::new();
        for (number, line) in lines.iter().enumerate().skip(1) {
            let limiter = line["limiter"].as_str().unwrap();
            // The other limiters are not built yet.
            let Some((base, max)) = exponential(limiter) else { continue };
            let queue = queues.entry(limiter).or_insert_with(|| WorkQueueIn::new(ExponentialBackoff::new(base, max)));
            step(queue, line, &format!("{name}, line {}: {line}", number + 1));
            replayed += 1;
        }
    });
    assert!(replayed > 0, "no line of a limiter that is known");
}

fn step<M: Mem>(queue: &mut WorkQueueIn<Key, ExponentialBackoff, M>, line: &Value, at: &str) {
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

/// The parameters of `exponential(1ms,500s)`.
fn exponential(limiter: &str) -> Option<(Duration, Duration)> {
    let (base, max) = limiter.strip_prefix("exponential(")?.strip_suffix(')')?.split_once(',')?;
    Some((duration(base)?, duration(max)?))
}

fn duration(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(millis) => millis.parse().ok().map(Duration::from_millis),
        None => text.strip_suffix('s')?.parse().ok().map(Duration::from_secs),
    }
}
