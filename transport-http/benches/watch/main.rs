//! A watch over the loopback interface, read by a thread of its own or by its task: CPU time and latency.
//!
//! ```text
//! cargo bench --package listwatch-transport-http --bench watch [cpu|latency]
//! ```
//!
//! The server is a process of its own.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod client;
mod cpu;
mod latency;
/// The reactor of the runtime. Its source is included, because the runtime depends on this crate.
#[expect(unreachable_pub, reason = "it is public in the runtime")]
#[path = "../../../runtime-smol/src/reactor.rs"]
mod reactor;
mod server;

const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["serve", scheme, events] => server::serve(scheme == "https", events == "bulk"),
        ["once", scheme] => println!("{:.0}", cpu::followed(scheme, false)),
        ["once", scheme, "polled"] => println!("{:.0}", cpu::followed(scheme, true)),
        ["cpu"] => cpu::table(),
        ["latency"] => latency::table(),
        [] => {
            cpu::table();
            latency::table();
        }
        _ => panic!("cpu, latency, or nothing"),
    }
}

/// Each way of reading by turns: a thread, and the task.
fn by_turns<T>(measure: impl Fn(bool) -> T) -> [Vec<T>; 2] {
    let (mut threads, mut tasks) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        threads.push(measure(false));
        tasks.push(measure(true));
    }
    [threads, tasks]
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
