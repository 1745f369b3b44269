//! The longest insertions while a cache grows to a million objects, in instructions. Needs valgrind.
//!
//! The insertions are timed first, three times over. Those that took longest each time are counted by callgrind, each in
//! a process that does the same, and so is the mean of some others. Hashes are the same each time.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

use listwatch_core::fifo::Order;
use listwatch_core::object::{MetaBuilder, ObjectHandle};
use listwatch_core::{DeltaFifo, Indexer, Object};
use std::process::Command;
use std::time::{Duration, Instant};

const PODS: usize = 1_000_000;
const LONGEST: usize = 3;
const OTHERS: usize = 21;

type Pod = ObjectHandle<()>;
type Insert = Box<dyn FnMut(Pod)>;

fn main() {
    let args: Vec<String> = std::env::args().filter(|arg| arg != "--bench").skip(1).collect();
    match args.split_first() {
        None => [("an object into a store", stored as fn() -> Insert), ("an item into a staged list", staged)]
            .iter()
            .enumerate()
            .for_each(|(at, (name, empty))| report(at, name, *empty)),
        Some((at, counted)) => {
            let mut insert = if at == "0" { stored() } else { staged() };
            let mut counted = counted.iter().map(|n| n.parse::<usize>().unwrap()).peekable();
            for (n, pod) in pods().into_iter().enumerate() {
                match counted.next_if_eq(&n) {
                    Some(_) => counted_insertion(&mut insert, pod),
                    None if counted.peek().is_none() => break,
                    None => insert(pod),
                }
            }
        }
    }
}

/// Its name is what callgrind is told to count.
#[inline(never)]
fn counted_insertion(insert: &mut Insert, pod: Pod) {
    insert(pod);
}

fn pods() -> Vec<Pod> {
    let mut builder = MetaBuilder::default();
    let pod = |n| {
        builder.set_namespace(&format!("ns-{:03}", n % 100));
        builder.set_name(&format!("pod-{n:07}"));
        builder.add_label("app", &format!("a{}", n % 1000));
        Object { meta: builder.build().unwrap(), value: () }.into()
    };
    (0..PODS).map(pod).collect()
}

/// Through the queue into a store with two indexes.
fn stored() -> Insert {
    let (mut fifo, mut indexer) = (DeltaFifo::new(Order::Arrival), Indexer::new());
    indexer.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| pod.meta().namespace().into_iter().for_each(emit));
    indexer.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| pod.meta().label("app").into_iter().for_each(emit));
    Box::new(move |pod| {
        fifo.add(pod);
        indexer.insert(fifo.pop().unwrap().delta.into_object());
    })
}

fn staged() -> Insert {
    let mut fifo = DeltaFifo::new(Order::Arrival);
    Box::new(move |pod| fifo.stage(pod))
}

fn report(at: usize, name: &str, empty: fn() -> Insert) {
    let times = times(empty);
    let mut by_time: Vec<usize> = (0..PODS).collect();
    by_time.sort_unstable_by_key(|n| core::cmp::Reverse(times[*n]));
    println!("{name}: longest {:?}, median {:?}", times[by_time[0]], times[by_time[PODS / 2]]);
    let longest = by_time[..LONGEST].iter().map(|n| instructions(at, vec![*n])).max().unwrap();
    let other = instructions(at, by_time[PODS / 2..][..OTHERS].to_vec()) / OTHERS as u64;
    println!("    in instructions: longest {longest}, others {other}, ratio {:.1}", longest as f64 / other as f64);
}

/// The shortest time of each insertion out of three.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn times(empty: fn() -> Insert) -> Vec<Duration> {
    let mut times = vec![Duration::MAX; PODS];
    for _ in 0..3 {
        let mut insert = empty();
        for (pod, time) in pods().into_iter().zip(&mut times) {
            let start = Instant::now();
            insert(pod);
            *time = start.elapsed().min(*time);
        }
    }
    times
}

/// The instructions of all of these insertions together.
fn instructions(at: usize, mut insertions: Vec<usize>) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_insertion*"]);
    // An instruction that repeats itself for every byte would be counted so often.
    valgrind.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1000000000");
    insertions.sort_unstable();
    valgrind.arg(std::env::current_exe().unwrap()).arg(at.to_string()).args(insertions.iter().map(usize::to_string));
    let output = valgrind.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let count = told.lines().find_map(|line| line.split_once("Collected : "));
    count.unwrap_or_else(|| panic!("{told}")).1.parse().unwrap()
}
