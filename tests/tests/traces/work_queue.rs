use crate::traces::files;
use listwatch_core::queue::{ExponentialBackoff, Job, WorkQueueIn};
use listwatch_core::storage::{Fixed, Heap, Mem};
use listwatch_core::{Instant, Key};
use serde_json::Value;
use std::time::Duration;

#[test]
fn the_work_queue_answers_as_client_go_on_the_heap() {
    files::each(&["workqueue"], replay::<Heap>);
}

#[test]
fn the_work_queue_answers_as_client_go_in_fixed_memory() {
    files::each(&["workqueue"], replay::<Fixed<64>>);
}

fn replay<M: Mem>(name: &str, lines: Vec<Value>) {
    let mut replayer = Replayer::<M>::new(&lines[0]);
    for (number, line) in lines.iter().enumerate().skip(1) {
        replayer.step(line, &format!("{name}, line {}: {line}", number + 1));
    }
}

struct Replayer<M: Mem> {
    queue: WorkQueueIn<Key, ExponentialBackoff, M>,
    now: Instant,
    jobs: Vec<Job>,
}

impl<M: Mem> Replayer<M> {
    fn new(header: &Value) -> Self {
        let limiter = &header["limiter"];
        assert_eq!(limiter["kind"], "exponential");
        let limiter = ExponentialBackoff::new(micros(&limiter["base_us"]), micros(&limiter["max_us"]));
        Self { queue: WorkQueueIn::new(limiter), now: Instant::ZERO, jobs: Vec::new() }
    }

    fn step(&mut self, line: &Value, at: &str) {
        let key = || Key::from(line["key"].as_str().unwrap());
        match line["op"].as_str().unwrap() {
            "add" => _ = self.queue.try_add(key()).ok().expect("room for every key"),
            "add_after" => {
                let added = self.queue.try_add_after(self.now, key(), micros(&line["us"]));
                added.ok().expect("room for every key");
            }
            "add_rate_limited" => {
                self.queue.try_add_rate_limited(self.now, key()).ok().expect("room for every key");
            }
            "forget" => self.queue.forget(&key()),
            "num_requeues" => assert_eq!(line["out"], self.queue.num_requeues(&key()), "{at}"),
            "get" => self.get(line, at),
            "done" => {
                let job = self.jobs.iter().position(|job| *self.queue.key(job) == key()).unwrap();
                self.queue.done(self.jobs.remove(job));
            }
            "advance" => self.advance(micros(&line["us"]), at),
            "shut_down" => self.queue.shut_down(),
            "len" => assert_eq!(line["out"], self.queue.len(), "{at}"),
            _ => panic!("{at}: unknown operation"),
        }
    }

    fn get(&mut self, line: &Value, at: &str) {
        match self.queue.poll_job() {
            Some(job) => {
                assert_eq!(line["out"], self.queue.key(&job).as_str(), "{at}");
                assert_eq!(line["shutdown"], false, "{at}");
                self.jobs.push(job);
            }
            None => assert_eq!(line["shutdown"], self.queue.is_shutting_down(), "{at}"),
        }
    }

    fn advance(&mut self, by: Duration, at: &str) {
        self.now = self.now + by;
        self.queue.handle_timeout(self.now);
        assert!(self.queue.poll_timeout().is_none_or(|next| next > self.now), "{at}: what was due is left");
    }
}

/// client-go takes a negative delay for none.
fn micros(value: &Value) -> Duration {
    Duration::from_micros(u64::try_from(value.as_i64().unwrap()).unwrap_or(0))
}
