//! The `Indexer`, from both memories.

use crate::traces::files;
use listwatch_core::cache::{IndexId, IndexerIn};
use listwatch_core::storage::{Fixed, Heap, Keyed, Mem};
use serde_json::{Value, json};
use std::collections::HashMap;

#[derive(Debug)]
struct Pod {
    key: String,
    version: String,
    labels: HashMap<String, String>,
}

impl Keyed for Pod {
    type Key = String;

    fn key(&self) -> &String {
        &self.key
    }
}

impl Pod {
    fn from(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let labels = value["labels"].as_object().into_iter().flatten();
        Self {
            key: text(&value["key"]),
            version: text(&value["rv"]),
            labels: labels.map(|(name, value)| (name.clone(), text(value))).collect(),
        }
    }

    fn label_parts(&self, name: &str, emit: &mut dyn FnMut(&str)) {
        self.labels.get(name).into_iter().flat_map(|value| value.split('_')).for_each(emit);
    }
}

fn by_namespace(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    emit(pod.key.split_once('/').unwrap().0);
}

fn by_l0(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    pod.label_parts("l0", emit);
}

fn by_l1(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    pod.label_parts("l1", emit);
}

type IndexFn = fn(&Pod, &mut dyn FnMut(&str));

/// What differs between the memories: how an index function is stored, and whether a replace is one operation.
trait Memory: Mem {
    fn index_fn(function: IndexFn) -> Self::IndexFn<Pod>;
    fn replace(pods: &mut IndexerIn<Pod, Self>, items: Vec<Pod>);
}

impl Memory for Heap {
    fn index_fn(function: IndexFn) -> Self::IndexFn<Pod> {
        Box::new(function)
    }

    fn replace(pods: &mut IndexerIn<Pod, Self>, items: Vec<Pod>) {
        pods.replace(items);
    }
}

impl<const N: usize> Memory for Fixed<N> {
    fn index_fn(function: IndexFn) -> Self::IndexFn<Pod> {
        function
    }

    fn replace(pods: &mut IndexerIn<Pod, Self>, items: Vec<Pod>) {
        pods.clear();
        items.into_iter().for_each(|pod| assert!(pods.try_insert(pod).is_ok()));
    }
}

struct Replay<M: Mem> {
    pods: IndexerIn<Pod, M>,
    indexes: HashMap<String, IndexId>,
}

impl<M: Memory> Replay<M> {
    fn new() -> Self {
        let mut replay = Self { pods: IndexerIn::new(), indexes: HashMap::new() };
        replay.add_index("namespace", by_namespace);
        replay.add_index("l0", by_l0);
        replay
    }

    fn add_index(&mut self, name: &str, function: IndexFn) {
        let id = self.pods.try_add_index(M::index_fn(function)).ok().expect("room for an index");
        self.indexes.insert(name.to_owned(), id);
    }

    /// What our store answers to the operation of one line; `None` where nothing is asked.
    fn answer(&mut self, line: &Value) -> Option<Value> {
        let text = |field: &str| line[field].as_str().unwrap();
        let index = || self.indexes[text("index")];
        match text("op") {
            "add" | "update" => assert!(self.pods.try_insert(Pod::from(&line["object"])).is_ok()),
            "delete" => drop(self.pods.remove(text("key"))),
            "replace" => {
                M::replace(&mut self.pods, line["objects"].as_array().unwrap().iter().map(Pod::from).collect());
            }
            "add_index" => self.add_index(text("name"), by_l1),
            "by_index" => return Some(sorted(self.pods.by_index(index(), text("value")).map(shown))),
            "index_keys" => return Some(sorted(self.pods.index_keys(index(), text("value")).cloned())),
            "index_values" => return Some(sorted(self.pods.index_values(index()).map(str::to_owned))),
            "get" => return Some(json!(self.pods.get(text("key")).map(|pod| &pod.version))),
            "list" => return Some(sorted(self.pods.iter().map(shown))),
            other => panic!("operation {other}"),
        }
        None
    }
}

fn shown(pod: &Pod) -> String {
    format!("{}@{}", pod.key, pod.version)
}

fn sorted(texts: impl Iterator<Item = String>) -> Value {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    json!(texts)
}

fn replay<M: Memory>() {
    files::each(&["indexer"], |name, lines| {
        let mut replay = Replay::<M>::new();
        for (number, line) in lines.iter().enumerate().skip(1) {
            assert_eq!(replay.answer(line).as_ref(), line.get("out"), "{name}:{}", number + 1);
            replay.pods.check();
        }
    });
}

#[test]
fn the_indexer_answers_as_client_go_does() {
    replay::<Heap>();
}

#[test]
fn fixed_memory_answers_the_same() {
    replay::<Fixed<64>>();
}
