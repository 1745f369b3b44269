//! `DeltaFIFO` and `RealFIFO`, each in many random histories, from both memories.

use crate::traces::files;
use listwatch_core::fifo::{Delta, DeltaFifoIn, Order, Popped};
use listwatch_core::storage::{Fixed, Heap, Mem};
use listwatch_tests::models::delta_fifo::{self, Known};
use serde_json::{Value, json};

type Pod = delta_fifo::Pod<String, String>;

fn pod(value: &Value) -> Pod {
    delta_fifo::Pod(text(value, "key"), text(value, "rv"))
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("{field} of {value}")).to_owned()
}

struct Replay<M: Mem> {
    fifo: DeltaFifoIn<Pod, M>,
    /// What client-go's consumer had applied so far.
    known: Known<String, String>,
}

impl<M: Mem> Replay<M> {
    fn new(header: &Value) -> Self {
        let order = match header["trace"].as_str() {
            Some("delta_fifo") => Order::ByKey,
            Some("real_fifo") => Order::Arrival,
            other => panic!("a trace of {other:?}"),
        };
        let known = header["known"].as_array().into_iter().flatten().map(|item| (text(item, "key"), pod(item)));
        Self { fifo: DeltaFifoIn::new(order), known: Known(known.collect()) }
    }

    /// What our fifo answers to the operation of one line, as client-go's answer is written there.
    fn answer(&mut self, line: &Value) -> Value {
        let Self { fifo, known } = self;
        match line["op"].as_str().unwrap() {
            "add" => assert!(fifo.try_add(pod(line)).is_ok()),
            "update" => assert!(fifo.try_update(pod(line)).is_ok()),
            "delete" => assert!(fifo.try_delete(pod(line), known).is_ok()),
            "replace" => {
                for item in line["items"].as_array().unwrap() {
                    assert!(fifo.try_stage(pod(item)).is_ok());
                }
                assert!(fifo.try_commit_stage(known).is_ok());
            }
            "resync" => assert!(fifo.try_resync(known).is_ok()),
            "has_synced" => return json!({ "op": "has_synced", "out": fifo.has_synced() }),
            "pop" => return self.pop(),
            "close" => fifo.close(),
            other => panic!("operation {other}"),
        }
        line.clone()
    }

    fn pop(&mut self) -> Value {
        let mut deltas = Vec::new();
        while let Some(Popped { delta, initial, more }) = self.fifo.pop() {
            self.known.apply(&delta);
            deltas.push(shown(&delta));
            if !more {
                return json!({ "op": "pop", "key": delta.object().0, "initial": initial, "deltas": deltas });
            }
        }
        assert!(deltas.is_empty() && self.fifo.is_closed(), "nothing to pop");
        json!({ "op": "pop", "closed": true })
    }
}

fn shown(delta: &Delta<Pod>) -> Value {
    let kind = match delta {
        Delta::Added(_) => "Added",
        Delta::Updated(_) => "Updated",
        Delta::Deleted(_) | Delta::Tombstone(_) => "Deleted",
        Delta::Replaced(_) => "Replaced",
        Delta::Sync(_) => "Sync",
    };
    let delta_fifo::Pod(key, version) = delta.object();
    let object = match delta {
        Delta::Tombstone(_) => json!({ "tombstone": key, "rv": version }),
        _ => json!({ "key": key, "rv": version }),
    };
    json!({ "type": kind, "object": object })
}

fn replay<M: Mem>(prefixes: &[&str]) {
    files::each(prefixes, |name, lines| {
        let mut replay = Replay::<M>::new(&lines[0]);
        for (number, line) in lines.iter().enumerate() {
            if line.get("trace").is_some() {
                replay = Replay::new(line);
            } else {
                assert_eq!(replay.answer(line), *line, "{name}:{}", number + 1);
            }
        }
    });
}

#[test]
fn by_key_answers_as_delta_fifo_does() {
    replay::<Heap>(&["delta_fifo", "delta_fifo_lives"]);
}

#[test]
fn by_arrival_answers_as_real_fifo_does() {
    replay::<Heap>(&["real_fifo", "real_fifo_lives"]);
}

/// The long traces pop more slowly than they push, and client-go's queue has no bound.
#[test]
fn fixed_memory_answers_the_same() {
    let replays = || {
        replay::<Fixed<128>>(&["real_fifo_lives", "delta_fifo_lives"]);
        replay::<Fixed<4096>>(&["real_fifo", "delta_fifo"]);
    };
    std::thread::Builder::new().stack_size(16 << 20).spawn(replays).unwrap().join().unwrap();
}
