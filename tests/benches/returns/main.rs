//! How soon clients are back when their server is, and what they ask of it meanwhile, beside client-go:
//! `tests/benches/return` runs it. Tables go to the standard output.
//!
//! `returns PEERS` measures; `PEERS` is the program of `tests/peers/client-go`. `returns follow KUBECONFIG NAMESPACE` is
//! our side of what it measures, and is started by it.
#![expect(clippy::unwrap_used, reason = "a step that fails ends the run")]

mod company;
mod follow;
mod restarts;
mod simulated;

use std::path::Path;

fn main() {
    // cargo says `--bench` to every benchmark.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["follow", kubeconfig, namespace] => follow::follow(Path::new(kubeconfig), namespace),
        [peers] => {
            restarts::measure(Path::new(peers));
            simulated::sick_servers();
            simulated::herds();
        }
        // Who runs all benchmarks does not mean one of a quarter of an hour.
        _ => println!("tests/benches/return runs this"),
    }
}
